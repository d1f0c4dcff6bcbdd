"""Rows unlike those of training: limits of columns, scores of rows, and a word about both."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.base import clone

import extranets
from extranets import ExtraNetsRegressor, NoveltyWarning, PBPRegressor, StackedNetsRegressor, _warnings
from extranets._warnings import muted
from extranets.predictor.novelty import MARGIN, MOST_ROWS, TAIL, Novelty, limits_of

EXTRA = ExtraNetsRegressor(3, (8,), max_iter=5, numeric_encoding=None, n_jobs=1, random_state=0)
QUICK = {
    "extra-nets": EXTRA,
    "stack": StackedNetsRegressor(effort="low", n_folds=2, noise_model="constant", n_jobs=1, random_state=0),
    "pbp": PBPRegressor((4,), max_iter=2, random_state=0),
}


def rows(n=400, seed=0):
    """Ordinary numbers; two that go together; one with a gap; yes and no; a constant."""
    random = np.random.default_rng(seed)
    a = random.normal(size=n)
    b = a + 0.05 * random.normal(size=n)
    gap = random.uniform(2, 3, size=n) * random.choice([-1, 1], size=n)
    return np.column_stack([a, b, gap, random.integers(0, 2, n), np.full(n, 0.1)])


X = rows()
TARGET = X[:, 0] + X[:, 2]


@pytest.fixture(scope="module", params=QUICK)
def model(request):
    return clone(QUICK[request.param]).fit(X, TARGET)


def middle(**values):
    """One row among the training rows, but for some values, by column."""
    row = np.array([[0.0, 0.0, 2.5, 1.0, 0.1]])
    for name, value in values.items():
        row[0, int(name[1:])] = value
    return row


def test_what_training_rows_cover_is_said_by_column(model):
    assert not model.predict_outside(X).any() and not model.predict_outside(middle()).any()
    cases = {"c0": 40.0, "c1": -40.0, "c2": 0.0, "c3": 2.0, "c4": 0.2}
    for name, value in cases.items():
        found = model.predict_outside(middle(**{name: value}))
        assert np.flatnonzero(found[0]).tolist() == [int(name[1:])], name
        assert model.predict_novelty(middle(**{name: value})).tolist() == [1.0]
    np.testing.assert_array_equal(model.predict_outside(sparse.csr_array(X * 20)), model.predict_outside(X * 20))
    assert not model.predict_outside(X.astype(np.float32))[:, 4].any()  # a constant that rounding has changed


def test_a_row_between_all_columns_limits_but_far_from_all_rows_has_a_high_score(model):
    """a and b go together; here they do not."""
    apart = middle(c0=1.5, c1=-1.5)
    assert not model.predict_outside(apart).any() and model.predict_novelty(apart)[0] > 0.99
    assert model.predict_novelty(middle(c0=1.5, c1=1.5))[0] < 0.9


def test_scores_of_rows_drawn_alike_are_about_uniform():
    """The largest difference of an empirical distribution of 2,000 rows, and one of the 400 training rows, from the true one:
    1.36 / sqrt(n) each with 95 % confidence, .03 + .07."""
    random = np.random.default_rng(0)
    learned = Novelty.learn(random.normal(size=(400, 3)).astype(np.float32))
    scores = np.sort(learned.score(random.normal(size=(2000, 3)).astype(np.float32)))
    assert np.abs(scores - np.arange(2000) / 2000).max() < 0.1
    assert abs((scores > 0.95).mean() - 0.05) < 0.03


def test_the_score_is_the_share_of_rows_that_are_less_far_from_the_others():
    kept = X[:, :3].astype(np.float32)
    learned, new = Novelty.learn(kept), rows(50, seed=1)[:, :3].astype(np.float32)
    far = [np.linalg.norm(np.delete(kept, i, axis=0) - row, axis=1).min() for i, row in enumerate(kept)]
    expected = [np.mean(np.array(far) < np.linalg.norm(kept - row, axis=1).min()) for row in new]
    np.testing.assert_allclose(learned.score(new), expected, atol=1e-9)


def test_of_many_rows_some_are_kept_and_of_many_columns_fewer():
    random = np.random.default_rng(0)
    assert Novelty.learn(random.normal(size=(2000, 3)).astype(np.float32)).rows.shape == (MOST_ROWS, 3)
    assert Novelty.learn(random.normal(size=(600, 1000)).astype(np.float32)).rows.shape == (100, 1000)


def test_the_margin_is_in_proportion_to_the_tail_and_rarely_passed():
    """An exponential tail of 1,000 rows: beyond the largest value by three times the mean excess, with probability exp(-3) / 1001 for
    each new row. Of 200 tables with 100 new rows each: 1.0 rows are to be expected, and more than 5 in fewer than one of 1,000 tries.
    """
    random, passed = np.random.default_rng(0), 0
    for _ in range(200):
        values = random.exponential(size=1100).astype(np.float32)
        begins, ends = limits_of(values[:1000])
        ordered = np.sort(values[:1000])
        excess = np.mean(ordered[-int(TAIL * 1000) :] - ordered[-1 - int(TAIL * 1000)])
        np.testing.assert_allclose(ends[-1], ordered[-1] + MARGIN * excess, rtol=1e-5)
        passed += np.count_nonzero((values[1000:] > ends[-1]) | (values[1000:] < begins[0]))
    assert passed <= 5


def test_one_outlier_does_not_hide_others():
    values = np.append(np.random.default_rng(0).uniform(18, 90, size=1000), 1e6).astype(np.float32)
    begins = limits_of(values)[0]
    assert begins[0] > -20


def test_predicting_tells_of_rows_and_columns_once_per_call():
    names = ["age", "income", "km", "yes", "same"]
    fitted = clone(EXTRA).fit(pandas.DataFrame(X, columns=names), TARGET)
    new = pandas.DataFrame(rows(10, seed=1), columns=names)
    new.loc[[3, 7], "age"] = 99.0
    new.loc[7, "km"] = 0.0
    for predict in (fitted.predict, fitted.predict_interval, fitted.predict_quantiles, fitted.predict_members):
        with pytest.warns(
            NoveltyWarning, match=r"^2 of 10 rows lie outside .*: rows 3, 7, .*'age' \(covered: .*\), 'km' \("
        ) as told:
            predict(new)
        assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(new[:3])
        with muted(NoveltyWarning):
            fitted.predict(new)
        fitted.predict_novelty(new)


def test_a_loop_over_rows_tells_once(model, monkeypatch):
    """A text is shown once for a line of code: so it must not differ from row to row. Who wants all of them gets them."""
    monkeypatch.setattr(_warnings, "_shown", set())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for value in range(40, 60):
            model.predict(middle(c0=value))
    assert len(told) == 1 and str(told[0].message).startswith("The row lies outside")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for value in range(40, 60):
            model.predict(middle(c0=value))
    assert len(told) == 20


def test_as_a_column(model):
    with pytest.warns(NoveltyWarning):
        frame = model.predict_interval(np.vstack([X[:3], middle(c0=40)]), as_frame=True, novelty=True)
    assert frame.columns.tolist() == ["prediction", "lower_90", "upper_90", "novelty"]
    assert frame["novelty"].iloc[3] == 1 and (frame["novelty"][:3] < 1).all()
    with pytest.raises(ValueError, match="as_frame=True, or call predict_novelty"):
        model.predict_interval(X, novelty=True)


def test_files_pickles_and_copies_keep_it(model, tmp_path):
    new = rows(50, seed=2) * 1.5
    model.save(tmp_path / "m.xnet")
    for copy in (extranets.load(tmp_path / "m.xnet"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict_novelty(new), model.predict_novelty(new))
        np.testing.assert_array_equal(copy.predict_outside(new), model.predict_outside(new))


def test_models_of_early_versions_say_nothing_and_refuse(model):
    old = pickle.loads(pickle.dumps(model))
    old.model_ = replace(old.model_, novelty=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        old.predict(middle(c0=40))
    assert model.knows_novelty and not old.knows_novelty
    with pytest.raises(ValueError, match="did not keep what training rows cover; call fit again"):
        old.predict_novelty(X)


@pytest.mark.parametrize(
    ("forged", "what"),
    [
        (lambda it: replace(it, rows=it.rows[:, :2]), "wrong shape"),
        (lambda it: replace(it, rows=it.rows * np.float32(np.nan)), "not finite"),
        (lambda it: replace(it, nearest=it.nearest[:-1]), "do not fit"),
        (lambda it: replace(it, nearest=it.nearest[::-1].copy()), "not in order"),
        (lambda it: replace(it, nearest=-it.nearest[::-1]), "not in order"),
        (lambda it: replace(it, rows=it.rows[:0], nearest=it.nearest[:0]), "do not fit"),
    ],
)
def test_stored_ones_are_checked(forged, what):
    learned = Novelty.learn(X.astype(np.float32))
    learned._check_stored()
    with pytest.raises(ValueError, match=what):
        forged(learned)._check_stored()
