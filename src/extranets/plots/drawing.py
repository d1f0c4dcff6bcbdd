"""Colours, numbers as text, and the few drawings that several figures share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The report replaces each of these by a colour of its theme, so no two may be the same.
INK = "#1b1f24"
MUTED = "#59626e"
GRID = "#dde2e8"
ACCENT = "#0b5cad"
MISS = "#b3261e"
SECOND = "#7a4b00"
THIRD = "#5b3e9b"
SERIES = ((ACCENT, "o"), (SECOND, "s"), (THIRD, "D"), (MISS, "^"))  # told apart by shape as well

DIAGONAL: dict[str, Any] = {"color": MUTED, "linewidth": 1.0, "linestyle": (0, (4, 3))}


def percent(share: float) -> str:
    """A share to read.

    Examples
    --------
    >>> percent(0.9), percent(0.8567), percent(1.0), percent(0.0004)
    ('90 %', '85.7 %', '100 %', '0.0 %')
    """
    text = f"{100 * share:.1f}"
    return f"{text.removesuffix('.0') if abs(100 * share - round(100 * share)) < 1e-9 else text} %"


def share_range(low: float, high: float) -> str:
    """Limits of a share.

    Examples
    --------
    >>> share_range(0.876, 0.9421)
    '87.6 to 94.2 %'
    """
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def short(value: float) -> str:
    """Three significant digits, but no digit before the point is rounded away.

    Examples
    --------
    >>> short(0.12345), short(1234.5), short(float("inf")), short(-0.0), short(1.0), short(float("nan"))
    ('0.123', '1234', 'infinite', '0', '1', 'unknown')
    """
    if not np.isfinite(value):
        return "unknown" if np.isnan(value) else f"{'-' if value < 0 else ''}infinite"
    return f"{value + 0.0:.0f}" if 1000 <= abs(value) < 1e15 else f"{value + 0.0:.3g}"


def cut(text: str, most: int) -> str:
    """At most so many letters.

    Examples
    --------
    >>> cut("temperature", 6)
    'tempe…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


class Dots(NamedTuple):
    """Values with limits, one for each row. NaN where there is none."""

    name: str
    value: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def dots(
    ax: Axes,
    labels: Sequence[str],
    series: Sequence[Dots],
    marked: Sequence[bool] | None = None,
) -> None:
    """Horizontal rows from the top down: a dot for each value, with a bar from its lower to its upper limit.

    ``marked`` rows are drawn in another colour and shape.
    """
    rows = np.arange(len(labels), dtype=float)
    chosen = np.zeros(len(rows), bool) if marked is None else np.asarray(marked, dtype=bool)
    offsets = (np.arange(len(series)) - (len(series) - 1) / 2) * 0.22
    for part, (colour, shape), offset in zip(series, cycle(SERIES), offsets, strict=False):
        value, low, high = (np.asarray(numbers, dtype=float) for numbers in part[1:])
        for subset, tone, form, name in ((~chosen, colour, shape, part.name), (chosen, MISS, "X", "")):
            at = rows[subset] + offset
            ax.hlines(at, low[subset], high[subset], color=tone, linewidth=1.6, alpha=0.55)
            ax.plot(value[subset], at, form, color=tone, markersize=5, label=name)
    ax.set_yticks(rows, labels, parse_math=False)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="x", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)


def legend(ax: Axes, **options: Any) -> None:
    ax.legend(frameon=False, fontsize="small", handlelength=1.4, **options)
