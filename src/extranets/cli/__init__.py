"""The command line: arguments and printing, no logic."""

from __future__ import annotations

import io
import os
import sys
import warnings
from functools import cache
from typing import Annotated, Any

import typer

from extranets._extras import how_to_install
from extranets._interrupt import INTERRUPTED, release
from extranets.cli import study
from extranets.cli._printing import say
from extranets.cli.compare import compare
from extranets.cli.conformalize import conformalize
from extranets.cli.demo import demo
from extranets.cli.evaluate import evaluate
from extranets.cli.fit import fit
from extranets.cli.info import info
from extranets.cli.predict import predict
from extranets.cli.report import report
from extranets.cli.update import update

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Regression with ensembles of neural networks and honest prediction intervals.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 a table that cannot be used, 4 a model file that cannot be "
    "used, 130 interrupted.",
)
for command in (fit, conformalize, predict, evaluate, update, compare, report, info, demo):
    app.command()(command)
app.add_typer(study.app, name="study")

FAILED = 1


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"extranets {version('extranets')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error. May stand anywhere on the line.")
    ] = False,
) -> None:
    """Options that stand before a command."""


def main() -> None:
    """Run the command line. Errors that a user can correct are shown without a traceback, unless ``--debug`` is given."""
    debug = "--debug" in sys.argv or bool(os.environ.get("EXTRANETS_DEBUG"))
    sys.argv = [argument for argument in sys.argv if argument != "--debug"]
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a letter that the terminal lacks is replaced by another
    try:
        release()
        app(standalone_mode=True)
    except (Exception, KeyboardInterrupt) as error:
        code = exit_code(error)
        if code is None or (debug and code != INTERRUPTED):
            raise
        if isinstance(error, MemoryError):
            say(f"Error: there is not enough memory. {error}".rstrip())
        elif isinstance(error, ModuleNotFoundError) and "pip install" not in str(error):
            say(f"Error: {error}. To install what tables, reports and ONNX need: {how_to_install('all')}")
        elif str(error):
            say(f"{error}" if code == INTERRUPTED else f"Error: {error}")
        sys.exit(code)


def _open_what_is_closed() -> None:
    """Refuse to begin without a standard output. Otherwise what is closed (``>&-``) gets a stream that holds nothing.

    A file that is opened later would get the free number, and what a library says to standard error would go into the file.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  as long as the process
    if sys.stdout is None:
        say("Error: standard output is closed; send it to a file, or to /dev/null.")
        sys.exit(FAILED)


def exit_code(error: BaseException) -> int | None:
    """The exit code of the process; None for an error in our own code, which is shown with its traceback."""
    from extranets.studies.runs import RunInterrupted

    if isinstance(error, KeyboardInterrupt | RunInterrupted):
        return INTERRUPTED
    if not isinstance(error, ValueError | OSError | ImportError | RuntimeError | ArithmeticError | MemoryError):
        return None
    return int(getattr(error, "exit_code", FAILED))  # tables and model files have their own


@cache  # each text once: several predictions of one table give the same warnings
def _say_warning(text: str) -> None:
    say(f"Warning: {text}")


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    if not issubclass(category, DeprecationWarning):
        _say_warning(str(message))
