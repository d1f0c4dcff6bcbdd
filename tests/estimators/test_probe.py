"""Trials on halves of the rows: which encoding they choose, and by how much more rows lower the errors."""

from __future__ import annotations

import numpy as np
import pytest
from extranets.estimators._held_out import Sample
from extranets.estimators._probe import DAMPING, FEWEST_ROWS, MEMBERS, STEEPEST, Probe, as_if_trained_on_all, halves

from extranets import ExtraNetsRegressor
from extranets.engine import TrainingDiverged
from extranets.estimators import _probe, extra_nets
from extranets.uncertainty.components import HeldOut


def quick(**changes):
    settings = {"hidden_layer_sizes": (30,), "learning_rate_init": 0.01, "max_iter": 60, "noise_model": "constant"}
    return ExtraNetsRegressor(**{"n_estimators": 2, "random_state": 0, **settings, **changes})


def bending(n, seed=0):
    """Two columns with many bends each, one that says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.sin(12 * X[:, 0]) + 2 * np.abs(3 * X[:, 1] % 1 - 0.5) + 0.1 * rng.normal(size=n)


def rotated(n, seed=0):
    """Smooth in two directions in which no column lies."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    along, across = X @ np.full(6, 6**-0.5), X @ (np.array([1, -1] * 3) * 6**-0.5)
    return X, np.tanh(along) + 0.5 * across**2 + 0.05 * rng.normal(size=n)


def smooth(n, seed=0):
    """Without noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + np.exp(X[:, 3])


# -- which encoding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("process", "expected"), [(bending, "piecewise_linear"), (rotated, None)])
def test_the_better_encoding_is_chosen(process, expected, seed):
    """And it is better on new rows: R^2 of networks that are told to use it, and not to."""
    X, y = process(1200, seed)
    model = quick(random_state=seed).fit(X[:200], y[:200])
    assert model.settings_["numeric_encoding"] == expected
    other = None if expected else "piecewise_linear"
    rejected = quick(random_state=seed, numeric_encoding=other).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > rejected.score(X[200:], y[200:]) + 0.02


def test_the_choice_is_as_good_as_telling_it():
    X, y = bending(200)
    told = quick(numeric_encoding="piecewise_linear").fit(X, y)
    np.testing.assert_array_equal(quick().fit(X, y).predict_interval(X), told.predict_interval(X))


def test_high_effort_also_tries_waves():
    """Six waves, which eight bins cannot follow."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = np.sin(20 * X[:, 0]) + X[:, 1]
    chosen = {
        effort: quick(effort=effort, n_bins=8).fit(X, y).settings_["numeric_encoding"] for effort in ("medium", "high")
    }
    assert chosen["high"] == "periodic" != chosen["medium"]


def test_the_choice_depends_on_neither_size_nor_threads():
    X, y = rotated(80, seed=4)
    first = quick()
    seed = first._seed()
    sample = Sample(X.astype(np.float32), y[:, None].astype(np.float32), np.ones(80))
    probes = [quick(n_estimators=n, n_jobs=jobs)._probe(sample, seed) for n, jobs in [(2, 1), (2, 2), (50, 1)]]
    assert len({probe.encoding for probe in probes}) == 1
    np.testing.assert_array_equal(probes[0].error, probes[1].error)
    assert probes[2].error < probes[0].error  # of an ensemble of 50: less of the members' own variance


def test_the_error_that_decides_is_of_one_size(monkeypatch):
    """That of the trials' own ensembles, whatever n_estimators is: a warm start may raise it."""
    X, y = rotated(120, seed=4)
    sizes = []
    measure = extra_nets.held_out_variance

    def recorded(held, n_members):
        sizes.append(n_members)
        return measure(held, n_members)

    monkeypatch.setattr(extra_nets, "held_out_variance", recorded)
    quick(n_estimators=9).fit(X, y)
    assert sizes.count(MEMBERS) == 2 and sizes.count(9) == 3  # two trials; and the folds' error for the curve


