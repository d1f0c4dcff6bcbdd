"""From a table to a model that can be saved: learn the columns once, search for settings, cross-validate, fit to all rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt
from sklearn.base import clone

from extranets.estimators import StackedNetsRegressor
from extranets.evaluation import ENOUGH_ROWS, OutOfFold, cross_validate
from extranets.parting import Parting
from extranets.tables.errors import TableWarning
from extranets.tables.order import check_parting
from extranets.tables.regressor import TableRegressor
from extranets.tables.schema import Schema
from extranets.tuning import tune

THIS_RUN = ("random_state", "n_jobs", "verbose")  # parameters that `tune` takes by name: they are not searched for


class Listener:
    """What :func:`fit_table` tells while it works. All methods do nothing: override those that you want to hear."""

    def learned(self, schema: Schema) -> None:
        """What the columns are; before anything is trained."""

    def tuned(self, model: TableRegressor) -> None:
        """The model is fitted with the settings that were found; ``model.regressor_.tuning_`` lists all that were tried."""

    def begins_fold(self, number: int, n_folds: int) -> None:
        """A fold of the cross-validation begins; numbers count from 1."""

    def begins_fit(self) -> None:
        """The fit to all rows begins. Not called after a search, which ends with that fit."""


def fit_table(
    model: TableRegressor,
    X: Any,
    y: npt.ArrayLike,
    *,
    budget: float | None = None,
    fixed: Mapping[str, Any] | None = None,
    coverage: float = 0.9,
    n_folds: int = 5,
    seed: int = 0,
    groups: Any = None,
    time: Any = None,
    listener: Listener | None = None,
) -> OutOfFold | None:
    """Fit a table's model and judge it by cross-validation. What the columns are is learned once, from all rows.

    The model is then ready to be saved: it has the settings that were found, and no longer the number of threads and the
    progress line of this run.

    Parameters
    ----------
    model : TableRegressor with an ``estimator``
    X : data frame of shape (n, n_columns)
    y : array of shape (n,)
    budget : float, optional
        Seconds for :func:`fit_tuned`: a search for settings, and the fit to all rows. The cross-validation comes on top.
    fixed : parameters of the estimator that a search leaves alone
    coverage, n_folds, seed
        Of the cross-validation; no folds, no cross-validation.
    groups, time : arrays of shape (n,), optional
        As for :meth:`TableRegressor.fit`; they decide on the folds of the cross-validation, too.
    listener : told of every step

    Returns
    -------
    OutOfFold or None
        Predictions of rows that were held out; None without folds.

    Examples
    --------
    >>> from extranets import StackedNetsRegressor
    >>> from extranets.data import simulated_rents
    >>> flats = simulated_rents(120, random_state=0)
    >>> model = TableRegressor(StackedNetsRegressor(n_folds=2, random_state=0, n_jobs=1), kinds={"flat": "ignore"})
    >>> held_out = fit_table(model, flats.drop(columns="rent"), flats["rent"], n_folds=2)
    >>> len(held_out.y), model.predict(flats[:2]).shape, model.estimator.n_jobs
    (120, (2,), None)
    """
    told = Listener() if listener is None else listener
    parting = check_parting(groups, time, len(X))
    if parting is not None and not model.leaves_rows_out:
        raise ValueError(
            f"{parting.kind} says which rows are left out together, but {type(model.estimator).__name__} leaves none out; use "
            "StackedNetsRegressor or ExtraNetsRegressor (--method stack or extra-nets)."
        )
    together = {} if parting is None else {parting.kind: parting.number}
    schema = model.learn_schema(X)
    told.learned(schema)
    if budget is not None:
        fit_tuned(model, X, y, budget, fixed=fixed, schema=schema, **together)
        told.tuned(model)
    held_out = None
    if n_folds:
        judged: dict[str, Any] = {"coverage": coverage, "n_folds": n_folds, "seed": seed, "parting": parting}
        held_out = cross_validate_table(model, X, y, schema, **judged, begin_fold=told.begins_fold)
    if budget is None:
        told.begins_fit()
        model.fit_with(
            X, y, lambda encoded: clone(model.estimator).fit(encoded, y, **together), schema=schema, **together
        )
    forget_this_run(model)
    return held_out


def fit_tuned(
    model: TableRegressor,
    X: Any,
    y: npt.ArrayLike,
    budget: float,
    *,
    fixed: Mapping[str, Any] | None = None,
    schema: Schema | None = None,
    groups: Any = None,
    time: Any = None,
) -> TableRegressor:
    """Fit a table's model with settings that :func:`extranets.tune` searches for, and leave them in its ``estimator``.

    Parameters
    ----------
    model : TableRegressor whose ``estimator`` is a StackedNetsRegressor
        Its ``random_state``, ``n_jobs`` and ``verbose`` are used for the search, too.
    X : data frame of shape (n, n_columns)
    y : array of shape (n,)
    budget : seconds for the search and the fit to all rows
    fixed : parameters of the estimator that are not searched for
    schema : what ``model.learn_schema(X)`` found; learned if not given
    groups, time : arrays of shape (n,), optional
        As for :meth:`TableRegressor.fit`.

    Returns
    -------
    model
    """
    if not isinstance(model.estimator, StackedNetsRegressor):
        name = type(model.estimator).__name__
        raise TypeError(f"A search is for StackedNetsRegressor; the settings of {name} are not searched for.")
    this_run = {name: getattr(model.estimator, name) for name in THIS_RUN}
    kept = {name: value for name, value in (fixed or {}).items() if name not in this_run}
    together = {"groups": groups, "time": time}
    model.fit_with(
        X, y, lambda encoded: tune(encoded, y, budget, **together, **this_run, **kept), schema=schema, **together
    )
    # The search shows a progress line of its own, so its result is silent; clones of the model are not.
    return model.set_params(estimator=clone(model.regressor_).set_params(verbose=this_run["verbose"]))


def cross_validate_table(
    model: TableRegressor,
    X: Any,
    y: npt.ArrayLike,
    schema: Schema,
    *,
    coverage: float = 0.9,
    n_folds: int = 5,
    enough_rows: int = ENOUGH_ROWS,
    seed: int = 0,
    parting: Parting | None = None,
    begin_fold: Callable[[int, int], object] | None = None,
) -> OutOfFold:
    """Cross-validate a table's model: :func:`extranets.evaluation.cross_validate`, where every fold knows the columns' kinds.

    The few rows of a fold may look like something else than all rows do: yes and no alone are truth values, and with one
    "maybe" among them categories. So the kinds come from all rows. All else (categories, fill values, scales) a fold learns
    from its own rows.

    Parameters
    ----------
    model : TableRegressor; it is not fitted itself
    X : data frame of shape (n, n_columns)
    y : array of shape (n,)
    schema : what ``model.learn_schema(X)`` found
    coverage, n_folds, enough_rows, seed, parting, begin_fold
        As in :func:`extranets.evaluation.cross_validate`.
    """
    judge = clone(model).set_params(kinds=schema.kinds(), strict=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)  # a fold may well lack some category: nothing to warn of
        judged: dict[str, Any] = {"coverage": coverage, "n_folds": n_folds, "enough_rows": enough_rows, "seed": seed}
        return cross_validate(judge, X, y, **judged, parting=parting, begin_fold=begin_fold)


def forget_this_run(model: TableRegressor) -> None:
    """Set threads and progress to their defaults. Whoever loads the model may have another machine."""
    for network in (model.estimator, model.regressor_):
        network.set_params(n_jobs=None, verbose=0)
