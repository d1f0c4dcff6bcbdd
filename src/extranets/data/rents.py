"""A simulated table like those that analysts meet: numbers, a date, categories, yes and no, and missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

DISTRICTS = ("Centre", "Harbour", "North", "Old Town", "Riverside", "South", "University", "West")
HEATING = ("gas", "district", "heat pump", "oil")
BASE = np.array([16.0, 15.0, 10.5, 17.5, 14.0, 9.5, 13.0, 11.0])  # rent per square metre
SMALL_COSTS = np.array([0.0, 20.0, 45.0, -25.0])


def simulated_rents(n_samples: int, random_state: int | np.random.RandomState | None = None) -> Any:
    """Monthly rents of flats. The noise grows with the rent, so that honest intervals differ in width from row to row.

    Parameters
    ----------
    n_samples : int
    random_state : int, RandomState or None, default=None

    Returns
    -------
    pandas.DataFrame of n_samples rows
        ``flat`` (an id), ``listed`` (a date), ``district``, ``heating``, ``area``, ``rooms``, ``floor``, ``built``,
        ``balcony`` (yes or no), ``distance`` (to the centre), ``rent``. ``built`` and ``distance`` have missing values.

    Examples
    --------
    >>> from extranets.data import simulated_rents
    >>> simulated_rents(3, random_state=0).columns.tolist()[-2:]
    ['distance', 'rent']
    """
    import pandas

    random = check_random_state(random_state)
    district = random.randint(len(DISTRICTS), size=n_samples)
    heating = random.randint(len(HEATING), size=n_samples)
    area = np.round(np.exp(random.normal(4.1, 0.4, n_samples)), 1)
    floor = random.randint(0, 9, size=n_samples)
    built = random.randint(1890, 2025, size=n_samples)
    balcony = random.uniform(size=n_samples) < 0.45
    distance = np.round(random.gamma(2.0, 1.4, n_samples), 2)
    day = random.randint(0, 3 * 365, size=n_samples)
    age = np.abs(built - 1965) / 60  # old and new flats are expensive
    season = 0.03 * np.cos(2 * np.pi * (day % 365) / 365)
    mean = area * BASE[district] * (0.8 + 0.35 * age) * (1 + season + day / 8000) * np.exp(-0.05 * distance)
    mean = mean + 60 * balcony + 6 * floor + SMALL_COSTS[heating]
    rent = mean + random.normal(0, 15 + 0.07 * mean)
    missing = np.where(random.uniform(size=n_samples) < 0.08, np.nan, 1.0)
    unmeasured = np.where(random.uniform(size=n_samples) < 0.05, np.nan, 1.0)
    return pandas.DataFrame(
        {
            "flat": [f"F{number:07d}" for number in range(1, n_samples + 1)],
            "listed": (np.datetime64("2023-01-01") + day).astype(str),
            "district": np.array(DISTRICTS)[district],
            "heating": np.array(HEATING)[heating],
            "area": area,
            "rooms": np.maximum(1, np.round(area / 24 + random.normal(0, 0.6, n_samples))).astype(int),
            "floor": floor,
            "built": pandas.array(built * missing, dtype="Int64"),
            "balcony": np.where(balcony, "yes", "no"),
            "distance": distance * unmeasured,
            "rent": np.round(rent, 2),
        }
    )
