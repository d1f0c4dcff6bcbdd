"""Command line: measures, prints tables, and writes the figures as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.competitors import bootstrap, dropout
from benchmarks.encoded import encoding
from benchmarks.first import first_fit
from benchmarks.importing import imports
from benchmarks.machine import describe
from benchmarks.pbp import probabilistic
from benchmarks.predicting import predict
from benchmarks.presets import preset_fits
from benchmarks.report import Section, print_machine, print_section
from benchmarks.sizes import FULL, QUICK, Sizes
from benchmarks.timing import QUIET
from benchmarks.training import Progress, fit, peak, scaling

SECTIONS: dict[str, Callable[[Sizes, Progress], Section]] = {
    "fit": fit,
    "first": first_fit,
    "peak": peak,
    "scaling": scaling,
    "encoding": encoding,
    "presets": preset_fits,
    "predict": predict,
    "import": imports,
    "dropout": dropout,
    "pbp": probabilistic,
    "bootstrap": bootstrap,
}
FILE_WIDTH = 150
QUIET_NOTE = (
    f"others' CPU: largest share that other processes took during a measurement that was kept; above {QUIET:.0%} a "
    "measurement is repeated, ours and peers' alike, and where that does not help no target is judged."
)
REFRESHES = 2  # of the progress line per second: it must not take time from what is measured


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=SECTIONS, action="append", help="measure only this; may be repeated")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs; no targets")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures here")
    return parser.parse_args(argv)


def _console() -> Console:
    """Tables that go to a file or a pipe are not folded to the width of a small terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=FILE_WIDTH)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments(argv)
    sizes = QUICK if arguments.quick else FULL
    console, messages = _console(), Console(stderr=True)
    machine = describe()
    print_machine(console, machine)
    figures: dict[str, object] = {"machine": machine, "quick": arguments.quick}
    for name in arguments.only or SECTIONS:
        with messages.status(name, refresh_per_second=REFRESHES) as status:
            section = SECTIONS[name](sizes, status.update)
        print_section(console, section)
        figures[name] = section.as_json()
    console.print(f"[dim]{QUIET_NOTE}[/dim]", highlight=False, soft_wrap=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0
