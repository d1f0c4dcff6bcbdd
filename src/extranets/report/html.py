"""Summaries as one HTML page that loads nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from extranets import _atomic
from extranets._extras import require
from extranets._json import as_json, plain
from extranets.plots import Display
from extranets.plots.drawing import counted, percent, share_range, short
from extranets.report.runs import RunSummary
from extranets.report.summary import Summary
from extranets.report.svg import svg

PAGE = Path(__file__).parent / "page"


class Drawing(NamedTuple):
    """A figure in the page."""

    title: str
    words: str
    svg: str


def write(
    summary: Summary | RunSummary, path: str | os.PathLike[str], json_path: str | os.PathLike[str] | None = None
) -> None:
    """Write the report, and the summary as JSON if it has a path. Each file is written completely or not at all.

    Parameters
    ----------
    summary : what :func:`summarise` or :func:`summarise_run` gives
    path : path-like
        HTML file, overwritten if it exists.
    json_path : path-like, optional
    """
    files = [Path(path)] if json_path is None else [Path(path), Path(json_path)]
    if len(set(files)) < len(files):
        raise ValueError(f"The page and its figures cannot both go into {files[0]}; give the page a name with .html.")
    for file in files:  # before anything is drawn
        if not file.parent.is_dir():
            raise FileNotFoundError(f"{file} cannot be written: the folder {file.parent} does not exist.")
    _atomic.write(files[0], [render(summary).encode("utf-8")])
    if json_path is not None:
        _atomic.write(json_path, [as_json(summary).encode("utf-8")])


def render(summary: Summary | RunSummary) -> str:
    """The page as text."""
    require("A report", "report", "jinja2", "matplotlib")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_unbroken,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"short": short, "counted": counted, "percent": percent, "share_range": share_range}
    template = environment.get_template("run.html" if isinstance(summary, RunSummary) else "predictions.html")
    drawings = {name: list(_drawings(name, display)) for name, display in summary.figures.items()}
    return template.render(
        summary=summary,
        drawings=drawings,
        style=(PAGE / "style.css").read_text(encoding="utf-8"),
        script=(PAGE / "script.js").read_text(encoding="utf-8"),
        version=version("extranets"),
        slider=_slider(summary),
    )


def _unbroken(value: Any) -> Any:
    """Keep a number and its per cent sign on one line."""
    return value.replace(" %", "\N{NO-BREAK SPACE}%") if type(value) is str else value


def _drawings(name: str, display: Display) -> Iterable[Drawing]:
    for number, panel in enumerate(display.panels):
        yield Drawing(display.title(panel), display.words(panel), svg(display, panel, f"{name}-{number}"))


def _slider(summary: Summary | RunSummary) -> dict[str, Any] | None:
    """What the script draws."""
    if isinstance(summary, RunSummary):
        return None
    return {"target": summary.target, "levels": plain(summary.levels), "sample": plain(summary.sample)}
