"""Colours, numbers as text, and the few drawings that several figures share."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
    """A share as text.

    Examples
    --------
    >>> percent(0.9), percent(0.8567), percent(1.0), percent(0.0004)
    ('90 %', '85.7 %', '100 %', '0.0 %')
    """
    text = f"{100 * share:.1f}"
    return f"{text.removesuffix('.0') if abs(100 * share - round(100 * share)) < 1e-9 else text} %"


def share_range(low: float, high: float) -> str:
    """The limits of a share as text.

    Examples
    --------
    >>> share_range(0.876, 0.9421)
    '87.6 to 94.2 %'
    """
    return f"{100 * low:.1f} to {100 * high:.1f} %"


LONGEST_WHOLE = 1e6  # from here on, and below 1e-4, numbers have an exponent: longer ones would leave no room
MOST_DIGITS = 6  # of a tick's label


def short(value: float) -> str:
    """Three significant digits, but no digit before the point is rounded away under a million.

    Examples
    --------
    >>> short(0.12345), short(1234.5), short(50054216677.0), short(2.5e-9), short(-0.0), short(1.0)
    ('0.123', '1,234', '5.01e10', '2.5e-9', '0', '1')
    >>> short(float("inf")), short(float("nan"))
    ('infinite', 'unknown')
    """
    if not np.isfinite(value):
        return "unknown" if np.isnan(value) else f"{'-' if value < 0 else ''}infinite"
    if 999.5 <= abs(value) < LONGEST_WHOLE - 0.5:
        return f"{value:,.0f}"
    return _plain_exponent(f"{value + 0.0:.3g}")


class Labels(NamedTuple):
    """Texts of ticks, and the number that is to be added to all of them: empty for none."""

    texts: list[str]
    base: str


def tick_labels(ticks: npt.ArrayLike) -> Labels:
    """Labels of evenly spaced ticks, with the digits that their step needs. The page's script has the same rules.

    Where ticks far from zero would need many digits, a round number is left out of all of them.

    Examples
    --------
    >>> tick_labels([0.0, 0.5, 1.0]), tick_labels([-5000.0, 0.0, 5000.0]).texts, tick_labels([0.0, 5e9, 1e10]).texts
    (Labels(texts=['0.0', '0.5', '1.0'], base=''), ['-5,000', '0', '5,000'], ['0', '0.5e10', '1.0e10'])
    >>> tick_labels([1e12 - 500, 1e12, 1e12 + 500])
    Labels(texts=['-500', '0', '500'], base='1,000,000,000,000')
    """
    values = np.asarray(ticks, dtype=np.float64)
    step = float(np.diff(values).min()) if len(values) > 1 else float(np.abs(values).max(initial=0.0)) or 1.0
    step, base = float(f"{step:.2g}"), 0.0  # the difference of large numbers is not exact
    if np.abs(values).max(initial=0.0) >= 10**MOST_DIGITS * step:
        round_to = 10.0 ** np.ceil(np.log10(step * len(values)))
        base = float(np.round(values[len(values) // 2] / round_to) * round_to)
    rest = values - base
    rest[np.abs(rest) < step / 1000] = 0.0
    return Labels(_alike(rest.tolist(), step), _exact(base) if base else "")


def _alike(values: Sequence[float], step: float) -> list[str]:
    """Numbers with the same number of digits after the point, and the same exponent if they need one."""
    largest, finest = max(map(abs, values), default=0.0), _power(step)
    if largest == 0 or 1e-4 <= largest < LONGEST_WHOLE:
        return [f"{value:,.{max(0, -finest)}f}" for value in values]
    power = _power(largest)
    places = max(0, power - finest)
    return [f"{value / 10.0**power:.{places}f}e{power}" if value else "0" for value in values]


def _power(value: float) -> int:
    return math.floor(math.log10(value) + 1e-9)


def _exact(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else _plain_exponent(f"{value:.15g}")


def _plain_exponent(text: str) -> str:
    return re.sub(r"e([+-])0*", lambda sign: f"e{sign[1].strip('+')}", text)


def counted(n: int, noun: str) -> str:
    """A number of things as text.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


LONGEST_NAME = 24  # of a target beside an axis


def cut(text: str, most: int) -> str:
    """The text, shortened to at most ``most`` letters.

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
