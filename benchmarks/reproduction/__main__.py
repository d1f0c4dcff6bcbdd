"""Every figure of docs/reproduction.md and docs/methods.md, from the results files that they name.

    python -m benchmarks.reproduction                 print all tables and sentences with figures
    python -m benchmarks.reproduction --check         and say which of them the documents do not have

A test does the check. After a study was run anew, replace its results file and take the lines that differ into the document.
"""

from __future__ import annotations

import argparse

from benchmarks.reproduction import DOCUMENTS, blocks, missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="print only what the documents lack")
    options = parser.parse_args()
    for name in DOCUMENTS:
        print(f"== docs/{name}\n")
        print("\n\n".join(missing(name) if options.check else blocks(name)), "\n")


if __name__ == "__main__":
    main()
