"""Every kind of fitted model, small enough for a file of a few kilobytes."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.base import clone

from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    MeanVarianceRegressor,
    PBPRegressor,
    StackedNetsRegressor,
    VariationalRegressor,
)
from extranets.tables import TableRegressor

SMALL = {"hidden_layer_sizes": (3,), "max_iter": 4, "random_state": 0, "n_jobs": 1}
DEEP = {**SMALL, "hidden_layer_sizes": (3, 2)}

ESTIMATORS = {
    "extra_nets": ExtraNetsRegressor(2, **DEEP, keep_prob=0.8, loss="gaussian_nll"),
    "extra_nets_encoded": ExtraNetsRegressor(2, **SMALL, numeric_encoding="piecewise_linear", n_bins=3),
    "extra_nets_periodic": ExtraNetsRegressor(2, **SMALL, numeric_encoding="periodic", n_bins=2),
    "extra_nets_noise": ExtraNetsRegressor(2, **SMALL, noise_model="networks"),
    "extra_nets_student": ExtraNetsRegressor(2, **SMALL, effort="low", noise_model="constant"),
    "extra_nets_empirical": ExtraNetsRegressor(
        2, **SMALL, effort="low", noise_model="constant", distribution="empirical"
    ),
    "extra_nets_normal": ExtraNetsRegressor(2, **SMALL, effort="low", distribution="normal", interval="paper"),
    "table": TableRegressor(ExtraNetsRegressor(2, **SMALL)),
    "extra_nets_cv_plus": ExtraNetsRegressor(2, **SMALL, interval="cv+", n_folds=2),
    "bootstrap": BootstrapNetsRegressor(2, **SMALL),
    "bootstrap_jackknife": BootstrapNetsRegressor(2, **SMALL, interval="jackknife+"),
    "mc_dropout": MCDropoutRegressor(**DEEP, n_passes=5),
    "mc_dropout_strata": MCDropoutRegressor(**SMALL, n_passes=5),
    "mc_dropout_calibrated": MCDropoutRegressor(**SMALL, n_passes=5, loss="gaussian_nll", interval="calibrated"),
    "deep_ensemble": DeepEnsembleRegressor(2, **SMALL),
    "mean_variance": MeanVarianceRegressor(**{**SMALL, "hidden_layer_sizes": ()}),
    "delta": DeltaMethodRegressor(**{**SMALL, "hidden_layer_sizes": (2,)}),
    "delta_two": DeltaMethodRegressor(**{**SMALL, "hidden_layer_sizes": (2,)}),
    "bootstrap_two": BootstrapNetsRegressor(2, **SMALL, interval="percentile", numeric_encoding="periodic", n_bins=2),
    "variational": VariationalRegressor(**SMALL, n_passes=5),
    "pbp": PBPRegressor(**SMALL, n_passes=5),
    "stacked": StackedNetsRegressor(effort="low", n_folds=2, keep_prob=0.05, random_state=1, n_jobs=1),
}
CONFORMAL = {"mc_dropout", "delta", "bootstrap_two"}
TWO_OUTPUTS = {
    "deep_ensemble",
    "pbp",
    "extra_nets_cv_plus",
    "extra_nets_student",
    "extra_nets_empirical",
    "delta_two",
    "bootstrap_two",
}
NAMED = {"extra_nets", "pbp", "table"}
ON_GPU = {
    "extra_nets",
    "extra_nets_student",
    "bootstrap",
    "mc_dropout",
    "deep_ensemble",
    "mean_variance",
    "delta",
    "stacked",
}
MANY_ROWS = {
    "extra_nets_noise",
    "extra_nets_student",
    "extra_nets_empirical",
}  # models of the noise and of tails need many


def table(name, n_rows):
    """X with 2 columns, in a frame where the model wants names, and y."""
    X = np.random.default_rng(0).normal(size=(n_rows, 2)).round(3)
    y = (X[:, 0] - X[:, 1] ** 2).round(3)
    if name in TWO_OUTPUTS:
        y = np.column_stack([y, 10 * X[:, 1]])
    return (pd.DataFrame(X, columns=["width", "height"]) if name in NAMED else X), y


def fitted(name, **changes):
    X, y = table(name, 100 if name in MANY_ROWS else 24)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows and networks cause many warnings
        model = clone(ESTIMATORS[name]).set_params(**changes).fit(X, y)
        if name == "extra_nets_noise":
            _keep_few_noise_networks(model)
        if name == "mc_dropout_strata":
            return model.conformalize(X + 0.5, y, **beside(X))
        return model.conformalize(X + 0.5, y) if name in CONFORMAL else model  # rows that the fit has not seen


def beside(X):
    """Groups and weights of rows."""
    return {"groups": X[:, 0] > 0, "weights": 1 + X[:, 1] ** 2}


def _keep_few_noise_networks(model):
    """Two of the twenty, whose number and size no parameter sets."""
    noise = model.model_.noise
    few = replace(noise.model, ensemble=noise.model.ensemble[:2])
    model.model_ = replace(model.model_, noise=replace(noise, model=few))


def stratified(model):
    conformal = model.regressor_.model_.conformal if hasattr(model, "regressor_") else model.model_.conformal
    return conformal is not None and conformal.strata.names is not None


def predictions(model, X):
    """The predictions that a stored sample is compared with, as lists for JSON. X is an array."""
    names = getattr(model, "feature_names_in_", None)
    X = X if names is None else pd.DataFrame(X, columns=names)
    mean, std = model.predict(X, return_std=True)
    answers = {
        "mean": mean,
        "std": std,
        "interval": model.predict_interval(X, 0.5, **(beside(X) if stratified(model) else {})),
        "members": model.predict_members(X),
    }
    return {key: values.tolist() for key, values in answers.items()}
