"""What several commands share: their options, and how they speak."""

from __future__ import annotations

import ast
import difflib
import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from extranets._json import as_json

TableFile = Annotated[str, typer.Argument(help="CSV, Parquet, Feather or Excel file; - reads CSV from standard input.")]
ModelFile = Annotated[str, typer.Argument(help="Model file, as `extranets fit` writes it.")]


def _delimiter(given: str | None) -> str | None:
    from extranets.tables.delimiters import check_delimiter

    sign = "\t" if given in ("tab", "\\t") else given
    try:
        return None if sign is None else check_delimiter(sign)
    except ValueError as error:
        raise typer.BadParameter(f"{error} A tab is also written as tab or as \\t.") from None


def _encoding(given: str | None) -> str | None:
    from extranets.tables.streams import text_codec

    try:
        if given is not None:
            text_codec(given)
    except LookupError as error:
        raise typer.BadParameter(str(error)) from None
    return given


def _jobs(given: int | None) -> int | None:
    if given == 0:
        raise typer.BadParameter("--jobs 0 has no meaning; -1 takes all cores.")
    return given


Delimiter = Annotated[
    str | None, typer.Option(callback=_delimiter, help="Of a CSV file, such as ; or tab; found out if not given.")
]
Encoding = Annotated[
    str | None, typer.Option(callback=_encoding, help="Of a CSV file, such as cp1252; found out if not given.")
]
Missing = Annotated[list[str] | None, typer.Option("--na", help="Text that stands for a missing value; repeatable.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Jobs = Annotated[int | None, typer.Option(callback=_jobs, help="Threads; all cores if not given.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all randomness.")]
Target = Annotated[str, typer.Option("--target", "-t", help="Column to predict.")]
Features = Annotated[
    list[str] | None,
    typer.Option(help="Columns to predict from, comma-separated or repeated (a name with a comma: repeated)."),
]
Id = Annotated[
    str | None, typer.Option("--id", help="Column that names rows: no feature, but kept beside predictions.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        help="COLUMN=number|boolean|date|category|ignore, or date:%d/%m/%Y, or number:1.234,5, where the guess is wrong.",
    ),
]
DropMissing = Annotated[bool, typer.Option("--drop-missing-target", help="Leave out rows whose target is missing.")]

COVERAGES = (0.5, 0.8, 0.9, 0.95, 0.99)  # of the table that `evaluate` prints, besides those asked for


def say(text: str = "") -> None:
    """To standard error, so that standard output can be piped."""
    Console(stderr=True).print(text, highlight=False, soft_wrap=True, markup=False, emoji=False)


def show(table: Table) -> None:
    width = None if Console().is_terminal else 200
    # Names of columns are not ours: "area [m2]" is no markup.
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    with suppress(SystemExit):  # rich's, when whoever read our output has gone: what the command does is not done yet
        console.print(table)


def print_json(value: Any) -> None:
    sys.stdout.buffer.write(f"{as_json(value, indent=2)}\n".encode())  # whatever the terminal's encoding: JSON is UTF-8
    sys.stdout.flush()


def count(number: int, what: str = "row") -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def figure(value: float) -> str:
    """Five significant digits."""
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.5g}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def check_coverage(values: Iterable[float]) -> list[float]:
    levels = sorted(set(values))
    for level in levels:
        if not 0 < level < 1:
            raise typer.BadParameter(f"--coverage must lie between 0 and 1, such as 0.9 for 90 %; got {level:g}.")
    return levels


def settings(pairs: list[str] | None, model: Any) -> dict[str, Any]:
    """``--set name=value`` pairs as parameters of the model. Values are read as Python writes them, else as text."""
    known = sorted(model.get_params(deep=False))
    found = {}
    for pair in pairs or []:
        name, sign, text = pair.partition("=")
        if not sign:
            raise typer.BadParameter(f"--set takes NAME=VALUE; got {pair!r}.")
        if name not in known:
            raise typer.BadParameter(f"--set {pair}: {type(model).__name__} has no {name}.{hint(name, known)}")
        found[name] = _value(text)
    return found


def hint(name: str, known: list[str]) -> str:
    """The end of a message about a name that does not exist."""
    near = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else f" There are: {', '.join(known)}."


def _value(text: str) -> Any:
    named = {"true": True, "false": False, "none": None}
    if text.lower() in named:
        return named[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def kinds(pairs: list[str] | None) -> dict[str, str]:
    found = {}
    for pair in pairs or []:
        name, sign, kind = pair.rpartition("=")
        known = ("number", "boolean", "date", "category", "ignore")
        if not sign or (kind not in known and not kind.startswith(("date:", "number:"))):
            raise typer.BadParameter(
                f"--kind takes COLUMN={'|'.join(known)}, COLUMN=date:FORMAT or COLUMN=number:STYLE; got {pair!r}."
            )
        found[name] = kind
    return found


def check_folds(folds: int, n_rows: int) -> None:
    if folds > n_rows:
        raise typer.BadParameter(f"--folds {folds:,}: there are only {count(n_rows)} to divide; give fewer folds.")


def take_target_style(chosen: dict[str, str], target: str) -> str | None:
    """How the target is written, if its kind says so; which is then no longer among the kinds of the features."""
    from extranets.tables.values import STYLES

    kind, _, style = chosen.pop(target, "number").partition(":")
    if kind != "number" or (style and style not in STYLES):
        raise typer.BadParameter(
            f"--kind {target}: the target is a number; how it is written is said by {target}=number:STYLE, where STYLE is one of "
            f"{', '.join(STYLES)}."
        )
    return style or None


def check_output(path: Path, *inputs: str | Path | None) -> None:
    """Before any work is done: whether a file can be written there, and is none of the files that are read."""
    if path.is_dir():
        raise typer.BadParameter(f"--output: {path} is a folder; give the name of a file.")
    if path.exists() and not path.is_file():
        raise typer.BadParameter(f"--output: {path} is no file that can be replaced.")
    for other in inputs:
        if other is not None and path.exists() and Path(other).exists() and path.samefile(other):
            raise typer.BadParameter(f"--output: {path} is the same file as {other}, which is read; give another name.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise typer.BadParameter(f"--output: there is no folder {path.absolute().parent}.")
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise typer.BadParameter(f"--output: {path} cannot be written: {error.strerror}.") from None


def check_input(path: str) -> None:
    if path != "-" and not Path(path).is_file():
        raise typer.BadParameter(f"there is no file {path}.")


def named_columns(names: list[str] | None, columns: list[str], option: str, target: str | None = None) -> list[str]:
    """Column names given one by one or separated by commas; each must be there, and none is the target."""
    wanted = []
    for name in names or []:
        wanted += [name] if name in columns else [part.strip() for part in name.split(",")]
    for name in wanted:
        if name == target:
            raise typer.BadParameter(f"{option}: {name} is the target.")
        if name not in columns:
            raise typer.BadParameter(f"{option}: the table has no column {name}.{hint(name, columns)}")
    return list(dict.fromkeys(wanted))
