"""What the study of Table 3 measures of a fitted model, and its means over splits."""

from __future__ import annotations

from typing import Any

import numpy as np

from extranets._arrays import Array
from extranets.metrics import coverage, crps_ensemble, interval_score, mean_width, rmse
from extranets.studies._summaries import mean_and_error
from extranets.uncertainty import predictive

Record = dict[str, Any]

LEVEL = 0.9  # of the intervals
MEASURES = ("rmse", "coverage", "width", "interval_score", "log_likelihood", "crps")
TRAINING_MEASURES = ("train_rmse", "noise_ratio", "coverage_plain")  # of the paper's columns only


def network_scores(model: Any, X: Array, y: Array) -> Record:
    predicted = model.predictive(X)
    lower, upper = model.predict_interval(X, LEVEL).T
    return {
        "rmse": rmse(y, predicted.components().mean),
        **interval_scores(y, lower, upper),
        "log_likelihood": predicted.log_likelihood(y),
        "crps": predicted.crps(y),
    }


def training_scores(model: Any, X: Array, y: Array, X_test: Array, y_test: Array) -> Record:
    """What the training error is, and what the intervals cover if it is their noise as it stands."""
    plain = float(np.mean((y - model.predict(X)) ** 2))
    noise = float(np.asarray(model.noise_variance_).item())
    mean, std = model.predict(X_test, return_std=True)
    lower, upper = predictive.interval(mean, np.sqrt(std**2 - noise + plain), [LEVEL])[..., 0].T
    return {
        "train_rmse": plain**0.5,
        "noise_ratio": noise / plain,
        "coverage_plain": coverage(y_test, lower, upper),
    }


def tree_scores(model: Any, X: Array, y: Array) -> Record:
    trees = np.stack([tree.predict(X) for tree in model.estimators_])
    lower, upper = np.quantile(trees, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return {
        "rmse": rmse(y, trees.mean(axis=0)),
        **interval_scores(y, lower, upper),
        "log_likelihood": None,
        "crps": crps_ensemble(y, trees),
    }


def interval_scores(y: Array, lower: Array, upper: Array) -> Record:
    return {
        "coverage": coverage(y, lower, upper),
        "width": mean_width(y, lower, upper),
        "interval_score": interval_score(y, lower, upper, LEVEL),
    }


def summary(records: list[Record]) -> Record:
    """Mean and standard error of every measure that there is.

    Examples
    --------
    >>> records = [{"rmse": 1.0}, {"rmse": 3.0}]
    >>> row = summary([dict.fromkeys(MEASURES) | record for record in records])
    >>> row["rmse"], row["rmse_se"], row["crps"]
    (2.0, 1.0, None)
    """
    row: Record = {}
    for measure in (*MEASURES, *TRAINING_MEASURES):
        row |= mean_and_error(measure, [record[measure] for record in records if record.get(measure) is not None])
    return row
