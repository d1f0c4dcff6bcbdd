"""Predictions that are infinite or NaN are an error that names their rows, whatever was asked."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import extranets
from extranets.predictor.predictor import refuse_non_finite
from tests.model_file.forging import put_together, take_apart
from tests.model_file.write_samples import TODAY

X = np.array([[0.1, 0.2], [1.0, 2.0], [-1.0, 0.5]])
NETWORKS = "model.source.ensemble.parameters"
INSIDE = "model.source.networks.ensemble.parameters"
NOISE = "model.noise.model.ensemble.parameters"
FOLD = "model.intervals.cv+.ensembles.0.parameters"
ALL = ("predict", "predict_members", "predict_components", "predict_interval", "predict_quantiles", "predict_var")
WITH_NOISE = ("predict_components", "predict_interval", "predict_quantiles", "predict_var", "predict_dist", "sample_y")


def with_huge_weights(sample, name, path):
    """A model from a file with a correct digest whose weights are finite, but too large for any sum of them."""
    parts = take_apart((TODAY / f"{sample}.xnet").read_bytes())
    parts.set_array(name, np.where(parts.array(name) < 0, -1e20, 1e20).astype(np.float32))
    path.write_bytes(put_together(parts))
    return extranets.load(path)


@pytest.mark.parametrize(
    ("sample", "name", "methods"),
    [
        ("extra_nets_student", NETWORKS, ALL),
        ("mc_dropout", INSIDE, ALL),
        ("extra_nets_noise", NOISE, WITH_NOISE),
        ("extra_nets_cv_plus", FOLD, ("predict_interval",)),
        ("bootstrap_jackknife", INSIDE, ALL),
    ],
)
def test_weights_that_overflow_are_an_error_on_use(sample, name, methods, tmp_path):
    model = with_huge_weights(sample, name, tmp_path / "huge.xnet")
    for method in methods:
        with pytest.raises(ValueError, match=r"not finite in \d of 3 rows \(rows [0-2, ]+, counted from 0\)"):
            getattr(model, method)(X)


def test_what_the_noise_networks_spoil_leaves_the_mean_alone(tmp_path):
    model = with_huge_weights("extra_nets_noise", NOISE, tmp_path / "huge.xnet")
    np.testing.assert_array_equal(model.predict(X), extranets.load(TODAY / "extra_nets_noise.xnet").predict(X))


def test_the_message_names_the_first_rows_and_counts_all():
    values, others = np.zeros((100, 2)), np.zeros((100, 3, 4))
    refuse_non_finite(values, others)
    values[[3, 50], 1] = np.nan, -np.inf
    with pytest.raises(ValueError, match=r"in 2 of 100 rows \(rows 3, 50, counted"):
        refuse_non_finite(values)
    others[20:30, 2, 1] = np.inf
    with pytest.raises(ValueError, match=r"in 12 of 100 rows \(rows 3, 20, 21, 22, 23, \.\.\., counted"):
        refuse_non_finite(values, others)
    with pytest.raises(ValueError, match=r"rows 103, 150, counted"):
        refuse_non_finite(values, first_row=100)


@pytest.mark.parametrize("sample", ["extra_nets_cv_plus", "extra_nets_student"])
def test_intervals_that_must_be_infinite_stay_allowed(sample):
    """Where rows are too few for a level: as CV+ and conformal prediction promise."""
    model = extranets.load(TODAY / f"{sample}.xnet")
    if model.interval != "cv+":
        model.conformalize(X, np.zeros((3, 2)))
    with pytest.warns(UserWarning, match="too few"):
        bounds = model.predict_interval(X, [0.5, 0.9999])
    assert np.isinf(bounds[..., 1]).all() and np.isfinite(bounds[..., 0]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.predict(X)).all()
