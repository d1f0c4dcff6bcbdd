"""Tables that the distance was chosen on: simulated physics, and tables of benchmarks/ordinary whose role is to choose.

None of them is a UCI table, so that the figures of those stay unseen until the end. "manifold" and "design" are like naval and energy,
where methods are known to collapse: columns that a few hidden numbers decide, and a table of a few designs, both with next to no noise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from extranets._arrays import Array

N_ROWS = 1500
MOST_LEVELS = 20  # of a category that becomes columns
FEWEST_VALUES = 12  # of a column of which a region is left out
ORDINARY = (
    "quakes",
    "diamonds",
    "Hitters",
    "Carseats",
    "College",
    "SaratogaHouses",
    "Sacramento",
    "Computers",
    "MedExp",
    "Griliches",
)


def borehole(random: np.random.Generator) -> tuple[Array, Array]:
    """Flow of water through a borehole (Harper and Gupta 1983), without noise."""
    low = np.array([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855])
    high = np.array([0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])
    X = random.uniform(low, high, size=(N_ROWS, 8))
    radius, far, upper, upper_head, lower, lower_head, length, conductivity = X.T
    ratio = np.log(far / radius)
    leak = 1 + 2 * length * upper / (ratio * radius**2 * conductivity) + upper / lower
    return X, 2 * np.pi * upper * (upper_head - lower_head) / (ratio * leak)


def circuit(random: np.random.Generator) -> tuple[Array, Array]:
    """Mid-point voltage of a push-pull circuit (Ben-Ari and Steinberg 2007), with noise of a twentieth of the range."""
    X = random.uniform([50, 25, 0.5, 1.2, 0.25, 50], [150, 70, 3, 2.5, 1.2, 300], size=(N_ROWS, 6))
    b1, b2, f, c1, c2, gain = X.T
    voltage, load = 12 * b2 / (b1 + b2), gain * (c2 + 9)
    y = (voltage + 0.74) * load / (load + f) + 11.35 * f / (load + f) + 0.74 * f * load / ((load + f) * c1)
    return X, y + 0.05 * np.ptp(y) * random.normal(size=N_ROWS)


def manifold(random: np.random.Generator) -> tuple[Array, Array]:
    """Fourteen columns that three hidden numbers decide."""
    hidden = random.uniform(-1, 1, size=(N_ROWS, 3))
    mix = np.random.default_rng(0).normal(size=(2, 3, 14))
    X = np.tanh(hidden @ mix[0]) + 0.3 * (hidden @ mix[1]) ** 2
    y = np.sin(2 * hidden[:, 0]) + hidden[:, 1] * hidden[:, 2] + hidden[:, 2] ** 2
    return X, y + 0.002 * random.normal(size=N_ROWS)


def design(random: np.random.Generator) -> tuple[Array, Array]:
    """Sixteen shapes, each with the same five measures, in four directions, with five shares and six places of glass."""
    shapes = np.linspace(0, 1, 16)
    measures = np.column_stack([shapes, shapes**2, np.sqrt(shapes), 1 / (1 + shapes), shapes > 0.55])
    shape, direction, share, place = np.indices((16, 4, 5, 6)).reshape(4, -1)
    X = np.column_stack([measures[shape], direction, share / 10, place])
    y = 3 * measures[shape, 4] + np.cos(4 * shapes[shape]) + X[:, 6] * (2 + 3 * shapes[shape]) + 0.02 * place
    rows = random.permutation(len(y))[:N_ROWS]
    return X[rows], (y + 0.05 * random.normal(size=len(y)))[rows]


SIMULATED: dict[str, Callable[[np.random.Generator], tuple[Array, Array]]] = {
    "borehole": borehole,
    "circuit": circuit,
    "manifold": manifold,
    "design": design,
}
NAMES = (*SIMULATED, *ORDINARY)


@cache
def table(name: str) -> tuple[Array, Array]:
    """All rows of a table. Shape: ``(n, k)``, ``(n,)``."""
    if name in SIMULATED:
        return SIMULATED[name](np.random.default_rng(list(SIMULATED).index(name)))
    return ordinary(name)


def ordinary(name: str) -> tuple[Array, Array]:
    """Rows without gaps of a table of benchmarks/ordinary, with columns for the levels of its categories."""
    import pandas  # which simulated tables do without
    from pandas.api.types import is_numeric_dtype

    from benchmarks.ordinary.manifest import selected
    from benchmarks.ordinary.rows import read

    X, y = read(selected(name)[0])
    numeric = [column for column in X if is_numeric_dtype(X[column])]
    categories = [column for column in X if column not in numeric and X[column].nunique() <= MOST_LEVELS]
    columns = pandas.get_dummies(X[numeric + categories], columns=categories, drop_first=True).astype(np.float64)
    whole = columns.notna().all(axis=1).to_numpy()
    return columns.to_numpy()[whole], y[whole]


def candidates(X: Array) -> list[int]:
    """Columns of which a region can be left out."""
    return [column for column, values in enumerate(X.T) if len(np.unique(values)) >= FEWEST_VALUES]
