"""Trials on halves of the rows: which encoding they choose, and by how much more rows lower the errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from extranets import ExtraNetsRegressor
from extranets.engine import TrainingDiverged
from extranets.estimators import trials
from extranets.estimators.trials import (
    DAMPING,
    FEWEST_ERRORS,
    FEWEST_ROWS,
    MEMBERS,
    STEEPEST,
    Trial,
    Trials,
    as_if_trained_on_all,
    halves,
)
from extranets.held_out import Sample, cross_validation, hold_out
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


def test_a_chosen_encoding_predicts_as_if_it_had_been_given():
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


def sample_of(X, y):
    return Sample(X.astype(np.float32), y[:, None].astype(np.float32), np.ones(len(y)))


def folds_of(sample):
    return cross_validation(len(sample.y), 5, 16, seed=1)


def errors_of_size(size, n=200, n_members=MEMBERS):
    ones = np.ones((n, 1))
    return HeldOut(size * ones, 0 * ones, ones, np.ones(n), n_members)


@dataclass
class Recorded:
    """Trials whose errors are known beforehand, by encoding and effort, or by encoding alone; ``done`` lists those that ran."""

    errors: dict
    done: list = field(default_factory=list)

    def __call__(self, encoding, effort, sample, plan):
        self.done.append((encoding, effort, sample))
        size = self.errors.get((encoding, effort), self.errors.get(encoding, np.nan))
        if np.isnan(size):
            raise TrainingDiverged("not finite", [0])
        return errors_of_size(size)

    @property
    def choices(self):
        return [(encoding, effort) for encoding, effort, _ in self.done]


def test_the_encoding_with_the_smallest_error_is_best():
    sample = sample_of(*bending(200))
    attempt = Recorded({"piecewise_linear": 2.0, None: 1.0, "periodic": 3.0})
    best = Trials(("piecewise_linear", None, "periodic"), "medium", 9).best(sample, folds_of(sample), 1, attempt)
    assert (best.encoding, best.effort) == (None, "medium") and best.n_rows == 100
    np.testing.assert_allclose(best.error, [1.0])
    assert len(attempt.done) == 3


def test_the_first_of_equal_encodings_is_best():
    sample = sample_of(*bending(200))
    best = Trials(("periodic", None), "low", 9).best(
        sample, folds_of(sample), 1, Recorded({"periodic": 1.0, None: 1.0})
    )
    assert (best.encoding, best.effort) == ("periodic", "low")


@pytest.mark.parametrize(
    ("n_rows", "own_error", "expected"), [(200, 0.9, "high"), (200, 1.1, "medium"), (5002, 1.1, "high")]
)
def test_high_effort_is_tried_for_the_best_encoding_alone(n_rows, own_error, expected):
    """Encodings are compared at medium effort. Where trials see only a part of the rows, they cannot tell that it does harm."""
    sample = sample_of(*bending(n_rows))
    attempt = Recorded({("periodic", "medium"): 1.0, (None, "medium"): 2.0, ("periodic", "high"): own_error})
    best = Trials(("periodic", None), "high", 9).best(sample, folds_of(sample), 1, attempt)
    assert attempt.choices == [("periodic", "medium"), (None, "medium"), ("periodic", "high")]
    assert (best.encoding, best.effort) == ("periodic", expected)


def test_the_choice_depends_on_neither_size_nor_threads():
    sample = sample_of(*rotated(80, seed=4))
    found = []
    for n_estimators, n_jobs in [(2, 1), (2, 2), (50, 1)]:
        model = quick(n_estimators=n_estimators, n_jobs=n_jobs)
        attempt = partial(model._attempt, 7)
        found.append(
            Trials(("piecewise_linear", None), "medium", n_estimators).best(sample, folds_of(sample), 7, attempt)
        )
    assert len({trial.encoding for trial in found}) == 1
    np.testing.assert_array_equal(found[0].error, found[1].error)
    assert found[2].error < found[0].error  # of an ensemble of 50: less of the members' own variance


def test_the_error_that_decides_is_of_one_size(monkeypatch):
    """That of the trials' own ensembles, whatever n_estimators is: a warm start may raise it."""
    X, y = rotated(120, seed=4)
    sizes = []
    measure = trials.held_out_variance

    def recorded(held, n_members):
        sizes.append(n_members)
        return measure(held, n_members)

    monkeypatch.setattr(trials, "held_out_variance", recorded)
    quick(n_estimators=9).fit(X, y)
    assert sizes.count(MEMBERS) == 2 and sizes.count(9) == 3  # two trials; and the folds' error for the curve


