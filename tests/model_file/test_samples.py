"""Files of earlier versions stay loadable: one stored file per estimator and version of the format."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import extranets
from extranets import StackedNetsRegressor
from extranets.estimators.base import NetsRegressor
from extranets.model_file import read_info
from tests.model_file import tiny
from tests.model_file.write_samples import OLD, SAMPLES, TODAY

FILES = sorted(SAMPLES.glob("v*/*.xnet"))
# Other instruction sets round float32 in other places; intervals then differ by some tens of single rounding errors.
TOLERANCE = 1e-4


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_stored_samples_predict_what_they_predicted_when_written(path, variant):
    about = read_info(path)["about"]
    answers = tiny.predictions(extranets.load(path), np.array(about["X"]))
    for key, expected in about["expected"].items():
        scale = np.abs(about["expected"]["mean"]).max()
        np.testing.assert_allclose(answers[key], expected, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=key)


def test_every_estimator_has_a_sample_of_the_current_version():
    estimators = {
        cls.__name__ for cls in vars(extranets).values() if isinstance(cls, type) and issubclass(cls, NetsRegressor)
    }
    current = {read_info(path)["class"] for path in FILES if path.parent == TODAY}
    assert len(estimators) == 9 and estimators <= current


NOT_FROM_A_GPU = {StackedNetsRegressor}  # yet: python -m tests.model_file.write_samples cuda


def test_every_estimator_with_a_device_has_a_sample_that_a_gpu_trained():
    """Their expected predictions are those of the GPU."""
    models = [extranets.load(path) for path in FILES if path.stem.endswith("_cuda")]
    assert {type(model) for model in models} == {
        type(estimator) for estimator in tiny.ESTIMATORS.values() if "device" in estimator.get_params()
    } - NOT_FROM_A_GPU
    assert {model.device for model in models} == {"cpu"}


BEFORE_STUDENT = [
    path
    for path in sorted(OLD.glob("*.xnet"))
    if b"_dof" not in path.read_bytes() and path.stem.startswith("extra_nets")
]


@pytest.mark.parametrize("path", BEFORE_STUDENT, ids=lambda path: path.stem)
def test_files_from_before_students_t_are_normal(path):
    """A parameter that did not exist then has the value that means the old behaviour, not today's default."""
    model = extranets.load(path)
    X = np.array(read_info(path)["about"]["X"])
    X = pd.DataFrame(X, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else X
    assert (model.distribution, model.degrees_of_freedom_) == ("normal", None)
    assert model.settings_ is None and model.held_out_scores_ is None
    if model.interval != "cv+":  # whose bounds are quantiles themselves
        assert model.predict_dist(X).dist.name == "norm"
    encoded = model.ensemble_.members.architecture.encoding is not None
    assert (model.numeric_encoding is not None) == encoded
    assert model.noise_model == ("networks" if path.stem == "extra_nets_noise" else "constant")


def test_there_are_files_from_before_students_t_and_after():
    assert len(BEFORE_STUDENT) == 5
    model = extranets.load(OLD / "extra_nets_student.xnet")
    assert model.degrees_of_freedom_.shape == (2,) and (model.degrees_of_freedom_ > 2).all()
    assert model.settings_["batch_size"] == 32 and (model.held_out_scores_["rmse"] > 0).all()
    assert model.predict_dist(np.zeros((1, 2))).dist.name == "t"


def test_samples_are_small():
    assert max(path.stat().st_size for path in FILES) < 24_000
