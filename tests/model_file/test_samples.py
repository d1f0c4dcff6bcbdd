"""Files of earlier versions stay loadable: one stored file per estimator and version of the format."""

from __future__ import annotations

import numpy as np
import pytest

import extranets
from extranets.estimators._base import NetsRegressor
from extranets.model_file import container, read_info
from tests.model_file import tiny
from tests.model_file.write_samples import SAMPLES

FILES = sorted(SAMPLES.glob("v*/*.xnet"))
# Other instruction sets round float32 elsewhere, and intervals are some tens of times as wide as a single rounding error.
TOLERANCE = 1e-4


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_stored_samples_predict_what_they_did(path, variant):
    about = read_info(path)["about"]
    answers = tiny.predictions(extranets.load(path), np.array(about["X"]))
    for key, expected in about["expected"].items():
        scale = np.abs(about["expected"]["mean"]).max()
        np.testing.assert_allclose(answers[key], expected, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=key)


def test_every_estimator_has_a_sample_of_the_current_version():
    estimators = {
        cls.__name__ for cls in vars(extranets).values() if isinstance(cls, type) and issubclass(cls, NetsRegressor)
    }
    current = {read_info(path)["class"] for path in FILES if path.parent.name == f"v{container.VERSION}"}
    assert len(estimators) == 8 and estimators <= current


def test_samples_are_small():
    assert max(path.stat().st_size for path in FILES) < 24_000