def test_a_warm_start_goes_on_with_the_choice():
    X, y = bending(200)
    grown = quick(warm_start=True).fit(X, y).set_params(n_estimators=5).fit(X, y)
    assert grown.settings_["numeric_encoding"] == "piecewise_linear"
    np.testing.assert_array_equal(grown.predict_interval(X), quick(n_estimators=5).fit(X, y).predict_interval(X))


def test_there_are_no_trials_on_few_rows():
    X, y = bending(FEWEST_ROWS)
    enough, fewer = sample_of(X, y), sample_of(X[1:], y[1:])
    both = Trials(("piecewise_linear", None), "medium", 2)
    attempt = Recorded({"piecewise_linear": 1.0, None: 2.0})
    assert both.best(enough, folds_of(enough), 1, attempt).encoding == "piecewise_linear"
    assert both.best(fewer, folds_of(fewer), 1, attempt) is None
    assert quick().fit(X[1:], y[1:]).settings_["numeric_encoding"] is None


@pytest.mark.parametrize("plan", [None, hold_out(60, 0.2, seed=1)], ids=["no held-out rows", "hold-out"])
def test_without_folds_trials_only_compare_encodings(plan):
    """There is no learning curve that a single trial could be a point of."""
    sample = sample_of(*bending(60))
    attempt = Recorded({"piecewise_linear": 2.0, None: 1.0})
    assert Trials((None,), "medium", 2).best(sample, plan, 1, attempt) is None
    assert attempt.done == []
    assert Trials(("piecewise_linear", None), "medium", 2).best(sample, plan, 1, attempt).encoding is None


def test_with_folds_an_encoding_that_is_given_is_tried_for_its_learning_curve():
    sample = sample_of(*bending(60))
    best = Trials(("periodic",), "medium", 2).best(sample, folds_of(sample), 1, Recorded({"periodic": 1.0}))
    assert best.encoding == "periodic" and best.n_rows == 30


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["piecewise_linear", "no encoding"]),
        ({"effort": "high"}, ["piecewise_linear", "no encoding", "periodic", "piecewise_linear"]),
        ({"numeric_encoding": "periodic"}, ["periodic"]),
        ({"numeric_encoding": None}, ["no encoding"]),
        ({"numeric_encoding": None, "noise": "holdout"}, []),
        ({"numeric_encoding": None, "noise": "train", "interval": "paper"}, []),
        ({"noise": "holdout"}, ["piecewise_linear", "no encoding"]),
        ({"noise": "train", "interval": "paper"}, ["piecewise_linear", "no encoding"]),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:noise='train'")
def test_a_fit_makes_the_trials_that_it_needs_and_names_them_in_the_progress_line(capsys, changes, expected):
    X, y = bending(60)
    quick(verbose=1, max_iter=20, **changes).fit(X, y)
    lines = [line.split(":")[0] for line in capsys.readouterr().err.splitlines() if "networks" in line]
    assert [line.removeprefix("Trial, ") for line in lines[:-1]] == expected
    assert lines[-1].startswith("Training")


def test_halves_are_of_rows_at_random(monkeypatch):
    monkeypatch.setattr(trials, "MOST_ROWS", 50)
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
def test_errors_that_follow_a_power_are_lowered_by_one_that_is_damped_up_to_one(exponent):
    def error(n):
        return np.array([3.0, 0.01]) * n**-exponent

    found = Trial(None, "medium", 150, error(150)).shrinkage(error(240), 240, 300)
    damped = DAMPING * exponent if exponent <= 1 else exponent - 1 + DAMPING
    np.testing.assert_allclose(found, [(240 / 300) ** damped] * 2, rtol=1e-12)


def test_errors_above_a_floor_of_noise_are_not_lowered_too_far():
    """Half noise, half what falls as 1 / n: a power through two points would go below the truth, 0.75 / 0.8125.

    It stays a little above, because errors of networks on half of the rows fall faster than that.
    """
    error = lambda n: np.array([0.5 + 50 / n])  # noqa: E731
    found = Trial(None, "medium", 100, error(100)).shrinkage(error(160), 160, 200)
    assert 0 < found[0] - error(200)[0] / error(160)[0] < 0.03


def test_every_output_has_its_own_curve():
    """One falls with the rows, one rises, one is constant and has no errors, one falls faster than is believed."""
    trial = Trial(None, "medium", 100, np.array([2.0, 1.0, 0.0, 1.0]))
    found = trial.shrinkage(np.array([1.0, 2.0, 0.0, 1e-6]), 200, 400)
    np.testing.assert_allclose(found, [0.5**DAMPING, 1.0, 1.0, 0.5**STEEPEST])


