"""The rows and numbers behind the coverage slider."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from extranets._arrays import Array
from extranets.evaluation import CoverageRow, Predictions, coverage_table
from extranets.plots.drawing import percent, share_range, short
from extranets.plots.intervals import finite_range, shown_rows

RESOLUTION = 1e-4  # of the drawn range: less than a pixel
WIDEST_IN_VIEW = 0.96  # intervals of higher coverage may run out of the picture


@dataclass
class Level:
    """One position of the slider, for all rows."""

    nominal: float
    observed: float
    low: float
    high: float
    mean_width: float
    interval_score: float
    verdict: str
    nominal_text: str
    observed_text: str
    limits_text: str
    width_text: str


@dataclass(eq=False)
class Sample:
    """At most 400 rows with their intervals at all levels.

    Shapes: y, mean ``(n_shown,)``; lower, upper ``(n_levels, n_shown)``, infinite bounds are null in JSON; covered: for each
    level a text with ``1`` for every row inside its interval and ``0`` for the others; view, error_view: the ranges that are
    drawn, of targets and of errors.
    """

    n: int
    y: Array
    mean: Array
    lower: Array
    upper: Array
    covered: list[str]
    view: tuple[float, float]
    error_view: tuple[float, float]


def levels_of(predictions: Predictions) -> list[Level]:
    return [_level(row) for row in coverage_table(predictions)]


def _level(row: CoverageRow) -> Level:
    numbers = (row.nominal, row.observed, row.low, row.high, row.mean_width, row.interval_score)
    limits = share_range(row.low, row.high)
    return Level(*numbers, row.verdict, percent(row.nominal), percent(row.observed), limits, short(row.mean_width))


def sample_of(predictions: Predictions) -> Sample:
    p = predictions
    rows = shown_rows(p.mean)
    y, mean, bounds = p.y[rows], p.mean[rows], p.bounds[rows]
    in_view = bounds[..., p.levels <= max(WIDEST_IN_VIEW, p.levels[0])]
    view = finite_range(y, mean, in_view)
    error_view = finite_range(y - mean, in_view - mean[:, None, None])
    inside = (bounds[:, 0] <= y[:, None]) & (y[:, None] <= bounds[:, 1])  # of the bounds before they are rounded
    places = int(np.ceil(-np.log10(RESOLUTION * min(view[1] - view[0], error_view[1] - error_view[0]))))
    y, mean, lower, upper = (np.round(part, places) for part in (y, mean, bounds[:, 0].T, bounds[:, 1].T))
    covered = ["".join("01"[hit] for hit in column) for column in inside.T.astype(int)]
    return Sample(len(p), y, mean, lower, upper, covered, view, error_view)
