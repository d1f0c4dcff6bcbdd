"""MeanVarianceRegressor and DeepEnsembleRegressor: networks that predict their own noise."""

from __future__ import annotations

import numpy as np
import pytest

from extranets import DeepEnsembleRegressor, MeanVarianceRegressor, engine
from extranets.data import linear_process
from extranets.estimators.settings import resolve


@pytest.fixture(scope="module")
def table():
    return linear_process(400, random_state=1).split(300)


def heads(model, X):
    """Means and variances of the networks in the target's units, from the engine's heads."""
    out = engine.forward(model.ensemble_, model.model_.units.x.apply(X)).astype(np.float64)
    return model.model_.units.y.undo(out[:, :, :1])[:, :, 0], np.exp(out[:, :, 1]) * model.model_.units.y.scale**2


def test_deep_ensemble_is_a_mixture(table):
    model = DeepEnsembleRegressor(max_iter=50, random_state=0).fit(*table[:2])
    assert len(model.ensemble_) == 5
    means, variances = heads(model, table[2])
    mean = means.mean(axis=0)
    np.testing.assert_allclose(model.predict(table[2]), mean, rtol=1e-5)
    # The mixture's second moment less its squared mean.
    np.testing.assert_allclose(model.predict_var(table[2]), np.mean(variances + means**2, axis=0) - mean**2, rtol=1e-3)


def test_one_network_of_a_deep_ensemble_is_a_mean_variance_network(table):
    ensemble = DeepEnsembleRegressor(1, max_iter=50, random_state=3).fit(*table[:2])
    single = MeanVarianceRegressor(max_iter=50, random_state=3).fit(*table[:2])
    np.testing.assert_array_equal(ensemble.predict_interval(table[2]), single.predict_interval(table[2]))
    np.testing.assert_array_equal(single.predict_components(table[2]).epistemic, 0)


def test_adversarial_steps_are_shares_of_each_features_range(table, monkeypatch):
    seen = []
    train = engine.train

    def spy(members, data, *args, **kwargs):
        seen.append(data.adversarial)
        return train(members, data, *args, **kwargs)

    monkeypatch.setattr(engine, "train", spy)
    X, y = table[:2]
    plain = DeepEnsembleRegressor(2, max_iter=20, random_state=0).fit(X, y)
    assert seen == [None]
    moved = DeepEnsembleRegressor(2, adversarial_epsilon=0.01, max_iter=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(seen[-1], 0.01 * np.ptp(X, axis=0) / X.std(axis=0), rtol=1e-5)
    assert not np.array_equal(plain.predict(X), moved.predict(X))


def test_warm_start_grows_to_the_same_ensemble_and_refuses_another_epsilon(table):
    grown = DeepEnsembleRegressor(2, max_iter=20, random_state=0, warm_start=True).fit(*table[:2])
    grown.set_params(n_estimators=5).fit(*table[:2])
    whole = DeepEnsembleRegressor(5, max_iter=20, random_state=0).fit(*table[:2])
    np.testing.assert_array_equal(grown.predict_interval(table[2]), whole.predict_interval(table[2]))
    with pytest.raises(ValueError, match="warm_start=True"):
        grown.set_params(n_estimators=6, adversarial_epsilon=0.1).fit(*table[:2])


@pytest.mark.parametrize("regressor", [MeanVarianceRegressor, DeepEnsembleRegressor])
def test_noise_that_changes_with_x_is_found(regressor):
    """y = x + (0.1 + |x|) e: predicted noise within a fifth on average where the data lie."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (4000, 1))
    y = x[:, 0] + (0.1 + np.abs(x[:, 0])) * rng.standard_normal(4000)
    model = regressor(max_iter=60, random_state=0).fit(x, y)
    new = np.linspace(-0.9, 0.9, 37)[:, None]
    ratio = np.sqrt(model.predict_components(new).aleatoric) / (0.1 + np.abs(new[:, 0]))
    # about 200 rows lie within 0.05 of a point: a standard deviation's own error is 5 %, and the fit is smooth
    assert np.abs(ratio - 1).mean() < 0.2


def test_warm_up_trains_the_mean_first(table):
    """With nothing but warm-up the variance stays where the last layer's start put it; the option reaches the engine."""
    model = MeanVarianceRegressor(max_iter=40, warm_up=0.25, early_stopping=False, random_state=0).fit(*table[:2])
    assert model._networks.recipe.options.warm_up_epochs == 10
    without = MeanVarianceRegressor(max_iter=40, warm_up=0.0, random_state=0).fit(*table[:2])
    assert without._networks.recipe.options.warm_up_epochs == 0
    # the loss curve starts with half the mean square error of standardised targets, then with the likelihood
    assert model.loss_curve_[0, 0] > 0 and model.loss_curve_[0, -1] < 0


@pytest.mark.parametrize(("max_iter", "expected"), [(40, 39), (1, 0)])
def test_warm_up_never_takes_all_epochs(max_iter, expected):
    model = MeanVarianceRegressor(warm_up=0.99, max_iter=max_iter)
    settings = resolve(model.get_params(), 100, loss="gaussian_nll")
    assert settings.options().warm_up_epochs == expected
