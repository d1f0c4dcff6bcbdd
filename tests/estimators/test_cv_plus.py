"""``interval="cv+"`` of ExtraNetsRegressor: from the folds' networks and their out-of-fold errors."""

from __future__ import annotations

import numpy as np
import pytest

from extranets import ExtraNetsRegressor, engine
from extranets.data import linear_process


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
