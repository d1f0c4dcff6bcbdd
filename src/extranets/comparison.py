"""Every method, and scikit-learn's trees, cross-validated on a user's own table: what `extranets compare` prints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from extranets._arrays import Array
from extranets._sklearn import BaseEstimator, RegressorMixin, rows_of
from extranets.estimators import METHODS
from extranets.estimators.copies import CopiedRowsWarning
from extranets.evaluation import OutOfFold, drawn_rows
from extranets.parting import Parting, fold_of_row
from extranets.tables import TableRegressor, check_parting, cross_validate_table
from extranets.uncertainty.plus import cv_plus_interval

TREES = ("gradient boosting", "extra-trees")
NAMES = (*METHODS, *TREES)

MOST_ROWS = 10_000  # a larger table is cut down to so many rows, unless more are asked for


class CvPlusRegressor(RegressorMixin, BaseEstimator):
    """Any scikit-learn regressor with CV+ intervals (Barber et al. 2021), so that trees can be compared with networks."""

    leaves_rows_out = True

    def __init__(self, estimator: Any, n_folds: int = 5, random_state: int = 0) -> None:
        self.estimator = estimator
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Any, y: Array, *, groups: Any = None, time: Any = None) -> CvPlusRegressor:
        """Folds are whole groups, or blocks of time; other folds may be later, which is CV+."""
        X = np.asarray(X)
        self.fold_of_row_, self.residuals_ = self._folds(Parting.of(groups, time, len(y)), len(y)), np.empty(len(y))
        self.fold_models_ = []
        for fold in range(int(self.fold_of_row_.max()) + 1):
            held = self.fold_of_row_ == fold
            model = clone(self.estimator).fit(X[~held], y[~held])
            self.residuals_[held] = np.abs(model.predict(X[held]) - y[held])
            self.fold_models_.append(model)
        self.model_ = clone(self.estimator).fit(X, y)
        return self

    def _folds(self, parting: Parting | None, n_rows: int) -> npt.NDArray[np.intp]:
        """Shape: ``(n_rows,)``."""
        from sklearn.model_selection import KFold

        if parting is not None:
            n_folds = self.n_folds - parting.looks_back
            return fold_of_row(n_rows, n_folds, self.random_state, parting) + parting.looks_back
        found = np.empty(n_rows, dtype=np.intp)
        folds = KFold(self.n_folds, shuffle=True, random_state=self.random_state)
        for fold, (_, held) in enumerate(folds.split(found)):
            found[held] = fold
        return found

    def predict(self, X: Any) -> Array:
        return self.model_.predict(np.asarray(X))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Shape: ``(n, 2)``."""
        means = np.stack([model.predict(np.asarray(X)) for model in self.fold_models_])
        return cv_plus_interval(means, self.fold_of_row_, self.residuals_, coverage)


@dataclass(frozen=True)
class Comparison:
    """One method's line. ``behind``: its interval score minus the best method's; ``behind_se``: the standard error of that."""

    rank: int
    method: str
    interval_score: float
    behind: float
    behind_se: float
    rmse: float
    r2: float
    coverage: float
    coverage_low: float
    coverage_high: float
    mean_width: float
    seconds: float  # to fit once

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def candidate(name: str, seed: int, n_jobs: int | None = None) -> Any:
    """The unfitted regressor that a name stands for, with its default settings."""
    if name in METHODS:
        return METHODS[name](random_state=seed, n_jobs=n_jobs)
    from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor

    if name == "gradient boosting":
        return CvPlusRegressor(HistGradientBoostingRegressor(random_state=seed), random_state=seed)
    if name == "extra-trees":
        return CvPlusRegressor(ExtraTreesRegressor(random_state=seed, n_jobs=n_jobs), random_state=seed)
    raise ValueError(f"There is no method {name!r}; choose among {', '.join(NAMES)}.")


def compare(
    X: Any,
    y: npt.ArrayLike,
    methods: Iterable[str] = NAMES,
    *,
    coverage: float = 0.9,
    n_folds: int = 5,
    max_rows: int = MOST_ROWS,
    seed: int = 0,
    groups: Any = None,
    time: Any = None,
    n_jobs: int | None = None,
    table_settings: dict[str, Any] | None = None,
    begin: Callable[[str, int, int], object] | None = None,
) -> tuple[list[Comparison], dict[str, str]]:
    """Cross-validate methods on the same folds and rank them by interval score.

    Parameters
    ----------
    X : data frame of shape (n, n_features); any columns that :class:`extranets.tables.TableRegressor` takes
    y : array of shape (n,)
    methods : some of ``NAMES``
    coverage : of the intervals that are judged
    max_rows : a larger table is cut down to so many rows, drawn at random
    seed : of the rows that are drawn, the folds and the methods
    groups, time : arrays of shape (n,), optional
        Folds are then whole groups, or later than the rows of the fit (see :func:`extranets.evaluation.cross_validate`).
    table_settings : arguments of :class:`extranets.tables.TableRegressor`
    begin : called with a method's name, the number of a fold from 1, and the number of folds

    Returns
    -------
    comparisons : list of Comparison, the smallest interval score first
    failed : dict from the names of methods that could not be fitted to the reasons
    """
    parting = check_parting(groups, time, len(X))
    rows = drawn_rows(len(X), max_rows, seed)
    X, y = rows_of(X, rows), np.asarray(y, dtype=np.float64)[rows]
    parting = None if parting is None else parting.part(rows)
    settings = table_settings or {}
    # Before any method is tried: a fault of the table is not theirs.
    schema = TableRegressor(**settings).learn_schema(X)
    found: dict[str, OutOfFold] = {}
    failed: dict[str, str] = {}
    for name in methods:
        model = TableRegressor(candidate(name, seed, n_jobs), **settings)
        fold = None if begin is None else lambda k, n, name=name: begin(name, k, n)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # every fold would repeat the warnings of a single fit
                warnings.simplefilter("default", CopiedRowsWarning)  # copied rows spoil the comparison itself
                found[name] = cross_validate_table(
                    model,
                    X,
                    y,
                    schema,
                    coverage=coverage,
                    n_folds=n_folds,
                    enough_rows=len(y),
                    seed=seed,
                    parting=parting,
                    begin_fold=fold,
                )
        except (ValueError, ArithmeticError) as error:
            failed[name] = str(error)
    return rank(found), failed


def rank(found: dict[str, OutOfFold]) -> list[Comparison]:
    order = sorted(found, key=lambda name: found[name].row_scores.mean())
    return [_line(place, name, found[name], found[order[0]]) for place, name in enumerate(order, start=1)]


def _line(place: int, name: str, own: OutOfFold, best: OutOfFold) -> Comparison:
    difference = own.row_scores - best.row_scores  # the same rows in the same order: the folds are the same
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    return Comparison(
        rank=place,
        method=name,
        behind=float(difference.mean()),
        behind_se=error,
        seconds=own.seconds,
        **own.scores(),
    )
