"""Load a file that may be damaged and use what comes out, within measured memory."""

from __future__ import annotations

import traceback
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn

import extranets
from extranets import ModelFileError
from extranets.estimators.base import NetsRegressor
from extranets.model_file import read_info
from extranets.tables import TableRegressor

X = np.random.default_rng(0).normal(size=(3, 2))


def use(model):
    """Predict in every way. Returns the refusals: the model may say that a parameter makes no sense for it."""
    network = getattr(model, "regressor_", model)  # a TableRegressor contains one
    if isinstance(network, TableRegressor) or not network.__sklearn_is_fitted__():
        return []
    network.set_params(n_jobs=1)  # the user chooses it, as well as the number of passes: both may cost a lot
    if hasattr(network, "n_passes"):
        network.set_params(n_passes=min(network.n_passes, 20))
    names = getattr(model, "feature_names_in_", None)
    rows = X if names is None else pd.DataFrame(X, columns=names)
    refusals = []
    for predict in (
        model.predict,
        model.predict_interval,
        model.predict_quantiles,
        model.predict_members,
        model.predict_var,
    ):
        try:
            answer = np.asarray(predict(rows))
            assert len(answer) > 0 and not np.isnan(answer).any()
            may_be_infinite = predict.__name__ in (
                "predict_interval",
                "predict_quantiles",
            )  # as conformal bounds may be
            assert may_be_infinite or np.isfinite(answer).all()
        except ValueError as error:
            if not says_what_is_wrong(error):
                raise
            refusals.append(str(error))
    return refusals


def says_what_is_wrong(error):
    """Raised by the package or by scikit-learn's check of parameters, and not by chance inside NumPy."""
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    return any(raised_in.is_relative_to(Path(package.__file__).parent) for package in (extranets, sklearn))


def load_measured(path):
    """The model in the file, None if the file is refused; and the peak memory of loading it in bytes."""
    tracemalloc.start()
    try:
        read_info(path)
        model = extranets.load(path)
    except ModelFileError:
        model = None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return model, peak


def most_memory(data):
    """What loading a file of these bytes may take."""
    return 50_000 + 20 * len(data)


def usable(model):
    return isinstance(model, NetsRegressor | TableRegressor)
