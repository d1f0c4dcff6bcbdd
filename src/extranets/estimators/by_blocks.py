"""The frame of a fit to a table that memory cannot hold.

One pass stores the rows in a scratch file and learns exact means, deviations and ends of all columns; and it draws some 50,000 rows at random,
which stay in memory. These rows stand for the table wherever a fit only needs to know what the rows are like: they are the sample
in which rows are left out, on which kinds and settings are tried, from which edges of bins come, and on which errors are measured. Networks are
trained on all rows: see `extranets.engine.in_windows`.

A table of which all rows are drawn gets the usual fit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from extranets._arrays import Array
from extranets.blocks import (
    AllRows,
    Budget,
    NumberBlocks,
    Scratch,
    TakenIn,
    moments_of_targets,
    number_blocks,
    take_in,
)
from extranets.estimators.fitted import fit_info
from extranets.estimators.linking import link_for
from extranets.held_out import Sample
from extranets.predictor import Predictor, Scaling, Units
from extranets.predictor.covered import Covered
from extranets.predictor.link import Link
from extranets.predictor.novelty import Novelty
from extranets.predictor.powers import Powers
from extranets.predictor.seen import SeenRows
from extranets.predictor.units import fingerprint
from extranets.stacking import likely_powers

if TYPE_CHECKING:
    from extranets.estimators.base import NetsRegressor

Regressor = TypeVar("Regressor", bound="NetsRegressor")
WITHOUT = {
    "sample_weight": "weights of rows",
    "groups": "groups of rows",
    "time": "times of rows",
    "checkpoint": "a checkpoint",
}


def fit_by_blocks(
    estimator: Regressor,
    X: Any,
    y: Any,
    max_memory: int | str | None,
    scratch: str | os.PathLike[str] | None,
    beside: Mapping[str, Any],
) -> Regressor:
    """Fit to arrays, mapped files, or arrays and data frames of Dask. ``beside`` holds the arguments that only other fits have."""
    refuse_beside(beside)
    return fit_blocks(estimator, number_blocks(X, y), Budget.of(max_memory), scratch)


def refuse_beside(beside: Mapping[str, Any]) -> None:
    """Refuse arguments that only a fit with all rows in memory has."""
    given = [words for name, words in WITHOUT.items() if beside.get(name) is not None]
    if given:
        raise ValueError(
            f"A fit block by block, as max_memory, files and Dask's collections ask for, takes no {' and no '.join(given)}."
        )


def check_fits_blocks(regressor: Any) -> None:
    """Refuse a regressor that needs its table in memory."""
    if not getattr(regressor, "fits_blocks", False):
        name = type(regressor).__name__
        raise TypeError(f"{name} needs its table in memory; StackedNetsRegressor and ExtraNetsRegressor do not.")


def fit_blocks(
    estimator: Regressor, table: NumberBlocks, budget: Budget, scratch: str | os.PathLike[str] | None
) -> Regressor:
    """Fit to a table of numbers that comes in blocks."""
    begin = monotonic()
    estimator.check_parameters()
    _check(estimator)
    budget.window_bytes(table.n_columns + table.n_outputs)  # a budget that is too small is refused at once
    with Scratch(scratch, table.n_columns, table.n_outputs, table.n_rows) as stored:
        estimator._forget()
        with estimator._watch("Reading the table", minor=True) as progress:
            taken = take_in(table, stored, budget, progress)
        if len(taken.drawn) == taken.n_rows:
            estimator.fit(taken.X, taken.Y[:, 0] if table.y_is_vector else taken.Y)
        else:
            _fit(estimator, table, taken, budget, begin)
    estimator.n_features_in_ = table.n_columns
    if table.names is not None:
        estimator.feature_names_in_ = np.array(table.names, dtype=object)
    return estimator


def _check(estimator: NetsRegressor) -> None:
    """Refuse what needs all rows in memory."""
    check_fits_blocks(estimator)
    parameters = estimator.get_params(deep=False)
    for parameter, value, other in (
        ("interval", "cv+", "'calibrated'"),
        ("noise", "train", "'cv' or 'holdout'"),
        ("warm_start", True, "False"),
        ("device", "cuda", "'cpu'"),
    ):
        if parameters.get(parameter) == value:
            raise ValueError(f"{parameter}={value!r} is not for a table that is read block by block; use {other}.")


def _fit(estimator: NetsRegressor, table: NumberBlocks, taken: TakenIn, budget: Budget, begin: float) -> None:
    x = Scaling.of_moments(taken.x.mean, taken.x.variance, taken.x.low, taken.x.high, "X", table.names)
    inputs, weight = x.apply(taken.X), np.ones(len(taken.X))
    units = _units(estimator, table, taken, x)
    whole = AllRows.of(taken, x.centre, x.factor, units.standardised, budget)
    data = fingerprint(taken.X, taken.Y, np.array([[taken.n_rows]]))
    sample = Sample(inputs, units.standardised(taken.Y), weight, data, whole=whole)
    found = estimator._fit(sample, units)
    model = replace(
        _reaching(found.model, taken, x),
        seen=SeenRows.of(taken.X, taken.Y),
        novelty=_widened(Novelty.learn(inputs), taken, x),
    )
    estimator.set_fitted(replace(found, model=model), fit_info((taken.n_rows, table.n_columns), begin))


def _units(estimator: NetsRegressor, table: NumberBlocks, taken: TakenIn, x: Scaling) -> Units:
    """Scalings from exact moments, and a link whose shift and ends are those of all targets."""
    # Three rows with the least, the largest and the mean target stand for all of them; only the mean has a weight.
    ends, only_mean = np.stack([taken.y.low, taken.y.high, taken.y.mean]), np.array([0.0, 0.0, 1.0])

    def choose(limits: Any) -> Powers | None:
        ones = np.ones(len(taken.Y))
        found = likely_powers(x.apply(taken.X), taken.Y, ones, None, limits, estimator._machine(), estimator._watch)
        return None if found is None else Powers.of(found.power, ends, only_mean)

    link = link_for(estimator.bounds, estimator.target_transform, ends, only_mean, choose)
    return Units(x, _target_scaling(link, taken), table.y_is_vector, link)


def _target_scaling(link: Link, taken: TakenIn) -> Scaling:
    y = taken.y if link.powers is None else moments_of_targets(taken, link.latent)
    return Scaling.of_moments(y.mean, y.variance, y.low, y.high, "y")


def _reaching(model: Predictor, taken: TakenIn, x: Scaling) -> Predictor:
    return model if model.distance is None else replace(model, distance=_covering(model.distance, taken, x))


def _widened(novelty: Novelty, taken: TakenIn, x: Scaling) -> Novelty:
    return replace(novelty, limits=_covering(novelty.limits, taken, x))


def _covering(covered: Any, taken: TakenIn, x: Scaling) -> Any:
    """With the ends of all rows, not only of those that were drawn."""
    assert isinstance(covered, Covered)
    low, high = (_standardised(ends, x) for ends in (taken.x.low, taken.x.high))
    return replace(covered, low=np.minimum(covered.low, low), high=np.maximum(covered.high, high))


def _standardised(values: Array, x: Scaling) -> Any:
    return x.apply(values[None, :])[0]
