"""What holds for every source of predictions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import extranets
from extranets import model_file
from extranets.model_file import checked
from extranets.predictor import Choice, sources
from extranets.predictor.intervals import Total
from extranets.predictor.part import Source
from tests.graphs import run
from tests.predictor import models

KINDS = [kind for kind in (getattr(sources, name) for name in sources.__all__) if issubclass(kind, Source)]
EVERY = pytest.mark.parametrize("kind", KINDS)
WHERE = {
    sources.TrainedNetworks: "constant noise",
    sources.DropoutPasses: "dropout",
    sources.GaussianWeights: "probabilistic back-propagation",
    sources.Linearised: "delta method",
    sources.Resampled: "bootstrap",
    sources.WeightSamples: "variational inference",
    sources.FoldNetworks: "stacked networks",
}
PASSES = (sources.DropoutPasses, sources.WeightSamples)  # which average passes
DRAWN = (sources.GaussianWeights,)  # whose members are drawn beside the prediction


@pytest.fixture
def source(kind):
    """Of two outputs."""
    if kind is sources.Stack:
        both = [models.predictor(name).source for name in ("constant noise", "bootstrap")]
        return sources.Stack(both, np.array([0.25, 0.75]))
    found = models.predictor(WHERE[kind]).source
    if kind is sources.FoldNetworks:
        found = found.sources[-1]
    assert type(found) is kind
    return found


@pytest.fixture
def X(source):
    return models.inputs(models.predictor("constant noise"))


def moments_of(source, X):
    return source.moments(models.MACHINE)(X)


@EVERY
def test_sizes(source, X):
    moments = source.moments(models.MACHINE)
    mean, spread, predicted = moments(X)
    assert (source.n_features, source.n_outputs, source.n_members) == (3, 2, moments.n_members)
    assert mean.shape == spread.shape == (40, 2) and (spread >= 0).all()
    assert (predicted is not None) == source.learns_noise


def test_networks_that_predict_their_noise():
    source = models.predictor("heads for the noise").source
    X = models.inputs(models.predictor("heads for the noise"))
    predicted = moments_of(source, X)[2]
    assert source.learns_noise and predicted.shape == (40, 2) and (predicted > 0).all()


@EVERY
def test_the_mean_alone_is_the_same(source, X):
    found = source.mean_moments(models.MACHINE)(X)[0]
    np.testing.assert_allclose(found, moments_of(source, X)[0], rtol=1e-6, atol=1e-6)


@EVERY
def test_members_have_the_mean_and_the_spread(source, X, kind):
    members = source.members(X, models.MACHINE)
    assert members.shape[1:] == (40, 2)
    if kind in DRAWN or kind is sources.Stack:  # whose members have weights
        return
    mean, spread, _ = moments_of(source, X)
    assert len(members) == source.n_members
    np.testing.assert_allclose(members.mean(axis=0), mean, rtol=1e-4, atol=1e-5)
    if kind is not sources.Linearised:  # whose one network has a leverage instead
        np.testing.assert_allclose(members.var(axis=0), spread, rtol=1e-3, atol=1e-6)


@EVERY
def test_a_graph_computes_the_same(source, X):
    def as_graph(x):
        return [value for value in source.graph(x) if value is not None]

    expected = [values for values in moments_of(source, X) if values is not None]
    for found, values in zip(run(as_graph, X), expected, strict=True):
        np.testing.assert_allclose(found, values, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["bootstrap", "stacked networks"])
def test_a_graph_has_the_members_that_bounds_of_its_own_need(name):
    model = models.predictor(name)
    X = models.inputs(model)
    found = run(model.source.graph_members, X)
    np.testing.assert_allclose(found, model.source.members(X, models.MACHINE), rtol=1e-3, atol=1e-5)
    with pytest.raises(TypeError, match="No interval asks GaussianWeights for its members"):
        run(models.predictor("probabilistic back-propagation").source.graph_members, X)


@EVERY
def test_it_comes_back_from_a_file(source, X, kind, tmp_path):
    model_file.save(source, tmp_path / "part.xnet")
    again = extranets.load(tmp_path / "part.xnet")
    assert type(again) is kind
    for found, expected in zip(moments_of(again, X), moments_of(source, X), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(again.members(X, models.MACHINE), source.members(X, models.MACHINE))


@EVERY
def test_the_number_of_passes_is_that_of_now(source, X, kind):
    """Only where a prediction averages passes does its standard deviation depend on them."""
    changed = source.choosing(Choice(n_passes=3), Total())
    if kind in (*PASSES, *DRAWN):
        assert len(changed.members(X, models.MACHINE)) == 3
    assert changed.n_members == (3 if kind in PASSES else source.n_members)
    assert changed.construction() == ({"n_passes": 3} if kind in PASSES else {})
    assert source.choosing(Choice(), Total()) == source


@pytest.mark.parametrize("kind", [*PASSES, *DRAWN])
def test_a_stored_one_without_passes_is_refused(source):
    with pytest.raises(ValueError, match="n_passes is not between 1"):
        checked(dataclasses.replace(source, n_passes=0))


@pytest.mark.parametrize("kind", [*DRAWN, sources.WeightSamples])
def test_a_stored_one_with_a_seed_that_cannot_be_is_refused(source):
    with pytest.raises(ValueError, match="seed"):
        checked(dataclasses.replace(source, seed=-1))


@pytest.mark.parametrize(
    ("kind", "part", "message"),
    [
        (sources.Resampled, {"centre": "median"}, "there is no such centre"),
        (sources.Resampled, {"networks": "delta method"}, "not those of a bootstrap"),
        (sources.Linearised, {"networks": "bootstrap"}, "not one network"),
        (sources.Linearised, {"curvatures": []}, "not one curvature for each output"),
        (sources.DropoutPasses, {"networks": "bootstrap"}, "not one network"),
        (sources.TrainedNetworks, {"n_drawn": 3}, "more members than were drawn"),
        (sources.TrainedNetworks, {"restarts": np.zeros(3, np.int32)}, "restarts do not fit"),
        (sources.FoldNetworks, {"ensemble": "heads for the noise"}, "not networks of means"),
    ],
)
def test_a_stored_one_whose_parts_do_not_go_together_is_refused(source, part, message):
    given = {
        key: getattr(models.predictor(each).source, key) if isinstance(each, str) and each in models.MODELS else each
        for key, each in part.items()
    }
    with pytest.raises(ValueError, match=message):
        checked(dataclasses.replace(source, **given))


@EVERY
def test_other_features_than_the_tables_are_refused(source, kind):
    """By the predictor that holds it."""
    model = models.predictor(WHERE.get(kind, "constant noise"))
    units = dataclasses.replace(model.units, x=dataclasses.replace(model.units.x, centre=np.zeros(4), scale=np.ones(4)))
    with pytest.raises(ValueError, match="do not fit the features"):
        checked(dataclasses.replace(model, units=units, source=source))
