"""``distribution="auto"``: which kind is chosen, and what a fit says of it."""

from __future__ import annotations

import numpy as np
import pytest

import extranets
from extranets import ExtraNetsRegressor, StackedNetsRegressor
from extranets.predictor.distributions import LEARNERS, Empirical, Student
from extranets.predictor.distributions.likeliest import FEWEST_ROWS


def chosen(errors, weight=None):
    errors = (errors - errors.mean(axis=0)) / errors.std(axis=0)
    return LEARNERS["auto"](errors, np.ones(len(errors)) if weight is None else weight)


@pytest.mark.parametrize("n", [30, 200, 1000])
def test_symmetric_noise_keeps_students_t(n):
    """Of 240 tables of 50 to 1,000 Normal errors one got another shape."""
    kinds = [type(chosen(np.random.default_rng(seed).normal(size=(n, 1)))[0]) for seed in range(20)]
    assert kinds.count(Student) >= 19


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("noise", ["exponential", "uniform"])
def test_other_noise_gets_its_own_shape(n, noise):
    """In all of 40 tables of 200 errors."""
    for seed in range(5):
        random = np.random.default_rng(seed)
        assert type(chosen(getattr(random, noise)(size=(n, 1)))[0]) is Empirical


def test_it_is_what_the_chosen_kind_learns_by_itself():
    errors, weight = np.random.default_rng(0).exponential(size=(300, 1)) - 1, np.linspace(1, 2, 300)
    found, widening = LEARNERS["auto"](errors, weight)
    alone, own = Empirical.learn(errors, weight)
    np.testing.assert_array_equal(found.values, alone.values)
    np.testing.assert_array_equal(widening, own)


def test_the_choice_is_one_for_all_outputs():
    """Where one of two outputs is skewed, both have their own shapes: that of symmetric errors is still Student's t."""
    random = np.random.default_rng(0)
    found, _ = chosen(np.column_stack([random.exponential(size=500), random.normal(size=500)]))
    assert type(found) is Empirical
    np.testing.assert_allclose(found.multiples(np.array([0.05]))[1], -found.multiples(np.array([0.95]))[1])


def test_weights_are_respected():
    """Rows without much weight do not decide, even if there are as many of them."""
    random = np.random.default_rng(0)
    errors = np.concatenate([random.normal(size=500), random.exponential(size=500) - 1])[:, None]
    order = random.permutation(1000)
    normal = np.where(np.arange(1000) < 500, 1.0, 1e-6)
    kinds = [type(LEARNERS["auto"](errors[order], weight[order])[0]) for weight in (normal, normal[::-1])]
    assert kinds == [Student, Empirical]


def test_a_handful_of_errors_is_no_ground_for_a_choice():
    errors = np.random.default_rng(0).exponential(size=(FEWEST_ROWS - 1, 1))
    assert type(chosen(errors)[0]) is Student


def test_constant_outputs_keep_students_t():
    assert type(LEARNERS["auto"](np.zeros((50, 2)), np.ones(50))[0]) is Student


def table(noise, n=300):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 2))
    return X, X[:, 0] + getattr(random, noise)(size=n)


@pytest.mark.parametrize(("noise", "name"), [("exponential", "empirical"), ("normal", "student")])
def test_a_stack_says_which_it_has(noise, name, tmp_path):
    X, y = table(noise)
    model = StackedNetsRegressor(effort="low", n_folds=3, random_state=0, n_jobs=1).fit(X, y)
    assert model.settings_["distribution"] == model.distribution_.name == name
    model.save(tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    assert again.distribution == "auto" and again.settings_["distribution"] == name
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))


def test_auto_after_fit_is_what_was_learned():
    X, y = table("exponential", 120)
    model = ExtraNetsRegressor(2, (5,), max_iter=5, distribution="empirical", random_state=0, n_jobs=1).fit(X, y)
    before = model.predict_interval(X)
    np.testing.assert_array_equal(model.set_params(distribution="auto").predict_interval(X), before)
    assert model.distribution_.name == "empirical"
    assert type(model.estimate_noise(*table("normal", 150)).distribution_) is Student
