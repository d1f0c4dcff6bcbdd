"""Draws of all rows together, and the covariance of their targets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    MeanVarianceRegressor,
    PBPRegressor,
    StackedNetsRegressor,
    VariationalRegressor,
)
from extranets.predictor.distributions import Empirical, Normal, Student
from extranets.predictor.draws import LatentShares
from extranets.tables import TableRegressor

QUICK = {"hidden_layer_sizes": (8,), "max_iter": 30, "n_jobs": 1, "random_state": 0}
EVERY = [
    ExtraNetsRegressor(10, **QUICK),
    StackedNetsRegressor(effort="low", n_folds=3, n_jobs=1, random_state=0),
    BootstrapNetsRegressor(10, interval="normal", **QUICK),
    DeltaMethodRegressor(**QUICK),
    MCDropoutRegressor(n_passes=20, **QUICK),
    MeanVarianceRegressor(**QUICK),
    PBPRegressor(**QUICK),
    VariationalRegressor(**QUICK),
    DeepEnsembleRegressor(3, **QUICK),
]
N_DRAWS = 20_000

pytestmark = pytest.mark.filterwarnings(
    "ignore:J'J is near singular", "ignore:.*out-of-bag", "ignore:.*rows are too few"
)


def table(n_outputs=1):
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = X @ [1, -2, 0.5] + 0.5 * (random.exponential(size=120) - 1)
    return X, y if n_outputs == 1 else np.column_stack([y, 10 * X[:, 1] - y])


def new_rows(n=30):
    """Among the training rows and far from them, where the epistemic part is large."""
    return 1.5 * np.random.default_rng(1).normal(size=(n, 3))


@pytest.fixture(scope="module", params=EVERY, ids=lambda each: type(each).__name__)
def model(request):
    return clone(request.param).fit(*table())


def test_draws_have_the_predictive_distribution_at_every_row(model):
    """Levels of 20,000 independent draws are uniform; of 30 rows, the smallest p-value is below 0.0001 in 3 cases of 1,000."""
    X = new_rows()
    draws = model.sample_y(X, N_DRAWS, random_state=0)
    levels = model.predict_dist(X).cdf(draws.T)
    assert min(stats.kstest(column, "uniform").pvalue for column in levels.T) > 1e-4


def test_draws_have_the_covariance_that_is_predicted(model):
    """The variance of a sum and of differences. 20,000 draws of a Normal variable tell a variance to 1 %; noise with heavy tails
    counts for more, and shares of the function are right to second order only."""
    X = new_rows()
    draws, covariance = model.sample_y(X, N_DRAWS, random_state=0), model.predict_covariance(X)
    np.testing.assert_allclose(covariance, covariance.T)
    np.testing.assert_allclose(np.diag(covariance), model.predict_var(X))
    assert np.linalg.eigvalsh(covariance).min() > 0
    for weights in (np.ones(30), np.sign(X[:, 0]), np.where(X[:, 1] > 0, 1.0, 0.0)):
        assert (weights @ draws).var() == pytest.approx(weights @ covariance @ weights, rel=0.08)


def test_directions_add_up_to_the_spread(model):
    if isinstance(model, PBPRegressor):
        return  # whose spread is a formula; its networks are drawn
    source, machine = model.model_.source, model._machine()
    X = model.model_.units.x.apply(new_rows())
    directions = source.deviations(X, machine)
    np.testing.assert_allclose((directions**2).sum(axis=0), source.moments(machine)(X)[1], rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("estimator", EVERY[:2], ids=lambda each: type(each).__name__)
def test_epistemic_parts_of_rows_that_are_alike_move_together(estimator):
    """Two rows at one place share all that the networks do not know, the distance from the training rows included."""
    model = clone(estimator).fit(*table())
    X = np.array([[4.0, 0, 0], [4.0, 0, 0], [-4.0, 0, 0]])
    parts, covariance = model.predict_components(X), model.predict_covariance(X)
    assert model.model_.distance is not None and parts.epistemic[0] > 0.2 * parts.total[0]
    np.testing.assert_allclose(covariance[0, 1], parts.epistemic[0])
    assert abs(covariance[0, 2]) <= np.sqrt(parts.epistemic[0] * parts.epistemic[2])
    draws = model.sample_y(X, N_DRAWS, random_state=0)
    share = parts.epistemic[0] / parts.total[0]
    assert np.corrcoef(draws)[0, 1] == pytest.approx(share, abs=5 / np.sqrt(N_DRAWS) + 0.01)


def test_several_outputs():
    X, y = table(2)
    model = clone(EVERY[0]).fit(X, y)
    rows = new_rows(6)
    draws, covariance = model.sample_y(rows, 3000, random_state=0), model.predict_covariance(rows)
    assert draws.shape == (6, 2, 3000) and covariance.shape == (6, 6, 2)
    np.testing.assert_allclose(np.diagonal(covariance).T, model.predict_var(rows))
    levels = model.predict_dist(rows).cdf(np.moveaxis(draws, -1, 0))
    assert np.abs((levels < 0.2).mean(axis=0) - 0.2).max() < 5 * np.sqrt(0.16 / 3000)


@pytest.mark.parametrize("ways", [{}, {"groups": 0}, {"weights": 1}], ids=lambda ways: "+".join(ways) or "plain")
def test_conformal_draws_follow_the_conformal_distribution(ways):
    model = clone(EVERY[0]).fit(*table())
    random = np.random.default_rng(5)
    held = random.normal(size=(200, 3))
    beside = {
        name: (held[:, place] > 0) if name == "groups" else np.exp(held[:, place]) for name, place in ways.items()
    }
    model.conformalize(held, held @ [1, -2, 0.5] + 2 * random.standard_t(3, 200), **beside)
    own = {name: values[:5] for name, values in beside.items()}
    draws = model.sample_y(held[:5], 4000, random_state=0, **own)
    assert min(stats.kstest(row, "uniform").pvalue for row in model.predict_dist(held[:5], **own).cdf(draws.T).T) > 1e-4
    np.testing.assert_array_equal(draws, model.sample_y(held[:5], 4000, random_state=0, **own))


def test_rows_of_several_tables_are_rows_of_the_same_functions(monkeypatch):
    X, y = table()
    rows = new_rows()
    model = clone(EVERY[0]).fit(X, y)
    whole = model.sample_y(rows, 7, random_state=3)
    functions = model.draw_functions(7, random_state=3)
    parts = [model.sample_y(rows[begin : begin + 10], functions=functions) for begin in (0, 10, 20)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-5)
    inside = TableRegressor(EVERY[0]).fit(X, y)
    expected = inside.sample_y(rows, 7, random_state=3)
    monkeypatch.setattr("extranets.tables.regressor.MOST_BLOCK_ROWS", 8)
    np.testing.assert_allclose(inside.sample_y(rows, 7, random_state=3), expected, rtol=1e-5)
    np.testing.assert_allclose(inside.predict_covariance(rows), model.predict_covariance(rows), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="n_samples must be a whole number"):
        model.sample_y(rows, 0)


def test_shares_are_those_of_two_rows_with_one_function():
    """In the distribution's own scale, correlation is a share; on the Normal scale it must be a little larger."""
    random = np.random.default_rng(2)
    errors = random.exponential(size=(2000, 1)) - 1
    skewed, student = Empirical.learn(errors, np.ones(2000))[0], Student(np.array([3.0]))
    shares = np.array([[0.0], [0.1], [0.5], [0.9], [1.0]])
    np.testing.assert_allclose(LatentShares(Normal(), 1)(shares), shares, atol=1e-3)
    for shape in (skewed, student):
        latent = LatentShares(shape, 1)(shares)[:, 0]
        assert (np.diff(latent) > 0).all() and latent[0] == 0 and latent[-1] == pytest.approx(1)
        assert (latent[1:-1] > shares[1:-1, 0]).all()
        common, noise = random.normal(size=(1, 400_000)), random.normal(size=(2, 400_000))
        at = np.sqrt(latent[2]) * common + np.sqrt(1 - latent[2]) * noise
        values = [shape.multiples(stats.norm.cdf(each))[0] for each in at]
        # Heavy tails make the sample correlation uncertain: five standard errors for a t of three degrees of freedom.
        assert np.corrcoef(values)[0, 1] == pytest.approx(0.5, abs=0.03)
