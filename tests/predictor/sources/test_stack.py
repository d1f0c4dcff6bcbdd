"""Several sources with weights: a mixture's moments, its graph, its file, and a predictor that stands on it."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnxruntime
import pytest

import extranets
from extranets import engine, model_file
from extranets.held_out import Sample, errors_on_all
from extranets.model_file import checked
from extranets.networks import Architecture, Ensemble, draw_members
from extranets.predictor import Choice, Evidence, Predictor
from extranets.predictor.distributions import Student
from extranets.predictor.export import export
from extranets.predictor.intervals import Calibrated, Paper, Total
from extranets.predictor.noise import ConstantNoise
from extranets.predictor.sources import Recipe, Stack, TrainedNetworks
from extranets.uncertainty.stacking import effective_members
from tests.graphs import run
from tests.predictor import models

X = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)


def networks(ids, hidden=(5,), n_outputs=2, n_heads=None):
    """Random ones, of which each is the same in whatever company."""
    architecture = Architecture(3, hidden, n_outputs, n_heads or n_outputs)
    parts = []
    for member in ids:
        drawn = draw_members(architecture, 1.0, 0, [member])
        values = np.random.default_rng(member).normal(size=drawn.offsets[-1]).astype(np.float32)
        parts.append(Ensemble(drawn, values))
    whole = sum(parts[1:], parts[0])
    recipe = Recipe(architecture, engine.Options(), 0, (), b"")
    return TrainedNetworks(
        recipe, max(ids) + 1, whole, np.zeros(len(parts), np.int32), np.zeros((len(parts), 1), np.float32)
    )


def moments(source):
    return source.moments(models.MACHINE)(X)


def assert_close(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


# -- moments -----------------------------------------------------------------------------------------------------------


def test_moments_are_those_of_a_network_drawn_by_weight():
    """Directly, from all networks' predictions: each has its source's weight, shared by the networks in it."""
    sources, weights = [networks(range(3)), networks(range(3, 5), hidden=(7, 4)), networks([9])], [0.2, 0.5, 0.3]
    shares = np.repeat(np.array(weights) / [3, 2, 1], [3, 2, 1])[:, None, None]
    stack = Stack(sources, np.array(weights))
    members = stack.members(X, models.MACHINE).astype(np.float64)
    assert members.shape == (6, 30, 2)
    mean = (shares * members).sum(axis=0)
    assert_close(moments(stack), (mean, (shares * (members - mean) ** 2).sum(axis=0), None))


def test_an_ensemble_in_parts_is_the_whole():
    """Parts with weights by their numbers of networks."""
    stack = Stack([networks(range(2)), networks(range(2, 6))], np.array([1 / 3, 2 / 3]))
    assert_close(moments(stack), moments(networks(range(6))))
    np.testing.assert_array_equal(stack.members(X, models.MACHINE), networks(range(6)).members(X, models.MACHINE))
    assert stack.n_members == stack.moments(models.MACHINE).n_members == 6


def test_noise_that_networks_predict_is_averaged_by_weight():
    sources = [networks(range(2), n_heads=4), networks([5], n_heads=4)]
    noises = [moments(source)[2] for source in sources]
    stack = Stack(sources, np.array([0.9, 0.1]))
    assert stack.learns_noise
    np.testing.assert_allclose(moments(stack)[2], 0.9 * noises[0] + 0.1 * noises[1], rtol=1e-6)


def test_a_single_source_stays_as_it_is():
    alone = networks(range(3), n_heads=4)
    for found, expected in zip(moments(Stack([alone], np.ones(1))), moments(alone), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_source_without_weight_has_no_say():
    stack = Stack([networks(range(3)), networks(range(3, 5))], np.array([1.0, 0.0]))
    assert_close(moments(stack), moments(networks(range(3))))


def test_the_mean_alone_asks_each_source_for_its_own():
    delta = models.predictor("delta method").source  # whose mean needs no curvature
    stack = Stack([delta, models.predictor("constant noise").source], np.array([0.5, 0.5]))
    np.testing.assert_allclose(stack.mean_moments(models.MACHINE)(X)[0], moments(stack)[0], rtol=1e-5, atol=1e-6)


def test_parameters_that_may_change_after_fit_reach_every_source():
    dropout = models.predictor("dropout").source
    stack = Stack([dropout, models.predictor("constant noise").source], np.array([0.5, 0.5]))
    assert stack.construction() == {"n_passes": 7} and stack.n_members == effective_members([0.5, 0.5], [7, 4])
    fewer = stack.choosing(Choice(n_passes=2), Total())
    assert fewer.construction() == {"n_passes": 2} and fewer.n_members == effective_members([0.5, 0.5], [2, 4])
    assert len(fewer.members(X, models.MACHINE)) == 6


# -- graphs and files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_heads", [2, 4], ids=["means", "means and variances"])
def test_a_graph_computes_the_same(n_heads):
    stack = Stack([networks(range(3), n_heads=n_heads), networks([7], n_heads=n_heads)], np.array([0.3, 0.7]))
    found = run(lambda x: [value for value in stack.graph(x) if value is not None], X)
    assert_close(found, [values for values in moments(stack) if values is not None])


def test_a_graph_has_the_members_of_all_sources():
    bootstrap = models.predictor("bootstrap").source
    stack = Stack([bootstrap, bootstrap], np.array([0.5, 0.5]))
    np.testing.assert_allclose(run(stack.graph_members, X), stack.members(X, models.MACHINE), rtol=1e-4, atol=1e-5)


def test_a_stack_may_hold_a_stack(tmp_path):
    inner = Stack([networks([1]), networks([2])], np.array([0.5, 0.5]))
    stack = Stack([inner, networks([3])], np.array([0.4, 0.6]))
    flat = Stack([networks([1]), networks([2]), networks([3])], np.array([0.2, 0.2, 0.6]))
    assert_close(moments(stack), moments(flat))
    model_file.save(stack, tmp_path / "stack.xnet")
    for found, expected in zip(moments(extranets.load(tmp_path / "stack.xnet")), moments(stack), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Stack([networks([1]), networks([2])], np.array([0.5, 0.6])), "weights do not make one"),
        (lambda: Stack([networks([1]), networks([2])], np.array([1.5, -0.5])), "weights do not make one"),
        (lambda: Stack([networks([1]), networks([2])], np.array([np.nan, 1.0])), "weights do not make one"),
        (lambda: Stack([networks([1]), networks([2])], np.ones(1)), "not one weight for each source"),
        (lambda: Stack([networks([1])], np.ones((1, 1))), "not one weight for each source"),
        (lambda: Stack([], np.ones(0)), "not one weight for each source"),
        (lambda: Stack([networks([1]), networks([2], n_outputs=1)], np.array([0.5, 0.5])), "do not go together"),
        (lambda: Stack([networks([1]), networks([2], n_heads=4)], np.array([0.5, 0.5])), "do not go together"),
        (lambda: Stack(["networks"], np.ones(1)), "sources"),
    ],
)  # fmt: skip
def test_a_stored_stack_that_cannot_be_is_refused(make, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        checked(make())
    with pytest.raises(ValueError, match=message):
        model_file.save(make(), tmp_path / "stack.xnet")
    assert not list(tmp_path.iterdir())


# -- a predictor over several ensembles --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def predictor():
    """Two fitted ensembles, and noise, factors and tails that other rows decide on."""
    first, second = (models.predictor(name) for name in ("constant noise", "networks of the noise"))
    stack = Stack([first.source, second.source], np.array([0.3, 0.7]))
    rows, y = models.table(150, seed=3)
    sample = Sample(first.units.x.apply(rows), first.units.y.apply(y), np.ones(150))
    held = errors_on_all(stack.moments(models.MACHINE), sample)
    noise = ConstantNoise.learn(held, stack.n_members)
    evidence = Evidence(held, stack.n_members)
    return Predictor.from_rows(
        first.units, stack, noise, evidence, (Calibrated, Paper, Total), "calibrated", Student.learn
    ).expecting(evidence, sample.y)


def new_rows():
    return models.table(50, seed=4)[0]


def test_a_predictor_answers_for_all_ensembles(predictor):
    first, second = (models.predictor(name) for name in ("constant noise", "networks of the noise"))
    parts, bounds = predictor.bounds(new_rows(), np.array([0.5, 0.9]), models.MACHINE)
    expected = 0.3 * first.mean(new_rows(), models.MACHINE) + 0.7 * second.mean(new_rows(), models.MACHINE)
    np.testing.assert_allclose(parts.mean, expected, rtol=1e-6)
    np.testing.assert_allclose(predictor.mean(new_rows(), models.MACHINE), parts.mean)
    assert bounds.shape == (50, 2, 2, 2) and (bounds[:, :, 0] < bounds[:, :, 1]).all()
    assert predictor.members(new_rows(), models.MACHINE).shape == (8, 50, 2)
    assert predictor.expected["rmse"].shape == (2,)


def test_its_intervals_cover_new_rows(predictor):
    """At 90 %, 3,000 rows of two outputs; noise and factors come from 150, whose share has a standard error of 0.024."""
    rows, y = models.table(3000, seed=5)
    bounds = predictor.bounds(rows, np.array([0.9]), models.MACHINE)[1][..., 0]
    covered = ((bounds[..., 0] <= y) & (y <= bounds[..., 1])).mean(axis=0)
    np.testing.assert_allclose(covered, 0.9, atol=3 * 0.024)


@pytest.mark.parametrize("interval", ["calibrated", "paper", "total"])
def test_its_file_and_its_graph_answer_the_same(predictor, interval, tmp_path):
    model, levels = predictor.choosing(Choice(interval=interval)), np.array([0.5, 0.9])
    model_file.save(model, tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    parts, bounds = model.bounds(new_rows(), levels, models.MACHINE)
    loaded_parts, loaded_bounds = again.bounds(new_rows(), levels, models.MACHINE)
    for found, expected in zip((*loaded_parts, loaded_bounds), (*parts, bounds), strict=True):
        np.testing.assert_array_equal(found, expected)
    export(model, tmp_path / "model.onnx", levels, single=False, about={"estimator": "none"})
    names = ["mean", "sd", "lower_50", "upper_50", "lower_90", "upper_90"]
    found = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(names, {"X": new_rows()})
    ours = [parts.mean, parts.std, *(bounds[:, :, side, level] for level in (0, 1) for side in (0, 1))]
    for theirs, values in zip(found, ours, strict=True):
        np.testing.assert_array_less(np.abs(theirs - values) / models.table()[1].std(axis=0), 1e-5)


def test_a_noise_for_other_networks_is_refused(predictor):
    noise = models.predictor("bootstrap").noise
    with pytest.raises(ValueError, match="do not fit the noise"):
        checked(dataclasses.replace(predictor, noise=noise))
