"""From what users type to values; and what is wrong with it, before any work is done."""

from __future__ import annotations

import ast
import difflib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from extranets.cli._printing import count

KINDS = ("number", "boolean", "date", "category", "ignore")


def check_coverage(values: Iterable[float]) -> list[float]:
    """The levels in ascending order, each of them once."""
    from extranets.uncertainty.predictive import check_tails

    levels = sorted(set(values))
    for level in levels:
        if not 0 < level < 1:
            raise typer.BadParameter(f"--coverage must lie between 0 and 1, such as 0.9 for 90 %; got {level:g}.")
    try:
        check_tails("--coverage", levels)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return levels


def check_folds(folds: int, n_rows: int) -> None:
    if folds > n_rows:
        raise typer.BadParameter(f"--folds {folds:,}: there are only {count(n_rows)} to divide; give fewer folds.")


def check_name(option: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise typer.BadParameter(f"{option}: there is no {name}.{hint(name, known)}")


def hint(name: str, known: Sequence[str]) -> str:
    """The end of a message about a name that does not exist."""
    near = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else f" There are: {', '.join(known)}."


# -- NAME=VALUE ----------------------------------------------------------------------------------------------------------


def settings(pairs: list[str] | None, model: Any) -> dict[str, Any]:
    """``--set name=value`` pairs as parameters of the model. Values are read as Python writes them, else as text."""
    known = sorted(model.get_params(deep=False))
    found = {}
    for pair in pairs or []:
        name, sign, text = pair.partition("=")
        if not sign:
            raise typer.BadParameter(f"--set takes NAME=VALUE; got {pair!r}.")
        if name not in known:
            owners = _owners(name)
            way_out = f" These methods have it: {', '.join(owners)} (--method)." if owners else hint(name, known)
            raise typer.BadParameter(f"--set {pair}: {type(model).__name__} has no {name}.{way_out}")
        found[name] = _value(text)
    return found


def _owners(name: str) -> list[str]:
    """Methods that have a parameter."""
    from extranets.estimators import METHODS

    return [method for method, estimator in METHODS.items() if name in estimator().get_params(deep=False)]


def _value(text: str) -> Any:
    named = {"true": True, "false": False, "none": None}
    if text.lower() in named:
        return named[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def named_bounds(pair: tuple[str, str] | None) -> dict[str, Any]:
    """``--bounds LOW HIGH`` as a parameter of the method."""
    if pair is None:
        return {}
    ends = [_value(text) for text in pair]
    if not all(end is None or (isinstance(end, int | float) and not isinstance(end, bool)) for end in ends):
        raise typer.BadParameter(f"--bounds takes two numbers, or none for no bound; got {' '.join(pair)}.")
    return {"bounds": None if ends == [None, None] else tuple(ends)}


def named_transform(text: str | None) -> dict[str, Any]:
    """``--target-transform NAME`` as a parameter of the method."""
    return {} if text is None else {"target_transform": _value(text)}


def kinds(pairs: list[str] | None, target: str) -> tuple[dict[str, str], str | None]:
    """``--kind column=kind`` pairs: the kinds of the features; and how the target is written, if its kind says so."""
    found = {}
    for pair in pairs or []:
        name, sign, kind = pair.rpartition("=")
        if not sign or (kind not in KINDS and not kind.startswith(("date:", "number:"))):
            raise typer.BadParameter(
                f"--kind takes COLUMN={'|'.join(KINDS)}, COLUMN=date:FORMAT or COLUMN=number:STYLE; got {pair!r}."
            )
        found[name] = kind
    style = _target_style(found.pop(target, "number"), target)
    return found, style


def _target_style(kind: str, target: str) -> str | None:
    from extranets.tables.values import STYLES

    kind, _, style = kind.partition(":")
    if kind != "number" or (style and style not in STYLES):
        raise typer.BadParameter(
            f"--kind {target}: the target is always a number. To say how it is written, give {target}=number:STYLE, where "
            f"STYLE is one of {', '.join(STYLES)}."
        )
    return style or None


# -- files and columns ---------------------------------------------------------------------------------------------------


def check_input(path: str) -> None:
    if path != "-" and not Path(path).is_file():
        raise typer.BadParameter(f"there is no file {path}.")


def check_output(path: Path, *inputs: str | Path | None, option: str = "--output") -> None:
    """Refuse a file that cannot be written, or that is one of the files that are read."""
    if path.is_dir():
        raise typer.BadParameter(f"{option}: {path} is a folder; give the name of a file.")
    if path.exists() and not path.is_file():
        raise typer.BadParameter(f"{option}: {path} is not a file that can be replaced.")
    for other in inputs:
        if other is not None and path.exists() and Path(other).exists() and path.samefile(other):
            raise typer.BadParameter(f"{option}: {path} is the same file as {other}, which is read; give another name.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise typer.BadParameter(f"{option}: there is no folder {path.absolute().parent}.")
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise typer.BadParameter(f"{option}: {path} cannot be written: {error.strerror}.") from None


def named_columns(names: list[str] | None, columns: list[str], option: str, target: str | None = None) -> list[str]:
    """Column names given one by one or separated by commas. Each must be in the table, and none may be the target."""
    wanted = []
    for name in names or []:
        wanted += [name] if name in columns else [part.strip() for part in name.split(",")]
    for name in wanted:
        if name == target:
            raise typer.BadParameter(f"{option}: {name} is the target.")
        if name not in columns:
            raise typer.BadParameter(f"{option}: the table has no column {name}.{hint(name, columns)}")
    return list(dict.fromkeys(wanted))
