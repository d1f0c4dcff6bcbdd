"""Tables larger than memory.

    python -m benchmarks.scale make FOLDER --rows 50000000     a table as Parquet files, of a million rows each
    python -m benchmarks.scale fit FOLDER --limit 2GB          fitted end to end in a process that may not have more memory

`fit` prints JSON: seconds, the most memory that the process held, how many rows a second pass through a network in training, and the same
of the usual fit to some of the rows in memory, on the same machine. The limit is that of a control group, which counts resident memory, and
the system's cache of files as far as it cannot be given back; it needs the right to make one (root, as a rule). A limit of addresses
(ulimit -v) would also count what libraries reserve and never use.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["make", "fit"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--limit", default="2GB")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--units", type=int, nargs="+", default=[64, 64], help="of the hidden layers")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    if given.what == "make":
        from benchmarks.scale.table import make

        figures = make(given.folder, given.rows, given.columns)
    else:
        from benchmarks.scale.fitting import compare

        figures = compare(given)
    print(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
