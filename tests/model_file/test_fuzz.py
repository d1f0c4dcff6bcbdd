"""Thousands of damaged files: `ModelFileError` or a model that works, never a crash, and memory in proportion to the file."""

from __future__ import annotations

import traceback
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn

import extranets
from extranets import ModelFileError
from extranets.estimators.base import NetsRegressor
from extranets.model_file import read_info
from extranets.tables import TableRegressor
from tests.model_file.mutations import blind, repaired
from tests.model_file.write_samples import OLD, TODAY

PATHS = [*sorted(OLD.glob("*.xnet")), *sorted(TODAY.glob("*.xnet"))]
FILES = [path.read_bytes() for path in PATHS]
X = np.random.default_rng(0).normal(size=(3, 2))


def use(model):
    """Predict in every way. The model may refuse a parameter that makes no sense for it, by `ValueError`."""
    network = getattr(model, "regressor_", model)  # a TableRegressor contains one
    if isinstance(network, TableRegressor) or not network.__sklearn_is_fitted__():
        return
    network.set_params(n_jobs=1)  # the user chooses it, as well as the number of passes: both may cost a lot
    if hasattr(network, "n_passes"):
        network.set_params(n_passes=min(network.n_passes, 20))
    names = getattr(model, "feature_names_in_", None)
    rows = X if names is None else pd.DataFrame(X, columns=names)
    for predict in (
        model.predict,
        model.predict_interval,
        model.predict_quantiles,
        model.predict_members,
        model.predict_var,
    ):
        try:
            assert len(predict(rows)) > 0
        except ValueError as error:
            if not says_what_is_wrong(error):
                raise


def says_what_is_wrong(error):
    """Raised by the package or by scikit-learn's check of parameters, and not by chance inside NumPy."""
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    return any(raised_in.is_relative_to(Path(package.__file__).parent) for package in (extranets, sklearn))


def peak_of_loading(path):
    """Load and use the file. Returns the peak memory of loading in bytes, and whether there was a model."""
    tracemalloc.start()
    try:
        read_info(path)
        model = extranets.load(path)
    except ModelFileError:
        model = None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if isinstance(model, NetsRegressor | TableRegressor):
        use(model)
    return peak, model is not None


def fuzz(mutate, n, path, seed):
    """The number of mutated files, of ``n``, that gave a model."""
    rng = np.random.default_rng(seed)
    survivors = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # absurd weights overflow
        for _ in range(n):
            first, second = rng.integers(0, len(FILES), 2)
            data = mutate(FILES[first], FILES[second], rng)
            if data in (FILES[first], FILES[second]):
                continue
            path.write_bytes(data)
            peak, survived = peak_of_loading(path)
            assert peak < 50_000 + 20 * len(data)
            survivors += survived
    return survivors


@pytest.fixture(autouse=True)
def everything_is_imported(tmp_path):
    for path in PATHS:
        use(extranets.load(path))


def test_blind_damage_is_always_found(tmp_path):
    assert fuzz(blind, 300, tmp_path / "model.xnet", seed=0) == 0


def test_repaired_files_are_refused_or_work(tmp_path):
    assert 0 < fuzz(repaired, 300, tmp_path / "model.xnet", seed=1) < 200


@pytest.mark.slow
def test_blind_damage_is_found_ten_thousand_times(tmp_path):
    assert fuzz(blind, 10_000, tmp_path / "model.xnet", seed=2) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_fifteen_thousand_repaired_files_are_refused_or_work(tmp_path, seed):
    assert fuzz(repaired, 5_000, tmp_path / "model.xnet", seed) > 0
