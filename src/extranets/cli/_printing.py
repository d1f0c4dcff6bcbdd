"""How the commands speak: tables and JSON on standard output, all else on standard error."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.table import Table

from extranets._json import as_json

WIDTH = 200  # of tables, where standard output is a file or a pipe and COLUMNS does not say otherwise


def say(text: str = "") -> None:
    """To standard error, so that standard output can be piped."""
    Console(stderr=True).print(text, highlight=False, soft_wrap=True, markup=False, emoji=False)


def show(table: Table) -> None:
    asked = os.environ.get("COLUMNS", "").isdigit()  # rich itself heeds it
    width = None if asked or Console().is_terminal else WIDTH
    # The names of columns are the user's: "area [m2]" is no markup.
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    # rich ends the process if nobody reads the output any more; but the command may have a model to save.
    with suppress(SystemExit):
        console.print(table)


def print_json(value: Any) -> None:
    sys.stdout.buffer.write(f"{as_json(value, indent=2)}\n".encode())  # JSON is UTF-8, whatever the terminal's encoding
    sys.stdout.flush()


def count(number: int, what: str = "row") -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def figure(value: float) -> str:
    """Five significant digits."""
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.5g}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"
