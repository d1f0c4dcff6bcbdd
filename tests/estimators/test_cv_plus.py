"""``interval="cv+"`` of ExtraNetsRegressor: from the folds' networks and their out-of-fold errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import extranets
from extranets import BootstrapNetsRegressor, ExtraNetsRegressor, engine
from extranets.data import linear_process
from extranets.predictor.strata import Strata


def quick(**changes):
    folds = {"noise": "cv", "n_folds": 4, "interval": "cv+", "learning_rate_schedule": "linear"}
    return ExtraNetsRegressor.from_preset("paper", **{"n_estimators": 10, "random_state": 0, **folds, **changes})


@pytest.fixture(scope="module")
def table():
    return linear_process(300, random_state=1).split(200)


def test_bounds_follow_the_definition(table):
    X, y, new, _ = table
    model = quick().fit(X, y)
    kept = model.model_.intervals["cv+"]
    assert len(kept.ensembles) == 4 and set(kept.fold_of_row) == {0, 1, 2, 3}

    def predict(fold, rows):
        return model.model_.units.y.undo(engine.moments(kept.ensembles[fold])(model.model_.units.x.apply(rows))[0])[
            :, 0
        ]

    residual = np.array([abs(y[i] - predict(kept.fold_of_row[i], X[i : i + 1])[0]) for i in range(len(y))])
    centre = np.array([predict(fold, new[:5]) for fold in range(4)])[kept.fold_of_row]  # (n_train, 5)
    rank = int(np.ceil(201 * 0.9))
    upper = np.sort(centre + residual[:, None], axis=0)[rank - 1]
    lower = -np.sort(residual[:, None] - centre, axis=0)[rank - 1]
    np.testing.assert_allclose(model.predict_interval(new[:5], 0.9), np.stack([lower, upper], axis=1), rtol=1e-4)


def test_members_of_a_fold_did_not_see_it(table):
    """Targets that change places within a fold do not change the networks that left it out."""
    X, y, *_ = table
    model = quick().fit(X, y)
    fold_2 = model.model_.intervals["cv+"].fold_of_row == 2
    spoiled = y.copy()
    spoiled[fold_2] = y[fold_2][::-1]
    again = quick().fit(X, spoiled)
    for fold, (before, after) in enumerate(
        zip(model.model_.intervals["cv+"].ensembles, again.model_.intervals["cv+"].ensembles, strict=True)
    ):
        assert np.allclose(before.parameters, after.parameters, atol=1e-3) == (fold == 2)


def test_intervals_cover_new_rows():
    """10 tables of 200 rows, 1,000 test rows each."""
    covered = []
    for seed in range(10):
        X, y, new, truth = linear_process(1200, random_state=seed).split(200)
        lower, upper = quick(random_state=seed).fit(X, y).predict_interval(new, 0.9).T
        covered.append(np.mean((lower <= truth) & (truth <= upper)))
    # One table's coverage varies by sqrt(.9 * .1 / 200) = .021 with its training rows, the mean of ten by .007.
    assert 0.9 - 3 * 0.007 < np.mean(covered) < 0.97


def test_two_outputs_and_several_levels(table):
    X, y, new, _ = table
    bounds = quick().fit(X, np.column_stack([y, 5 - 10 * y])).predict_interval(new, [0.5, 0.9])
    assert bounds.shape == (100, 2, 2, 2)
    np.testing.assert_array_less(bounds[:, :, 0], bounds[:, :, 1])
    assert np.diff(bounds[:, 1, :, 1]).mean() == pytest.approx(10 * np.diff(bounds[:, 0, :, 1]).mean(), rel=0.1)


PLUS = [
    quick(),
    BootstrapNetsRegressor(
        20, hidden_layer_sizes=(8,), max_iter=30, numeric_encoding=None, interval="jackknife+", random_state=0
    ),
]


@pytest.mark.parametrize("estimator", PLUS, ids=lambda estimator: estimator.interval)
@pytest.mark.parametrize("ways", [(), ("groups",), ("weights",)], ids=lambda ways: "+".join(ways) or "plain")
def test_bounds_by_tail_by_group_and_with_weights(estimator, ways, table, tmp_path):
    X, y, new, truth = table
    near, own = (
        {name: {"groups": rows[:, 0] > 0, "weights": np.exp(rows[:, 1] / 3)}[name] for name in ways}
        for rows in (X, new)
    )
    model = clone(estimator).fit(X, y)
    joint = model.predict_interval(new, 0.8)
    bounds = model.conformalize_training_rows(**near).predict_interval(new, 0.8, **own)
    assert not np.array_equal(bounds, joint)
    assert (
        0.65 < np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])) < 0.95
    )  # 100 rows: 0.04 each way, and the model's own error
    quantiles = model.predict_quantiles(new, [0.1, 0.5, 0.9], **own)
    np.testing.assert_array_equal(bounds, quantiles[:, [0, 2]])
    dist = model.predict_dist(new, **own)
    # Of about 90 rows in a group each is worth 0.011; with weights, more.
    np.testing.assert_allclose(dist.cdf(bounds.T).T, np.tile([0.1, 0.9], (100, 1)), atol=0.025 if ways else 1e-9)
    levels = np.linspace(0.01, 0.99, 25)[:, None]
    assert (np.diff(dist.ppf(levels), axis=0) >= 0).all()
    np.testing.assert_allclose(dist.mean(), dist.ppf((np.arange(2000)[:, None] + 0.5) / 2000).mean(axis=0), atol=0.02)
    model.save(tmp_path / "model.xnet")
    again = extranets.load(tmp_path / "model.xnet")
    np.testing.assert_array_equal(again.predict_interval(new, 0.8, **own), bounds)
    if ways:
        with pytest.raises(ValueError, match=f"need {ways[0]} of the new rows"):
            model.to_onnx(tmp_path / "model.onnx")


def test_groups_of_cv_plus_see_their_own_rows_alone(table):
    X, y, new, _ = table
    group = np.arange(200) % 2
    model = quick().fit(X, y).conformalize_training_rows(groups=group, tails="joint")
    bounds = model.predict_interval(new, 0.8, groups=np.ones(100))
    kept = model.model_.intervals["cv+"]
    odd = group == 1
    fewer = replace(kept, fold_of_row=kept.fold_of_row[odd], residuals=kept.residuals[odd], strata=Strata("joint"))
    model.model_ = replace(model.model_, intervals={**model.model_.intervals, "cv+": fewer})
    np.testing.assert_array_equal(model.predict_interval(new, 0.8), bounds)


def test_other_intervals_have_no_training_rows_to_compare_with(table):
    model = quick(interval="calibrated").fit(*table[:2])
    with pytest.raises(ValueError, match="compares new rows with none of the fit"):
        model.conformalize_training_rows()
    with pytest.raises(ValueError, match="one value for each of the 200 rows"):
        quick().fit(*table[:2]).conformalize_training_rows(groups=[1, 2])


def test_fits_that_keep_no_folds_networks_are_refused(table):
    with pytest.raises(ValueError, match="noise='cv'"):
        quick(noise="holdout").fit(*table[:2])
    model = quick(interval="paper").fit(*table[:2]).set_params(interval="cv+")
    with pytest.raises(ValueError, match="call fit again"):
        model.predict_interval(table[2])


def test_a_level_that_needs_more_rows_is_warned_of(table):
    model = quick().fit(table[0][:8], table[1][:8])
    with pytest.warns(UserWarning, match="8 rows are too few"):
        assert np.isinf(model.predict_interval(table[2], 0.9)).all()
