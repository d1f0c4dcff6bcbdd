"""Small fitted models that hold parts of every kind, each fitted once in a process."""

from __future__ import annotations

import functools
import warnings

import numpy as np
from sklearn.base import clone

from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    PBPRegressor,
    StackedNetsRegressor,
    VariationalRegressor,
)

QUICK = {"hidden_layer_sizes": (5,), "max_iter": 8, "random_state": 0, "n_jobs": 1}
MACHINE = {"device": "cpu", "n_threads": 1}

MODELS = {
    "constant noise": ExtraNetsRegressor(4, **QUICK, numeric_encoding=None, noise_model="constant"),
    "networks of the noise": ExtraNetsRegressor(4, **QUICK, numeric_encoding=None, noise_model="networks"),
    "heads for the noise": DeepEnsembleRegressor(3, **QUICK),
    "bootstrap": BootstrapNetsRegressor(6, **QUICK),
    "dropout": MCDropoutRegressor(**QUICK, n_passes=7),
    "delta method": DeltaMethodRegressor(**QUICK),
    "variational inference": VariationalRegressor(**QUICK, n_passes=7),
    "probabilistic back-propagation": PBPRegressor(**QUICK, n_passes=7),
    "stacked networks": StackedNetsRegressor(effort="low", n_folds=3, members_per_fold=2, random_state=0, n_jobs=1),
}
for each in MODELS.values():
    each.set_params(bounds=None, target_transform=None)  # test_limits.py and test_powers.py are about those


def table(n_rows=120, seed=0):
    """Two targets of different scales; the noise of the first grows with the second column."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    noise = random.standard_t(4, size=n_rows) * np.exp(0.5 * X[:, 1])
    return X, np.column_stack([X[:, 0] + 0.3 * noise, 100 - 20 * X[:, 2] + 5 * random.normal(size=n_rows)])


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows and networks are worth many warnings
        return clone(model).fit(X, y)


@functools.cache
def predictor(name, n_outputs=2):
    """What a fit made."""
    X, y = table()
    return fit(MODELS[name], X, y[:, :n_outputs]).model_


def inputs(model, n_rows=40):
    """New rows as networks see them, and those beyond the training rows among them."""
    return model.units.x.apply(2 * table(n_rows, seed=1)[0])