def test_errors_are_not_lowered_where_folds_saw_no_more_rows_than_the_trials():
    """Two folds of a small table."""
    for n_seen in (99, 100):
        np.testing.assert_array_equal(
            Trial(None, "medium", 100, np.array([2.0])).shrinkage(np.array([1.0]), n_seen, 200), 1.0
        )


FOLDS = cross_validation(200, 5, 16, seed=1)  # whose networks saw 160 of 200 rows


def test_errors_and_spread_are_lowered_together():
    """By the trial's learning curve, each output by its own. The second output's errors do not fall with more rows."""
    ones = np.ones((200, 2))
    held = HeldOut(2 * ones, 3 * ones, 5 * ones, np.ones(200), 6)
    trial = Trial(None, "medium", 100, np.array([8.0, 4.0]))
    found = as_if_trained_on_all(held, trial, FOLDS, n_members=6)
    shrinkage = 0.8 ** (np.log(2) / np.log(1.6) - 1 + DAMPING)
    np.testing.assert_allclose(found.residual**2, [[4 * shrinkage, 4.0]] * 200)
    np.testing.assert_allclose(found.spread, [[3 * shrinkage, 3.0]] * 200)
    assert found.noise is held.noise and found.weight is held.weight and found.n_members == 6


def test_errors_stay_as_they_are_where_a_trial_says_nothing_about_them():
    """No trial; a hold-out, whose final networks do not see the held-out rows either; and few errors."""
    held, few = errors_of_size(2.0), errors_of_size(2.0, n=FEWEST_ERRORS - 1)
    trial = Trial(None, "medium", 100, np.array([8.0]))
    assert as_if_trained_on_all(held, None, FOLDS, 4) is held
    assert as_if_trained_on_all(held, trial, hold_out(300, 0.67, seed=1), 4) is held
    assert as_if_trained_on_all(few, trial, FOLDS, 4) is few
    assert (as_if_trained_on_all(errors_of_size(2.0, n=FEWEST_ERRORS), trial, FOLDS, 4).residual < 2).all()


def coverage(model, X, y, level):
    lower, upper = model.predict_interval(X, level).T
    return np.mean((lower <= y) & (y <= upper))


def without_curve(monkeypatch):
    monkeypatch.setattr(Trial, "shrinkage", lambda self, error, n_seen, n_rows: np.ones_like(error))


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


def default_coverages():
    """Of eight seeds, without noise."""
    found = []
    for seed in range(8):
        X, y = smooth(1300, seed)
        found.append(coverage(ExtraNetsRegressor(random_state=seed).fit(X[:300], y[:300]), X[300:], y[300:], 0.9))
    return np.array(found)


@pytest.mark.slow
def test_the_default_covers_without_noise():
    """The same for the estimator as it comes: within three standard errors of 0.9."""
    values = default_coverages()
    assert abs(values.mean() - 0.9) < 3 * values.std() / np.sqrt(8)


@pytest.mark.slow
def test_without_the_curve_the_default_covers_more(monkeypatch):
    """By three standard errors at least."""
    values = default_coverages()
    without_curve(monkeypatch)
    assert default_coverages().mean() > values.mean() + 3 * values.std() / np.sqrt(8)


def test_rows_of_a_hold_out_have_no_say_in_trials():
    """60 of 200, which the networks will not see."""
    sample, plan = sample_of(*bending(200)), hold_out(200, 0.3, seed=1)
    attempt = Recorded({"piecewise_linear": 2.0, None: 1.0})
    Trials(("piecewise_linear", None), "medium", 2).best(sample, plan, 1, attempt)
    for _, _, seen in attempt.done:
        np.testing.assert_array_equal(np.sort(seen.y, axis=0), np.sort(sample.y[plan.fold_of_row < 0], axis=0))


def test_linear_models_and_tables_without_numbers_are_not_tried_on():
    X, y = bending(200)
    assert quick(hidden_layer_sizes=()).fit(X, y).settings_["numeric_encoding"] is None
    assert quick().fit((X > 0).astype(float), y).settings_["numeric_encoding"] is None


def test_an_encoding_that_diverges_is_not_chosen():
    sample = sample_of(*bending(200))
    both = Trials(("piecewise_linear", None), "medium", 2)
    assert both.best(sample, folds_of(sample), 1, Recorded({"piecewise_linear": np.nan, None: 9.0})).encoding is None
    assert both.best(sample, folds_of(sample), 1, Recorded({})) is None


def test_a_fit_goes_on_after_a_trial_that_diverges():
    X, y = bending(200)
    model = quick()
    attempt = model._attempt

    def diverging(seed, encoding, *rest):
        if encoding is not None:
            raise TrainingDiverged("piecewise linear", [0])
        return attempt(seed, encoding, *rest)

    model._attempt = diverging
    assert model.fit(X, y).settings_["numeric_encoding"] is None