def test_a_warm_start_goes_on_with_the_choice():
    X, y = bending(200)
    grown = quick(warm_start=True).fit(X, y).set_params(n_estimators=5).fit(X, y)
    assert grown.settings_["numeric_encoding"] == "piecewise_linear"
    np.testing.assert_array_equal(grown.predict_interval(X), quick(n_estimators=5).fit(X, y).predict_interval(X))


def test_few_rows_are_not_tried_on():
    X, y = bending(FEWEST_ROWS)
    sample = Sample(X.astype(np.float32), y[:, None].astype(np.float32), np.ones(FEWEST_ROWS))
    assert quick()._probe(sample, seed=1) is not None
    fewer = Sample(sample.X[1:], sample.y[1:], sample.weight[1:])
    assert quick()._probe(fewer, seed=1) is None
    assert quick().fit(X[1:], y[1:]).settings_["numeric_encoding"] is None


def test_nothing_is_tried_that_nobody_asked_for():
    """No curve without folds, and no choice of an encoding that is given."""
    X, y = bending(60)
    sample = Sample(X.astype(np.float32), y[:, None].astype(np.float32), np.ones(60))
    for changes in ({"noise": "holdout"}, {"noise": "train", "interval": "paper"}):
        assert quick(numeric_encoding=None, **changes)._probe(sample, seed=1) is None
        assert quick(**changes)._probe(sample, seed=1) is not None
    given = quick(numeric_encoding="periodic")._probe(sample, seed=1)
    assert given.encoding == "periodic" and given.n_rows == 30


def test_halves_are_of_rows_at_random(monkeypatch):
    monkeypatch.setattr(_probe, "MOST_ROWS", 50)
    index = np.arange(201, dtype=np.float32)
    sample = Sample(index[:, None], index[:, None], index.astype(np.float64))
    some, plan = halves(sample, seed=7)
    rows = some.y[:, 0]
    assert len(rows) == len(set(rows)) == 50 and not np.array_equal(rows, np.sort(rows))
    np.testing.assert_array_equal(some.X[:, 0], rows)
    np.testing.assert_array_equal(some.weight, rows)
    assert np.bincount(plan.fold_of_row).tolist() == [25, 25] and plan.members_per_fold == MEMBERS
    assert not plan.keeps_rows_from_final
    np.testing.assert_array_equal(halves(sample, seed=7)[0].y, some.y)
    assert not np.array_equal(halves(sample, seed=8)[0].y, some.y)


# -- the learning curve ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.7])
def test_errors_that_follow_a_power_are_lowered_by_a_damped_one(exponent):
    def error(n):
        return np.array([3.0, 0.01]) * n**-exponent

    found = Probe(None, "medium", 150, error(150)).shrinkage(error(240), 240, 300)
    np.testing.assert_allclose(found, (error(300) / error(240)) ** DAMPING, rtol=1e-12)


def test_errors_above_a_floor_of_noise_are_not_lowered_too_far():
    """Half noise, half what falls as 1 / n: a power through two points would go below the truth, 0.75 / 0.8125."""
    error = lambda n: np.array([0.5 + 50 / n])  # noqa: E731
    found = Probe(None, "medium", 100, error(100)).shrinkage(error(160), 160, 200)
    assert abs(found[0] - error(200)[0] / error(160)[0]) < 0.015


def test_every_output_has_its_own_curve():
    """One falls with the rows, one rises, one is constant and has no errors, one falls faster than is believed."""
    probe = Probe(None, "medium", 100, np.array([2.0, 1.0, 0.0, 1.0]))
    found = probe.shrinkage(np.array([1.0, 2.0, 0.0, 1e-6]), 200, 400)
    np.testing.assert_allclose(found, [0.5**DAMPING, 1.0, 1.0, 0.5**STEEPEST])


def test_no_curve_where_folds_saw_no_more_rows_than_the_trials():
    """Two folds of a small table."""
    for n_seen in (99, 100):
        np.testing.assert_array_equal(
            Probe(None, "medium", 100, np.array([2.0])).shrinkage(np.array([1.0]), n_seen, 200), 1.0
        )


