"""Numeric encodings as a parameter of the estimators whose networks Adam trains."""

from __future__ import annotations

import pickle

import numpy as np
import onnxruntime
import pytest
from scipy import sparse
from sklearn.base import clone

import extranets
from extranets import DeepEnsembleRegressor, DeltaMethodRegressor, ExtraNetsRegressor, MCDropoutRegressor
from extranets.encodings import PiecewiseLinear
from extranets.engine import reference
from extranets.engine.reference_encoding import encoded
from extranets.held_out import Sample
from tests.estimators.conftest import small

KINDS = ["piecewise_linear", "periodic"]
ENCODED = [
    name
    for name in extranets.estimators.__all__
    if "numeric_encoding" in small(name).get_params() and name != "DeltaMethodRegressor"
]

# Few resampled networks leave rows in every bag, and say so.
pytestmark = pytest.mark.filterwarnings("ignore:.*out-of-bag")


def jagged(n, seed=0):
    """A sawtooth of one column, a step of a binary one, and a column that says nothing."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, n), rng.integers(0, 2, n), rng.normal(size=n)])
    return X, 4 * (X[:, 0] % 0.5) + X[:, 1] + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def table():
    return (*jagged(400), *jagged(300, seed=1))


def scaled(model, X):
    return model.model_.units.x.apply(X).astype(np.float64)


@pytest.mark.parametrize("name", ENCODED)
def test_an_encoding_helps_where_the_target_bends_often(name, table):
    X, y, X_test, y_test = table
    plain = small(name).fit(X, y)
    model = small(name).set_params(numeric_encoding="piecewise_linear").fit(X, y)
    assert model.score(X_test, y_test) > plain.score(X_test, y_test) + 0.15
    bounds = model.predict_interval(X_test)
    assert (bounds[:, 0] < bounds[:, 1]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_networks_on_the_wide_table(kind, table):
    X, y, X_test, _ = table
    model = ExtraNetsRegressor(4, (20, 5), max_iter=20, numeric_encoding=kind, n_bins=7, random_state=0).fit(X, y)
    members = model.ensemble_.members
    wide = encoded(members.architecture.encoding, scaled(model, X_test))
    assert wide.shape[1] == members.architecture.n_first > 3
    for i, prediction in enumerate(model.predict_members(X_test)):
        layers = reference.unflatten(model.ensemble_[i : i + 1].parameters, members.architecture, members.widths[i])
        expected = model.model_.units.y.undo(reference.forward(layers, wide)[-1])[:, 0]
        np.testing.assert_allclose(prediction, expected, rtol=1e-4, atol=1e-4)


def edges(model):
    return model.ensemble_.members.architecture.encoding


def test_edges_are_quantiles_of_the_training_rows(table):
    X, y, *_ = table
    model = ExtraNetsRegressor(2, max_iter=2, numeric_encoding="piecewise_linear", random_state=0).fit(X, y)
    assert isinstance(edges(model), PiecewiseLinear) and edges(model).columns.tolist() == [0, 2]
    expected = np.quantile(scaled(model, X)[:, [0, 2]], np.linspace(0, 1, 17), axis=0)
    np.testing.assert_allclose(edges(model).edges_of_columns(), expected.T, rtol=1e-5, atol=1e-6)


def test_encodings_ignore_rows_of_weight_zero(table):
    X, y, *_ = table
    weight = np.r_[np.ones(200), np.zeros(200)]
    model = ExtraNetsRegressor(2, max_iter=2, numeric_encoding="piecewise_linear", random_state=0)
    assert edges(clone(model).fit(X, y, sample_weight=weight)) == edges(clone(model).fit(X[:200], y[:200]))


def test_encodings_ignore_rows_that_are_held_out(table):
    """The largest value of a column is an edge if the row is trained on, and none if it is held out."""
    X, y, *_ = table
    model = ExtraNetsRegressor(2, max_iter=2, numeric_encoding="piecewise_linear", noise="holdout", random_state=0)
    sample = Sample(*(np.zeros((len(y), 1), dtype=np.float32) for _ in range(2)), np.ones(len(y)))
    held = model._plan(sample, extranets._random.draw_seed(0)).fold_of_row == 0
    model.fit(X, y)
    largest = scaled(model, X[~held])[:, 0].max()
    assert edges(model).edges_of_columns()[0][-1] == np.float32(largest)
    far = X.copy()
    far[np.flatnonzero(held)[0], 0] = 100.0
    model = clone(model).fit(far, y)
    assert edges(model).edges_of_columns()[0][-1] < scaled(model, far)[:, 0].max()


def test_far_outside_of_the_training_rows_only_the_column_itself_counts(table):
    """Two such rows and their middle lie on a line, if no hidden unit changes sides; and all is finite."""
    X, y, *_ = table
    model = ExtraNetsRegressor(3, (), max_iter=20, numeric_encoding="piecewise_linear", random_state=0).fit(X, y)
    low, middle, high = model.predict([[50, 0, 0], [75, 0, 0], [100, 0, 0]])
    assert middle == pytest.approx((low + high) / 2, rel=1e-5)
    assert np.isfinite(model.predict_interval([[1e6, 0, -1e6]])).all()


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit_of_encoded_networks(kind, table):
    X, y, X_test, _ = table
    model = DeepEnsembleRegressor(3, max_iter=10, adversarial_epsilon=0.01, numeric_encoding=kind, random_state=0)
    one, two = (clone(model).set_params(n_jobs=n).fit(X, y).predict_interval(X_test) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_passes_drop_a_column_with_its_bins(table):
    """With a single column dropped or kept, a pass is a constant or the whole network at twice its input."""
    X, y, X_test, _ = table
    model = MCDropoutRegressor(
        keep_prob=1.0,
        input_keep_prob=0.5,
        n_passes=30,
        numeric_encoding="piecewise_linear",
        max_iter=10,
        random_state=0,
    ).fit(X[:, :1], y)
    ranges = np.ptp(model.predict_members(X_test[:, :1]), axis=1)
    assert 3 < (ranges == 0).sum() < 27


def test_warm_start_goes_on_with_the_same_encoding_only(table):
    X, y, X_test, _ = table
    model = ExtraNetsRegressor(
        3, max_iter=10, numeric_encoding="piecewise_linear", warm_start=True, random_state=0
    ).fit(X, y)
    first = model.predict_members(X_test)
    model.set_params(n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(model.predict_members(X_test)[:3], first)
    for change in ({"n_bins": 8}, {"numeric_encoding": "periodic"}, {"numeric_encoding": None}):
        with pytest.raises(ValueError, match="warm_start"):
            clone(model).fit(X, y).set_params(**change).fit(X, y)


def test_pickled_and_sparse(table):
    X, y, X_test, _ = table
    model = ExtraNetsRegressor(3, max_iter=10, numeric_encoding="piecewise_linear", random_state=0).fit(X, y)
    expected = model.predict_interval(X_test)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_interval(X_test), expected)
    again = clone(model).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(again.predict_interval(sparse.csr_matrix(X_test)), expected, rtol=1e-6)


def test_a_table_without_numeric_columns_is_fitted_as_it_is():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (100, 4)).astype(float)
    y = X @ [1, 2, 3, 4] + rng.normal(size=100)
    plain, with_encoding = (
        ExtraNetsRegressor(3, max_iter=10, numeric_encoding=kind, random_state=0).fit(X, y).predict(X)
        for kind in (None, "piecewise_linear")
    )
    np.testing.assert_array_equal(with_encoding, plain)


def test_bad_encodings_are_refused(table):
    X, y, *_ = table
    with pytest.raises(ValueError, match="numeric_encoding"):
        ExtraNetsRegressor(numeric_encoding="splines").fit(X, y)
    for n_bins in (0, 256):
        with pytest.raises(ValueError, match="n_bins"):
            ExtraNetsRegressor(numeric_encoding="piecewise_linear", n_bins=n_bins).fit(X, y)
    with pytest.raises(ValueError, match="delta method needs numeric_encoding=None"):
        DeltaMethodRegressor(numeric_encoding="piecewise_linear").fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*ENCODED, "dropped inputs"])
def test_files_and_graphs_hold_the_encoding(name, kind, table, tmp_path):
    """Model files bit for bit; ONNX to 1e-5 of the target's size and standard deviation."""
    X, y, X_test, _ = table
    model = small("MCDropoutRegressor").set_params(input_keep_prob=0.8) if name == "dropped inputs" else small(name)
    model.set_params(numeric_encoding=kind, n_bins=5).fit(X, y)
    model.save(tmp_path / "m.xnet")
    np.testing.assert_array_equal(
        extranets.load(tmp_path / "m.xnet").predict_interval(X_test), model.predict_interval(X_test)
    )
    model.to_onnx(tmp_path / "m.onnx")
    mean, sd, lower, upper = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": X_test})
    expected = (*model.predict(X_test, return_std=True), *model.predict_interval(X_test).T)
    for found, ours in zip((mean, sd, lower, upper), expected, strict=True):
        assert (np.abs(found - ours) <= 1e-5 * (np.abs(ours) + y.std())).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": np.array([1, 0], np.int32)}, "increasing"),
        ({"columns": np.array([-1, 0], np.int32)}, "increasing"),
        ({"offsets": np.array([0, 2, 5], np.int32)}, "offsets"),
        ({"offsets": np.array([0, 1, 4], np.int32)}, "bins"),
        ({"edges": np.array([0, 1, 1, 0], np.float32)}, "increase"),
        ({"edges": np.array([0, np.nan, 0, 1], np.float32)}, "increase"),
        ({"edges": np.zeros((2, 2), np.float32)}, "offsets"),
    ],
)
def test_an_encoding_that_cannot_be_is_refused(changes, message):
    good = {
        "columns": np.array([0, 1], np.int32),
        "offsets": np.array([0, 2, 4], np.int32),
        "edges": np.array([0, 1, 0, 1], np.float32),
    }
    PiecewiseLinear(**good)
    with pytest.raises(ValueError, match=message):
        PiecewiseLinear(**{**good, **changes})
