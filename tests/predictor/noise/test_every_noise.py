"""What holds for every model of the noise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import extranets
from extranets import model_file
from extranets.held_out import Sample
from extranets.model_file import checked
from extranets.predictor import noise
from tests.graphs import run
from tests.predictor import models

WHERE = {
    noise.ConstantNoise: "constant noise",
    noise.NetworkNoise: "networks of the noise",
    noise.HeadNoise: "heads for the noise",
    noise.CentredNoise: "bootstrap",
    noise.LeverageNoise: "delta method",
}
EVERY = pytest.mark.parametrize("kind", [getattr(noise, name) for name in noise.__all__])


def evaluated(model, part=None):
    X = models.inputs(model)
    predicted = model.source.moments(models.MACHINE)(X)[2]
    return (model.noise if part is None else part).evaluate(X, predicted, models.MACHINE)


@pytest.fixture
def model(kind):
    found = models.predictor(WHERE[kind])
    assert type(found.noise) is kind
    return found


@EVERY
def test_it_is_a_variance_for_every_output(model):
    values = evaluated(model)
    assert values.shape == ((40, 2) if model.noise.differs else (1, 2))
    assert np.isfinite(values).all() and (values > 0).all()
    assert (np.ptp(values, axis=0) > 0).all() == model.noise.differs


@EVERY
def test_a_graph_computes_the_same(model):
    X, part = models.inputs(model), model.noise.widened(np.array([2.0, 3.0]))

    def as_graph(x):
        zero = x.mean(1).unsqueeze(1).cast(np.float64) * 0  # for every row, also where the noise is constant
        return zero + part.graph(x, model.source.graph(x)[2])

    np.testing.assert_allclose(run(as_graph, X), np.broadcast_to(evaluated(model, part), (40, 2)), rtol=1e-4)


@EVERY
def test_it_becomes_wider_by_a_factor_for_each_output(model):
    factor = np.array([2.0, 1.0])
    np.testing.assert_allclose(evaluated(model, model.noise.widened(factor)), factor * evaluated(model), rtol=1e-12)


@EVERY
def test_it_comes_back_from_a_file(model, tmp_path):
    model_file.save(model.noise, tmp_path / "part.xnet")
    again = extranets.load(tmp_path / "part.xnet")
    assert type(again) is type(model.noise)
    np.testing.assert_array_equal(evaluated(model, again), evaluated(model))


@EVERY
def test_it_can_be_learned_from_other_rows(model):
    X, y = models.table(150, seed=2)
    sample = Sample(model.units.x.apply(X), model.units.y.apply(y), np.ones(150))
    found, held = model.noise.relearned(model.source, sample, models.MACHINE)
    assert type(found) is type(model.noise)
    assert held.residual.shape == held.spread.shape == held.noise.shape == (150, 2)
    prediction = model.source.moments(models.MACHINE)(sample.X)[0]
    np.testing.assert_allclose(held.residual, prediction - sample.y, atol=1e-6)
    values = evaluated(model, found)
    assert np.isfinite(values).all() and (values > 0).all()
    if not model.noise.differs:
        assert (values != evaluated(model)).all()


def spoiled(part, value):
    """With a variance that cannot be."""
    if isinstance(part, noise.CentredNoise):
        return dataclasses.replace(part, variances=part.variances | {part.centre: np.full(2, value)})
    return dataclasses.replace(part, factor=np.full(2, value))


@EVERY
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_a_stored_one_that_is_no_variance_is_refused(model, value):
    part = spoiled(model.noise, value)
    with pytest.raises(ValueError, match="negative or not finite"):
        part.check_fits(model.source)
    with pytest.raises(ValueError, match="negative or not finite"):
        checked(dataclasses.replace(model, noise=part))


@EVERY
def test_networks_of_other_outputs_are_refused(model, kind):
    model.noise.check_fits(model.source)
    with pytest.raises(ValueError, match=r"instead of|do not fit"):
        model.noise.check_fits(models.predictor(WHERE[kind], 1).source)


@EVERY
def test_networks_that_predict_noise_need_noise_of_that_kind(model, kind):
    """And others must not have it."""
    other = "constant noise" if kind is noise.HeadNoise else "heads for the noise"
    with pytest.raises(ValueError, match="the networks"):
        model.noise.check_fits(models.predictor(other).source)


# -- the bootstrap's noise ---------------------------------------------------------------------------------------------


def test_noise_of_the_bootstrap_is_that_of_the_centre_in_use():
    model = models.predictor("bootstrap")
    for centre, variance in model.noise.variances.items():
        part = dataclasses.replace(model.noise, centre=centre)
        np.testing.assert_array_equal(evaluated(model, part), variance[None, :])
    mean, full = (model.noise.variances[name] for name in ("mean", "full"))
    assert (full > mean).all()  # one network errs by all of the spread
    with pytest.raises(ValueError, match="other centres"):
        dataclasses.replace(model.noise, centre="median").check_fits(model.source)
