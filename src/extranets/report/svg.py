"""Displays as SVG inside a page: themed by CSS, with text as text, names of its own, and words for those who cannot see it."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any
from xml.etree import ElementTree

from extranets.plots import Display
from extranets.plots.drawing import ACCENT, GRID, INK, MISS, MUTED, SECOND, THIRD

WIDTH = 5.0  # inches: 360 points, which a phone shows about one to one

THEME = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--grid)",
    ACCENT: "var(--accent)",
    MISS: "var(--miss)",
    SECOND: "var(--second)",
    THIRD: "var(--third)",
}
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "extranets",  # the same figure has the same bytes
    "font.size": 10,
    "axes.labelsize": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}
LONG_DECIMALS = re.compile(r"(\.\d\d)\d+")


def svg(display: Display, panel: str, name: str) -> str:
    """One view of a display as an ``<svg>`` element. ``name`` must be unique in the page."""
    root = ElementTree.fromstring(_drawn(display, panel))
    for parent in list(root.iter()):
        for child in list(parent):
            if _tag(child) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _tag(element)
        element.attrib = {key.rpartition("}")[2]: _themed(key, value, name) for key, value in element.attrib.items()}
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "class": "figure",
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-words",
    }
    for position, (tag, part, text) in enumerate(
        (("title", "title", display.title(panel)), ("desc", "words", display.words(panel)))
    ):
        element = ElementTree.Element(tag, id=f"{name}-{part}")
        element.text = text
        root.insert(position, element)
    return ElementTree.tostring(root, encoding="unicode")


def _drawn(display: Display, panel: str) -> str:
    """Draw in a figure of its own, which leaves pyplot and the user's settings alone."""
    from matplotlib import style
    from matplotlib.figure import Figure

    from extranets.report.ticks import set_ticks

    text = io.StringIO()
    with style.context(["default", STYLE]), warnings.catch_warnings():
        # The page shows text in the reader's fonts; matplotlib's fonts only measure it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(WIDTH, display.height(panel)), layout="constrained")
        display.plot(figure.subplots(), panel=panel)
        set_ticks(figure.axes[0])
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _themed(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key.endswith("href"):
        return f"#{name}-{value.removeprefix('#')}"
    if key == "clip-path":
        return value.replace("url(#", f"url(#{name}-")
    if key == "style":
        value = re.sub(r"font-family:[^;]*;?\s*", "", value)
        return re.sub(r"#[0-9a-f]{6}", lambda colour: THEME.get(colour[0], colour[0]), value)
    return LONG_DECIMALS.sub(r"\1", value) if key in ("d", "x", "y", "transform") else value
