"""Which transform of the target is chosen."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from extranets import StackedNetsRegressor
from extranets.parting import Parting
from extranets.predictor.limits import Limits
from extranets.predictor.link import Link
from extranets.predictor.powers import Powers
from extranets.stacking.transforms import Judged, best, judged, likely_powers, spread_along

MACHINE = {"device": "cpu", "n_threads": 1}


def table(n_rows=600, seed=0):
    """Mean and standard Normal errors beside columns. Shape: ``(n, 3)``, ``(n,)``, ``(n,)``."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    return X.astype(np.float32), 0.6 * np.sin(2 * X[:, 0]) + 0.4 * X[:, 1], random.normal(size=n_rows)


def chosen(X, y, parting=None, weight=None):
    columns = y.reshape(len(y), -1)
    weight = np.ones(len(y)) if weight is None else weight
    return likely_powers(
        X, columns, weight, parting, Limits.of("auto", columns), MACHINE, lambda *_, **__: nullcontext()
    )


def test_noise_that_multiplies_asks_for_a_transform_and_noise_that_adds_does_not():
    X, mean, noise = table()
    assert chosen(X, np.exp(mean + 0.6 * noise)).power[0] < 1
    assert chosen(X, 3 + mean + 0.4 * noise) is None
    assert chosen(X, mean + noise) is None  # sometimes negative
    assert chosen(X, 100 + np.exp(mean + 0.6 * noise)) is None  # next to straight


def test_each_output_has_its_own():
    X, mean, noise = table()
    both = chosen(X, np.column_stack([mean, np.exp(mean + 0.6 * noise)]))
    assert both.power[0] == 1 and both.power[1] < 1


def test_few_rows_decide_nothing():
    X, mean, noise = table(99)
    assert chosen(X, np.exp(mean + 0.6 * noise)) is None


def test_folds_follow_groups_and_time():
    X, mean, noise = table(1500)
    y, number = np.exp(mean + 0.4 * noise), np.arange(1500) // 20
    assert chosen(X, y, Parting("groups", number)).power[0] < 1
    assert chosen(X, y, Parting("time", number)).power[0] < 1


def test_an_extreme_target_does_not_make_absurd_bounds():
    X, mean, noise = table()
    y = np.exp(mean + 0.6 * noise)
    y[7] = 1e6
    model = StackedNetsRegressor(effort="low", n_folds=3, random_state=0, n_jobs=1).fit(X, y)
    assert model.predict_interval(X, 0.9).max() < 1e7
    assert np.isfinite(model.predict(X)).all()


def test_the_choice_is_told_and_kept_by_settings():
    X, mean, noise = table()
    model = StackedNetsRegressor(effort="low", n_folds=3, random_state=0, n_jobs=1).fit(X, np.exp(mean + 0.6 * noise))
    assert model.settings_["target_transform"] in ("log", "sqrt")
    assert model.model_.units.link.powers.names() == model.settings_["target_transform"]
    assert model.set_params(target_transform=None).fit(X, np.exp(mean)).settings_["target_transform"] == "none"


def test_a_transform_must_be_better_by_more_than_chance_and_cost_no_squared_error():
    random = np.random.default_rng(0)
    first = Judged(*(1 + random.uniform(size=(3, 400))))
    better = Judged(0.9 * first.crps, 0.9 * first.interval, first.square)
    weight = np.ones(400)
    assert best([first, better], weight) == 1
    assert best([first, better, Judged(0.8 * first.crps, 0.8 * first.interval, first.square)], weight) == 2
    assert best([first, Judged(0.9 * first.crps, 0.9 * first.interval, 1.02 * first.square)], weight) == 0
    assert best([first, Judged(0.995 * first.crps, 0.995 * first.interval, first.square)], weight) == 0
    by_chance = random.normal(size=400) * 3
    assert (
        best([first, Judged(first.crps - by_chance + by_chance.mean() - 0.03, first.interval, first.square)], weight)
        == 0
    )


def test_judging_a_known_distribution():
    """Normal errors around a known mean: its CRPS and its interval score are known numbers of standard deviations."""
    _, mean, noise = table(20_000)
    found = judged(Link(), mean + 0.5 * noise, mean + 0.5 * noise, mean, np.ones(20_000))
    assert found.crps.mean() / 0.5 == pytest.approx(
        1 / np.sqrt(np.pi), rel=0.03
    )  # the standard error of the mean is 0.6 %
    assert found.interval.mean() / 0.5 == pytest.approx(2 * 2.063, rel=0.03)  # 2 phi(z) / 0.05
    assert found.square.mean() == pytest.approx(0.25, rel=0.05)


def test_spread_follows_the_mean():
    _, mean, noise = table(20_000)
    std = np.exp(1 + 0.8 * mean)
    found = spread_along(mean, std * noise, np.ones(20_000))
    middle = np.abs(mean - mean.mean()) < 2 * mean.std()
    np.testing.assert_allclose(found[middle], std[middle], rtol=0.2)
    assert np.corrcoef(np.log(found), np.log(std))[0, 1] > 0.99


def test_powers_are_those_of_all_rows():
    X, mean, noise = table()
    y = np.exp(mean + 0.6 * noise)
    found = chosen(X, y)
    assert isinstance(found, Powers) and found.least[0] == y.min() and found.largest[0] == y.max()


def test_where_nothing_can_be_fitted_the_target_stays_as_it_is(monkeypatch):
    from extranets.stacking.growing import Growing

    monkeypatch.setattr(Growing, "linear", lambda self: None)
    monkeypatch.setattr(Growing, "train", lambda self, *_, **__: [None])
    X, mean, noise = table()
    assert chosen(X, 3 + mean + 0.4 * noise) is None
