"""Ridge regressions of folds: the same as scikit-learn's on the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from extranets import engine
from extranets.held_out import Plan
from extranets.stacking import linear
from extranets.stacking.linear import PENALTIES, fit_ridge
from tests.stacking.tables import in_folds, linear_table, sample_of


def models_of(ensemble):
    """Slopes and intercepts of every fold. Shapes: ``(n_folds, k, n_outputs)``, ``(n_folds, n_outputs)``."""
    shape = ensemble.members.architecture
    rows = ensemble.parameters.reshape(len(ensemble), shape.n_inputs + 1, shape.n_outputs).astype(np.float64)
    return rows[:, :-1], rows[:, -1]


def theirs(sample, plan, fold, penalty):
    """Theirs on the rows that a fold's model sees, with a penalty in units of these rows' weight."""
    kept = plan.seen(fold)
    model = Ridge(alpha=penalty * sample.weight[kept].sum(), solver="svd")
    return model.fit(sample.X[kept].astype(np.float64), sample.y[kept].astype(np.float64), sample.weight[kept])


def out_of_fold_error(sample, plan, penalty):
    total = 0.0
    for fold in range(plan.n_folds):
        held = plan.fold_of_row == fold
        errors = theirs(sample, plan, fold, penalty).predict(sample.X[held]).reshape(held.sum(), -1) - sample.y[held]
        total += float(sample.weight[held] @ (errors**2).sum(axis=1))
    return total


def weights_for(n, weighted):
    return np.random.default_rng(5).uniform(0.1, 4, size=n) if weighted else None


TABLES = [
    # rows, columns, outputs, folds, noise, weighted
    (60, 4, 1, 5, 0.5, False),
    (60, 4, 3, 5, 0.5, True),
    (40, 30, 1, 4, 5.0, True),
    (25, 60, 2, 5, 1.0, True),  # more columns than rows
    (20, 20, 1, 10, 3.0, False),
    (12, 3, 1, 12, 1.0, True),  # one row for each fold
]
EVERY = pytest.mark.parametrize(("n", "k", "n_outputs", "n_folds", "noise", "weighted"), TABLES)


@EVERY
@pytest.mark.parametrize("penalty", PENALTIES[::4])
def test_it_is_scikit_learns(n, k, n_outputs, n_folds, noise, weighted, penalty, monkeypatch):
    """To single precision, in which parameters are stored; both start from the same numbers."""
    monkeypatch.setattr(linear, "PENALTIES", np.array([penalty]))
    sample = sample_of(*linear_table(n, k, n_outputs, noise), weights_for(n, weighted))
    plan = in_folds(n, n_folds)
    slopes, intercepts = models_of(fit_ridge(sample, plan))
    for fold in range(n_folds):
        model = theirs(sample, plan, fold, penalty)
        np.testing.assert_allclose(slopes[fold], np.reshape(model.coef_, (n_outputs, k)).T, atol=3e-6)
        np.testing.assert_allclose(intercepts[fold], np.ravel(model.intercept_), atol=3e-6)


@EVERY
def test_the_penalty_is_that_of_the_smallest_out_of_fold_error(n, k, n_outputs, n_folds, noise, weighted):
    sample = sample_of(*linear_table(n, k, n_outputs, noise), weights_for(n, weighted))
    plan = in_folds(n, n_folds)
    best = min(PENALTIES, key=lambda penalty: out_of_fold_error(sample, plan, penalty))
    slopes, _ = models_of(fit_ridge(sample, plan))
    expected = np.reshape(theirs(sample, plan, 0, best).coef_, (n_outputs, k)).T
    np.testing.assert_allclose(slopes[0], expected, atol=3e-6)


def test_the_penalty_follows_the_noise(monkeypatch):
    """Little for a linear table without noise, the most where there is nothing but noise."""
    sizes = [
        np.abs(models_of(fit_ridge(sample_of(*linear_table(noise=noise)), in_folds(120, 5)))[0]).mean()
        for noise in (0, 1e4)
    ]
    assert sizes[0] > 0.1 and sizes[1] < 0.03


def test_closed_form_with_one_column(monkeypatch):
    """slope = cov(x, y) / (var(x) + penalty), weighted, in the rows that are kept."""
    monkeypatch.setattr(linear, "PENALTIES", np.array([0.3]))
    sample, plan = sample_of(*linear_table(30, 1), np.linspace(1, 3, 30)), in_folds(30, 3)
    slopes, intercepts = models_of(fit_ridge(sample, plan))
    for fold in range(3):
        kept = plan.seen(fold)
        x, y, w = sample.X[kept, 0].astype(np.float64), sample.y[kept, 0].astype(np.float64), sample.weight[kept]
        mx, my = np.average(x, weights=w), np.average(y, weights=w)
        slope = np.average((x - mx) * (y - my), weights=w) / (np.average((x - mx) ** 2, weights=w) + 0.3)
        np.testing.assert_allclose(slopes[fold].item(), slope, atol=1e-6)
        np.testing.assert_allclose(intercepts[fold].item(), my - slope * mx, atol=1e-6)


def test_models_that_look_back_see_earlier_rows_only(monkeypatch):
    monkeypatch.setattr(linear, "PENALTIES", PENALTIES[3:4])
    sample = sample_of(*linear_table(50))
    plan = Plan(np.repeat([0, 2, -1, 1, 2], 10), 3, 1, looks_back=True)
    slopes, _ = models_of(fit_ridge(sample, plan))
    for fold, n_seen in enumerate([40, 30, 10]):
        assert plan.seen(fold).sum() == n_seen
        np.testing.assert_allclose(np.ravel(slopes[fold]), theirs(sample, plan, fold, PENALTIES[3]).coef_, atol=3e-6)


def test_rows_in_no_fold_are_seen_by_all_models(monkeypatch):
    monkeypatch.setattr(linear, "PENALTIES", np.array([0.01]))
    sample, plan = sample_of(*linear_table(50)), Plan(np.r_[np.full(20, -1), np.arange(30) % 2], 2, 1)
    slopes, _ = models_of(fit_ridge(sample, plan))
    for fold in range(2):
        np.testing.assert_allclose(slopes[fold, :, 0], np.ravel(theirs(sample, plan, fold, 0.01).coef_), atol=3e-6)


def test_they_predict_as_networks_without_hidden_layers():
    sample, plan = sample_of(*linear_table(40, 3, 2)), in_folds(40, 4, n_members=7)
    ensemble = fit_ridge(sample, plan)
    slopes, intercepts = models_of(ensemble)
    assert len(ensemble) == 4 and ensemble.members.architecture.hidden == ()
    np.testing.assert_array_equal(Plan(plan.fold_of_row, 4, 1).fold_of_member(ensemble.members.ids), range(4))
    expected = np.einsum("nk,fko->fno", sample.X, slopes) + intercepts[:, None]
    np.testing.assert_allclose(engine.forward(ensemble, sample.X), expected, atol=1e-5)


@pytest.mark.parametrize("heavy", [1e6, 1e9, 1e12])
def test_a_row_with_nearly_all_of_the_weight_does_not_blur_the_others(heavy, monkeypatch):
    monkeypatch.setattr(linear, "PENALTIES", np.array([1e-5]))
    sample, plan = sample_of(*linear_table(60, 4), np.where(np.arange(60) == 3, heavy, 1.0)), in_folds(60, 5)
    fold = plan.fold_of_row[3]  # whose model does not see it
    slopes, _ = models_of(fit_ridge(sample, plan))
    expected = np.ravel(theirs(sample, plan, fold, 1e-5).coef_)
    np.testing.assert_allclose(slopes[fold, :, 0], expected, atol=1e-5 * np.abs(expected).max())


def test_columns_that_are_constant_or_copies():
    """Also where a level occurs in one fold alone, so that other rows have a constant column."""
    X, y = linear_table(30, 3)
    X = np.column_stack([X, X[:, 0], np.full(30, 2.0), np.arange(30) == 4])
    slopes, _ = models_of(fit_ridge(sample_of(X, y), in_folds(30, 5)))
    assert np.isfinite(slopes).all()
    np.testing.assert_allclose(slopes[:, 0], slopes[:, 3], atol=1e-5)
    np.testing.assert_array_equal(slopes[:, 4], 0)


def test_a_constant_target_has_no_slope():
    slopes, intercepts = models_of(fit_ridge(sample_of(linear_table(30)[0], np.full(30, 5.0)), in_folds(30, 5)))
    np.testing.assert_array_equal(slopes, 0)
    np.testing.assert_array_equal(intercepts, 0)


@pytest.mark.parametrize(("n", "k", "fits"), [(30, 11, True), (9, 40, True), (30, 40, False)])
def test_too_many_rows_and_columns_are_left_to_networks(n, k, fits, monkeypatch):
    monkeypatch.setattr(linear, "MOST_COLUMNS", 11)
    assert (fit_ridge(sample_of(*linear_table(n, k)), in_folds(n, 3)) is not None) == fits
