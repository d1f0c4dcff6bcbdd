"""Graphs are run by onnxruntime and compared with the engine, its reference and NumPy."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import pytest
from scipy.special import erfcx

from extranets import engine, onnx_graph
from extranets.engine import reference, reference_pbp
from extranets.networks import Architecture, Ensemble, draw_members
from extranets.onnx_graph import file
from extranets.onnx_graph.delta import gradients
from extranets.onnx_graph.gaussian import mills_ratio, rectified
from extranets.onnx_graph.graph import Graph
from extranets.predictor.intervals.bootstrap_percentile import percentiles
from extranets.uncertainty.conformal import conformal_ranks
from extranets.uncertainty.plus import cv_plus_interval
from tests import graphs

ROWS = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)


def run(make, x=ROWS):
    return graphs.run(make, x)


def ensemble(hidden=(8, 5), keep_prob=0.5, n_members=6, n_outputs=2, n_heads=2):
    """Random networks of different widths, with biases that are not zero."""
    members = draw_members(Architecture(3, hidden, n_outputs, n_heads), keep_prob, 0, np.arange(n_members))
    draws = np.random.default_rng(1).standard_normal(members.offsets[-1])
    return Ensemble(members, draws.astype(np.float32))


# -- the graph itself --------------------------------------------------------------------------------------------------


def test_arithmetic_takes_arrays_and_numbers_on_both_sides():
    row = np.array([1.0, 2.0, 4.0])
    for formula in (
        lambda x: row * x + x * row,
        lambda x: 3 - x - row,
        lambda x: row - x,
        lambda x: 1 / (x + 10) / row,
        lambda x: -x / 2,
        lambda x: x @ np.arange(12.0).reshape(3, 4),
        lambda x: np.float64(2) * x + np.array(5),
    ):
        np.testing.assert_allclose(run(formula), formula(ROWS), rtol=1e-5)


def test_constants_take_the_type_of_the_value():
    assert run(lambda x: x * np.pi).dtype == np.float32
    assert run(lambda x: x.cast(np.float64) * np.pi).dtype == np.float64


def test_equal_constants_and_nodes_are_kept_once():
    graph = Graph()
    x = graph.input("x", np.float64, ("n", 3))
    assert (x * [1.0, 2.0]).name == (x * np.array([1.0, 2.0])).name
    assert (x * [1.0, 2.0]).name != (x * [1.0, 3.0]).name
    assert x.take([0], axis=0).name != x.take([0], axis=1).name
    assert x.cast(np.float32).name != x.cast(np.int64).name
    assert len(graph.constants) == 3 and len(graph.nodes) == 6


def test_nodes_that_no_output_needs_are_left_out():
    graph = Graph()
    x = graph.input("x", np.float64, ("n", 3))
    _ = x * [7.0, 8.0, 9.0]
    graph.output("y", x - [1.0, 2.0, 3.0], ("n", 3))
    nodes, constants = graph.needed()
    assert [node.operator for node in nodes] == ["Sub", "Identity"]
    assert [array.tolist() for array in constants.values()] == [[1.0, 2.0, 3.0]]


# -- networks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(), (8,), (8, 5)])
def test_heads_are_those_of_the_reference(hidden):
    networks = ensemble(hidden)
    assert len(hidden) == 0 or len(np.unique(networks.members.widths[:, 0])) > 1, "members should differ in width"
    expected = [
        reference.forward(
            reference.unflatten(networks[m : m + 1].parameters, networks.members.architecture, widths), ROWS
        )[-1]
        for m, widths in enumerate(networks.members.widths)
    ]
    np.testing.assert_allclose(run(lambda x: onnx_graph.heads(x, networks)), expected, rtol=1e-4, atol=1e-5)


def test_factors_multiply_what_a_layer_reads():
    network = ensemble(keep_prob=1.0, n_members=1)
    layers = reference.unflatten(network.parameters, network.members.architecture, (8, 5))
    rng = np.random.default_rng(2)
    factors = [rng.uniform(size=(4, 1, n)).round() * 2 for n in (3, 8, 5)]
    expected = [reference.forward(layers, ROWS, [part[p] for part in factors])[-1] for p in range(4)]
    found = run(lambda x: onnx_graph.heads(x, network, factors))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_heads", [2, 4])
def test_moments_are_those_of_the_engine(n_heads):
    networks, far = ensemble(n_heads=n_heads), 20 * ROWS  # so far that log-variances meet their limit
    expected = engine.moments(networks)(far)
    architecture = networks.members.architecture

    def moments(x):
        found = onnx_graph.moments(onnx_graph.heads(x, networks), architecture, engine.options.LOG_VARIANCE_LIMIT)
        assert (found[2] is None) == (n_heads == 2)
        return [value for value in found if value is not None]

    for found, value in zip(run(moments, far), expected, strict=False):
        np.testing.assert_allclose(found, value, rtol=1e-4)


@pytest.mark.parametrize("hidden", [(), (8,), (8, 5)])
def test_gradients_are_those_of_the_engine(hidden):
    network = ensemble(hidden, keep_prob=1.0, n_members=1)
    found = run(lambda x: gradients(x, network))
    for head in range(2):
        np.testing.assert_allclose(found[head], engine.jacobian(network, 0, ROWS, head=head), rtol=1e-4, atol=1e-5)


def test_leverage_is_a_squared_length():
    network = ensemble((4,), keep_prob=1.0, n_members=1)
    n = len(network.parameters)
    roots = np.random.default_rng(3).standard_normal((2, n, n))
    expected = [np.sum((engine.jacobian(network, 0, ROWS, head=o) @ roots[o]) ** 2, axis=1) for o in range(2)]
    found = run(lambda x: onnx_graph.leverage(x, network, roots))
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-5)


# -- Gaussian weights --------------------------------------------------------------------------------------------------


def test_mills_ratio_near_and_far():
    x = np.concatenate([np.linspace(0, 40, 2001), 10.0 ** np.arange(2, 16)])[:, None]
    expected = np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))
    np.testing.assert_allclose(run(mills_ratio, x), expected, rtol=1e-12)


def test_rectified_moments_keep_their_digits_in_the_tails():
    alpha = np.array([-300.0, -38, -9, -3, -1e-9, 0, 0.1, 3, 9, 300])[:, None]
    expected = reference_pbp.rectified(2 * alpha, np.full_like(alpha, 4.0))
    mean, variance = run(lambda a: rectified(2 * a, 0 * a + 4), alpha)
    smallest = np.finfo(np.float64).tiny  # below it, floats lose digits, and runtimes differ
    np.testing.assert_allclose(mean, expected.mean, rtol=1e-9, atol=smallest)
    np.testing.assert_allclose(variance, expected.variance, rtol=1e-9, atol=smallest)


@pytest.mark.parametrize("hidden", [(), (6,), (6, 4)])
def test_gaussian_moments_are_those_of_the_reference(hidden):
    architecture = Architecture(3, hidden, 1, 1)
    rng = np.random.default_rng(4)
    n = architecture.n_parameters(hidden)
    mean, variance = rng.standard_normal((2, n)), 10.0 ** rng.uniform(-6, 0, (2, n))
    found = run(lambda x: onnx_graph.gaussian_moments(x, architecture, mean, variance))
    for network in range(2):
        posterior = reference_pbp.make_posterior(architecture, mean[network], variance[network])
        for moment, expected in zip(found, reference_pbp.moments(posterior, ROWS), strict=True):
            np.testing.assert_allclose(moment[:, network], expected, rtol=1e-10)


# -- bounds that are order statistics ----------------------------------------------------------------------------------


def test_plus_bounds_are_those_of_cv_plus():
    rng = np.random.default_rng(5)
    means, residuals, folds = rng.standard_normal((4, 7, 2)), np.abs(rng.standard_normal((30, 2))), np.arange(30) % 4
    levels = np.array([0.9, 0.5, 0.05, 0.999])  # the last: more than 30 rows can promise
    found = run(
        lambda m: [
            bound
            for pair in onnx_graph.plus_bounds(
                m.transpose(2, 1, 0).take(folds, axis=2), residuals.T, conformal_ranks(30, levels)
            )
            for bound in pair
        ],
        means,
    )
    for output in range(2):
        expected = cv_plus_interval(means[:, :, output], folds, residuals[:, output], levels)
        bounds = np.stack([bound[:, output] for bound in found]).reshape(4, 2, 7)
        np.testing.assert_allclose(bounds, expected.transpose(2, 1, 0))


@pytest.mark.parametrize("n_members", [1, 2, 11])
def test_percentile_bounds_are_numpys(n_members):
    members = np.random.default_rng(6).standard_normal((n_members, 7, 2))
    levels = np.array([0.8, 0.5, 0.999])
    found = run(
        lambda m: [bound for pair in onnx_graph.percentile_bounds(m, n_members, levels) for bound in pair], members
    )
    below, above = (percentiles(members, (1 + side * levels) / 2).transpose(2, 0, 1) for side in (-1, 1))
    np.testing.assert_allclose(np.reshape(found, (3, 2, 7, 2)), np.stack([below, above], axis=1))


# -- the file ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def graph():
    graph = Graph()
    graph.output("y", graph.input("x", np.float64, ("n", 3)) * [1.0, 2.0, 3.0], ("n", 3))
    return graph


def test_a_file_says_what_it_is(graph, tmp_path):
    onnx_graph.write(tmp_path / "m.onnx", graph, {"key": "value"}, "1.2.3")
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == 18 and len(model.opset_import) == 1 and model.ir_version == 8
    assert (model.producer_name, model.producer_version) == ("extranets", "1.2.3")
    assert {prop.key: prop.value for prop in model.metadata_props} == {"key": "value"}
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(graph, tmp_path, monkeypatch):
    target = tmp_path / "m.onnx"
    target.write_bytes(b"old")
    monkeypatch.setattr(file, "MOST_BYTES", 10)
    with pytest.raises(ValueError, match="use fewer or smaller networks"):
        onnx_graph.write(target, graph, {}, "0")
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError, match="no folder"):
        onnx_graph.write(tmp_path / "missing" / "m.onnx", graph, {}, "0")
    assert target.read_bytes() == b"old" and list(tmp_path.iterdir()) == [target]


def test_without_onnx_it_says_what_to_install(graph, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)  # what Python does for a package that is not there
    with pytest.raises(ImportError, match=r'pip install "\.\[onnx\]"'):
        onnx_graph.write(tmp_path / "m.onnx", graph, {}, "0")
    assert list(tmp_path.iterdir()) == []
