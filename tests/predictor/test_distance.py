"""The epistemic variance that grows with the distance from the training rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from extranets import ExtraNetsRegressor, StackedNetsRegressor
from extranets.predictor import covered, distance
from extranets.predictor.covered import stretches
from extranets.predictor.distance import Distance, slopes_along_columns
from tests.graphs import run

RANDOM = np.random.default_rng(0)


def rows(*columns):
    return np.column_stack(columns).astype(np.float32)


def waves(X):
    """A mean that depends on the first column alone, twice as much in the second output."""
    return np.sin(X[:, :1]) * np.array([1.0, 2.0]), None, None


def with_gap(n=400):
    """The first column has no rows between -0.5 and 0.5, the second none between 0 and 1 among whole numbers."""
    x = RANDOM.uniform(0.5, 2, size=n) * RANDOM.choice([-1, 1], size=n)
    return rows(x, RANDOM.choice([-2, -1, 0, 1, 3], size=n), RANDOM.normal(size=n))


LEARNED = Distance.learn(with_gap(), waves, 1.0)


def test_values_cover_their_surroundings():
    """So far as 95 of 100 values have a neighbour; where values repeat, a new one is not covered."""
    begins, ends = stretches(np.linspace(0, 1, 11, dtype=np.float32))
    assert begins == pytest.approx([-0.1]) and ends == pytest.approx([1.1])
    begins, ends = stretches(np.repeat(np.arange(3, dtype=np.float32), 5))
    assert begins == pytest.approx(np.arange(3) - 0.01) and ends == pytest.approx(np.arange(3) + 0.01)
    begins, ends = stretches(np.append(np.linspace(0, 1, 100, dtype=np.float32), 50))
    assert len(begins) == 2  # a value far out covers no more than others


def test_no_gap_is_lost_to_rounding():
    """A step that is wider than what its ends cover by less than float32 can tell; such a model could not be stored."""
    column = np.random.default_rng(7030).normal(size=(30, 2)).round(3)[:, 1]
    values = ((column - column.mean()) / column.std()).astype(np.float32)
    begins, ends = stretches(values)
    assert (begins[1:] > ends[:-1]).all() and (begins < ends).all()
    covered.Covered(**covered.together([(begins, ends)]))._check_stored()


def test_training_rows_have_no_distance():
    X = with_gap()
    learned = Distance.learn(X, waves, 1.0)
    assert not learned.distances(X).any() and not learned.evaluate(X).any()


def test_distances_are_those_from_the_nearest_training_value():
    """The reference compares with every training value."""
    X = with_gap()
    learned = Distance.learn(X, waves, 1.0)
    new = rows(RANDOM.uniform(-4, 4, 500), RANDOM.uniform(-4, 4, 500), 3 * RANDOM.normal(size=500))
    found = learned.distances(new)
    for column in range(3):
        values = X[:, column]
        nearest = np.sort(np.abs(values[:, None] - values[None, :]) + 9 * np.eye(len(values), dtype=np.float32), axis=1)
        usual = max(np.quantile(nearest[:, 0], covered.USUAL), covered.LEAST_USUAL)
        expected = np.maximum(np.abs(new[:, column, None] - values).min(axis=1) - usual, 0)
        np.testing.assert_allclose(found[:, column], expected, atol=2e-6)


def test_variance_grows_with_the_distance_up_to_what_networks_explain():
    gap = rows(np.linspace(-0.5, 0, 9), np.zeros(9), np.zeros(9))
    far = rows(np.linspace(2, 60, 9), np.zeros(9), np.zeros(9))
    for path in (gap, far):
        variance = LEARNED.evaluate(path)
        assert (np.diff(variance, axis=0) >= 0).all() and variance[-1, 0] > 0.005
    np.testing.assert_allclose(LEARNED.evaluate(far)[-1], LEARNED.most)
    np.testing.assert_allclose(
        LEARNED.most, distance.MOST * np.var(np.sin(with_gap()[:, 0])) * np.array([1, 4]), rtol=0.1
    )
    np.testing.assert_allclose(LEARNED.evaluate(far)[:, 1], 4 * LEARNED.evaluate(far)[:, 0])


def test_of_many_columns_slopes_are_means_over_groups():
    """A sum with known slopes: what is moved with random signs has the mean square of the group's slopes, which is exact
    for a group of which one column matters; for others, 32 rows with signs of their own have a relative error of sqrt(2 / 32)."""
    n_columns = 4 * distance.MANY
    weights = np.zeros((n_columns, 1))
    weights[7] = 2.0
    weights[11 :: distance.MANY] = [[1.0], [2.0], [0.5], [1.0]]
    X = RANDOM.normal(size=(200, n_columns)).astype(np.float32)
    slopes, _ = slopes_along_columns(X, lambda X: (X @ weights, None, None))
    np.testing.assert_allclose(slopes[7 :: distance.MANY], 4.0 / 4, rtol=0.01)
    np.testing.assert_allclose(slopes[11 :: distance.MANY], 6.25 / 4, rtol=4 * np.sqrt(2 / distance.FEW))
    others = np.setdiff1d(np.arange(distance.MANY), [7, 11])
    assert not slopes[others].any()


def test_the_time_is_in_proportion_to_the_columns():
    """Values that pass through the networks: of ten times the columns ten times as many, not a hundred times."""

    def passed(n_columns):
        seen = []
        slopes_along_columns(
            np.ones((20, n_columns), np.float32), lambda X: (seen.append(X.size) or X[:, :1], None, None)
        )
        return sum(seen)

    assert passed(20_000) <= 10 * passed(2_000)


def test_columns_that_do_not_matter_widen_nothing():
    beyond = rows(np.full(3, LEARNED.low[0]), [0.5, 2, 9], [-9, 9, 9])
    assert LEARNED.distances(beyond)[:, 1:].all() and not LEARNED.evaluate(beyond).any()


def test_the_factor_multiplies():
    beyond = rows([3.0], [0], [0])
    np.testing.assert_allclose(replace(LEARNED, factor=2.5).evaluate(beyond), 2.5 * LEARNED.evaluate(beyond))


def test_slopes_of_a_plane_are_its_own():
    slopes, most = slopes_along_columns(with_gap(), lambda X: (X @ np.array([[2.0], [0.0], [-1.0]]), None, None))
    np.testing.assert_allclose(slopes[:, 0], [4, 0, 1], rtol=1e-4)
    assert most.shape == (1,) and most[0] > 4


def test_slopes_are_those_at_the_ends():
    """The outer tenths of the rows are from 1.7 to 2; moved inwards by 0.1, the sine has the slope that it has half-way."""
    slopes, _ = slopes_along_columns(with_gap(2000), waves)
    expected = np.mean(np.cos(np.linspace(1.65, 1.95, 99)) ** 2)
    np.testing.assert_allclose(slopes[0], expected * np.array([1, 4]), rtol=0.1)


def test_beyond_an_end_the_squared_distance_counts_three_times_as_much_as_in_a_gap():
    """As long as it is small."""
    gap = np.flatnonzero((LEARNED.columns == 0) & (LEARNED.begins < 0) & (LEARNED.ends > 0)).item()
    within, beyond = rows([LEARNED.begins[gap] + 0.01], [0], [0]), rows([LEARNED.high[0] + 0.01], [0], [0])
    np.testing.assert_allclose(LEARNED.evaluate(beyond), 3 * LEARNED.evaluate(within), rtol=0.01)


def test_a_constant_target_widens_nothing():
    learned = Distance.learn(with_gap(), lambda X: (np.zeros((len(X), 1)), None, None), 1.0)
    assert not learned.evaluate(rows([99.0], [99], [99])).any()


def test_of_many_gaps_the_widest_are_kept(monkeypatch):
    monkeypatch.setattr(covered, "MOST_GAPS", 2)
    values = np.repeat([0.0, 1, 3, 4, 7, 8], 9)
    learned = Distance.learn(rows(values), lambda X: (X, None, None), 1.0)
    assert learned.begins == pytest.approx([1.01, 4.01]) and learned.ends == pytest.approx([2.99, 6.99])
    assert learned.distances(rows([0.5, 2, 5.5])).ravel() == pytest.approx([0, 0.99, 1.49])


def test_graphs_compute_the_same():
    X = rows(RANDOM.uniform(-4, 4, 300), RANDOM.uniform(-4, 4, 300), 3 * RANDOM.normal(size=300))
    for learned in (LEARNED, Distance.learn(RANDOM.normal(size=(50, 3)).astype(np.float32), waves, 0.5)):
        np.testing.assert_allclose(run(learned.graph, X), learned.evaluate(X), rtol=1e-5, atol=1e-9)


FORGED = {
    "columns do not fit": {"high": LEARNED.high[:2]},
    "gaps do not fit": {"ends": LEARNED.ends[:1]},
    "not finite": {"low": np.full_like(LEARNED.low, np.nan)},
    "is empty": {"low": LEARNED.high + 1},
    "not in the order": {"columns": LEARNED.columns[::-1].copy()},
    "overlap": {"begins": LEARNED.begins - 9},
    "factor is negative": {"factor": -1.0},
}


@pytest.mark.parametrize("message", FORGED)
def test_stored_parts_are_checked(message):
    with pytest.raises(ValueError, match=message):
        replace(LEARNED, **FORGED[message])._check_stored()


MODELS = {
    "networks": lambda **more: ExtraNetsRegressor(6, max_iter=60, random_state=0, n_jobs=1, **more),
    "stack": lambda **more: StackedNetsRegressor(effort="low", n_folds=3, random_state=0, n_jobs=1, **more),
}


@pytest.mark.parametrize("name", MODELS)
def test_intervals_are_wider_in_gaps_and_beyond_the_ends_alone(name):
    X = with_gap(200).astype(np.float64)
    y = np.sin(2 * X[:, 0]) + 0.1 * RANDOM.normal(size=200)
    wide, plain = (MODELS[name](distance_factor=factor).fit(X, y) for factor in (1.0, 0.0))
    assert plain.model_.distance is None
    for new, widened in ((X, False), ([[0.0, 0, 0]], True), ([[4.0, 0, 0]], True)):
        mine, other = wide.predict_components(new), plain.predict_components(new)
        np.testing.assert_array_equal(mine.mean, other.mean)
        np.testing.assert_array_equal(mine.aleatoric, other.aleatoric)
        assert (mine.epistemic > other.epistemic + 0.02).all() if widened else (mine.epistemic == other.epistemic).all()


def test_the_papers_preset_does_without():
    assert ExtraNetsRegressor.from_preset("paper").distance_factor == 0
