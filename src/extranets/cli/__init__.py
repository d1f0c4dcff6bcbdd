"""The command line: arguments and printing, no logic."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from extranets.cli import study

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Regression with ensembles of neural networks and honest prediction intervals.",
)
app.add_typer(study.app, name="study")


@app.callback()
def _root() -> None:
    """Without a second command typer would drop the first one's name."""


def main() -> None:
    """Run the command line; errors that a user can mend are shown without a traceback (``EXTRANETS_DEBUG=1`` shows it)."""
    import os

    from extranets.studies.runs import RunInterrupted

    try:
        app(standalone_mode=True)
    except RunInterrupted as stop:
        Console(stderr=True).print(f"\n{stop}", highlight=False)
        sys.exit(130)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError, ModuleNotFoundError, RuntimeError) as error:
        if os.environ.get("EXTRANETS_DEBUG"):
            raise
        Console(stderr=True).print(f"[red]Error:[/red] {error}", highlight=False)
        sys.exit(1)