def test_errors_and_spread_are_lowered_together():
    ones = np.ones((4, 2))
    held = HeldOut(2 * ones, 3 * ones, 5 * ones, np.ones(4), 6)
    found = as_if_trained_on_all(held, np.array([0.25, 1.0]))
    np.testing.assert_array_equal(found.residual, [[1.0, 2.0]] * 4)
    np.testing.assert_array_equal(found.spread, [[0.75, 3.0]] * 4)
    assert found.noise is held.noise and found.n_members == 6


def coverage(model, X, y, level):
    lower, upper = model.predict_interval(X, level).T
    return np.mean((lower <= y) & (y <= upper))


def without_curve(monkeypatch):
    monkeypatch.setattr(Probe, "shrinkage", lambda self, error, n_seen, n_rows: np.ones_like(error))


NETWORKS = {"n_estimators": 8, "hidden_layer_sizes": (40,), "max_iter": 200, "numeric_encoding": None}


def test_errors_without_noise_are_judged_better_with_the_curve(monkeypatch):
    """300 rows of a smooth function, where errors fall fast. Coverage at 90 %, mean of three seeds.

    The difference between the two means has a standard error of 0.0023 (of eight seeds, scaled to three); two are asked for.
    """

    def found():
        for seed in range(3):
            X, y = smooth(1300, seed)
            model = quick(**NETWORKS, noise_model="auto", random_state=seed).fit(X[:300], y[:300])
            yield coverage(model, X[300:], y[300:], 0.9)

    with_it = np.mean(list(found()))
    without_curve(monkeypatch)
    without = np.mean(list(found()))
    assert abs(with_it - 0.9) + 2 * 0.0023 < abs(without - 0.9)


@pytest.mark.slow
def test_the_default_covers_without_noise(monkeypatch):
    """The same for the estimator as it comes, eight seeds: within three standard errors of 0.9, and above it without the curve."""

    def found():
        for seed in range(8):
            X, y = smooth(1300, seed)
            yield coverage(ExtraNetsRegressor(random_state=seed).fit(X[:300], y[:300]), X[300:], y[300:], 0.9)

    values = list(found())
    error = np.std(values) / np.sqrt(8)
    assert abs(np.mean(values) - 0.9) < 3 * error
    without_curve(monkeypatch)
    assert np.mean(list(found())) > 0.9 + 3 * error


def test_held_out_rows_have_no_say(monkeypatch):
    """Those that noise="holdout" keeps from the networks: 60 of 200."""
    X, y = bending(200)
    seen = []
    measure = _probe.halves
    monkeypatch.setattr(_probe, "halves", lambda sample, seed: (seen.append(len(sample.y)), measure(sample, seed))[1])
    quick(noise="holdout", holdout_fraction=0.3).fit(X, y)
    assert seen == [140]


def test_few_held_out_errors_are_not_lowered(monkeypatch):
    monkeypatch.setattr(_probe, "as_if_trained_on_all", lambda held, shrinkage: pytest.fail("lowered"))
    X, y = bending(99)
    quick().fit(X, y)


def test_linear_models_and_tables_without_numbers_are_not_tried_on():
    X, y = bending(200)
    assert quick(hidden_layer_sizes=()).fit(X, y).settings_["numeric_encoding"] is None
    assert quick().fit((X > 0).astype(float), y).settings_["numeric_encoding"] is None


def test_an_encoding_that_diverges_is_not_chosen(monkeypatch):
    X, y = bending(200)
    train = ExtraNetsRegressor._held_out_errors

    def diverging(self, recipe, sample, plan):
        if recipe.architecture.encoding is not None:
            raise TrainingDiverged("piecewise linear", [0])
        return train(self, recipe, sample, plan)

    monkeypatch.setattr(ExtraNetsRegressor, "_held_out_errors", diverging)
    assert quick().fit(X, y).settings_["numeric_encoding"] is None


def test_trials_are_named_in_the_progress_line(capsys):
    X, y = bending(100)
    quick(verbose=1).fit(X, y)
    lines = [line for line in capsys.readouterr().err.splitlines() if "networks" in line]
    assert [line.split(":")[0] for line in lines[:2]] == ["Trial, piecewise_linear", "Trial, no encoding"]
    assert lines[-1].startswith("Training")
