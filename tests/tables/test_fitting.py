"""From a table to a model that can be saved: the order of the steps, and what is left in the model."""

from __future__ import annotations

import warnings

import numpy as np
import pandas
import pytest
from sklearn.base import clone

from extranets import ExtraNetsRegressor, StackedNetsRegressor
from extranets.evaluation import cross_validate
from extranets.tables import Listener, Schema, TableRegressor, cross_validate_table, fit_table, fit_tuned


@pytest.fixture(scope="module")
def table():
    """Answers are yes or no, except for one "maybe": in a fold without it they look like truth values."""
    random = np.random.default_rng(0)
    answers = np.where(random.uniform(size=90) < 0.5, "yes", "no").astype(object)
    answers[7] = "maybe"
    frame = pandas.DataFrame({"answer": answers, "size": random.normal(size=90)})
    return frame, frame["size"].to_numpy() + (answers == "yes")


def small(**parameters):
    return TableRegressor(ExtraNetsRegressor(3, (8,), max_iter=5, random_state=0, n_jobs=1), **parameters)


QUICK = {"effort": "low", "n_folds": 2, "noise_model": "constant"}


def stack():
    return TableRegressor(StackedNetsRegressor(**QUICK, random_state=0, n_jobs=1))


class Recorder(Listener):
    def __init__(self):
        self.steps = []

    def learned(self, schema):
        self.steps.append(("learned", schema.kinds()))

    def tuned(self, model):
        self.steps.append(("tuned", len(model.regressor_.tuning_) > 0))

    def begins_fold(self, number, n_folds):
        self.steps.append(("fold", number, n_folds))

    def begins_fit(self):
        self.steps.append(("fit",))


@pytest.fixture
def learned_from(monkeypatch):
    """The numbers of rows that a schema was learned from, in order."""
    seen, learn = [], Schema.learn.__func__
    monkeypatch.setattr(
        Schema, "learn", classmethod(lambda cls, X, *a, **k: seen.append(len(X)) or learn(cls, X, *a, **k))
    )
    return seen


def test_columns_are_learned_once_from_all_rows_and_then_by_each_fold(table, learned_from):
    fit_table(small(), *table, n_folds=3)
    assert learned_from == [90, 60, 60, 60]


def test_columns_are_learned_once_before_a_search(table, learned_from):
    with pytest.warns(UserWarning, match="The default is returned"):
        fit_table(stack(), *table, budget=1e-6, n_folds=0)
    assert learned_from == [90]


def test_a_schema_that_was_learned_before_changes_nothing(table):
    X, y = table
    schema = small().learn_schema(X)
    model, again = (
        small().fit(X, y),
        small().fit_with(X, y, lambda encoded: clone(small().estimator).fit(encoded, y), schema=schema),
    )
    assert again.schema_ is schema and schema == model.schema_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_parameters_are_checked_whether_or_not_there_is_a_schema(table):
    X, y = table
    schema = small().learn_schema(X)
    for call in (
        lambda model: model.learn_schema(X),
        lambda model: model.fit_with(X, y, lambda encoded: None, schema=schema),
    ):
        with pytest.raises(ValueError, match="max_categories must be a whole number"):
            call(small(max_categories=0))


def test_the_steps_come_in_order(table):
    told = Recorder()
    found = fit_table(small(), *table, n_folds=2, listener=told)
    kinds = {"answer": "category", "size": "number:1234.5"}
    assert told.steps == [("learned", kinds), ("fold", 1, 2), ("fold", 2, 2), ("fit",)]
    assert sorted(found.rows.tolist()) == list(range(90)) and found.coverage == 0.9


def test_without_folds_there_is_no_judgement(table):
    told, model = Recorder(), small()
    assert fit_table(model, *table, n_folds=0, listener=told) is None
    assert [step[0] for step in told.steps] == ["learned", "fit"]
    np.testing.assert_array_equal(model.predict(table[0]), small().fit(*table).predict(table[0]))


def test_every_fold_reads_the_columns_as_all_rows_show_them(table):
    """A fold that took the answers for truth values could not read "maybe"; nor is a new category refused or warned of."""
    X, y = table
    model = small(strict=True)
    schema = model.learn_schema(X)
    with pytest.raises(ValueError, match="maybe"):
        cross_validate(model, X, y, n_folds=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cross_validate_table(model, X, y, schema, n_folds=3)
    expected = cross_validate(small(kinds=schema.kinds()), X, y, n_folds=3)
    np.testing.assert_array_equal(found.bounds, expected.bounds)
    assert model.kinds is None and model.strict


def test_a_search_leaves_its_settings_in_the_estimator():
    random = np.random.default_rng(1)
    frame = pandas.DataFrame({"size": random.normal(size=200)})
    y = np.sin(3 * frame["size"].to_numpy())
    told, model = Recorder(), stack()
    fit_table(model, frame, y, budget=3, fixed={**QUICK, "random_state": 9}, n_folds=2, listener=told)
    assert [step[0] for step in told.steps] == ["learned", "tuned", "fold", "fold"] and told.steps[1] == ("tuned", True)
    assert model.estimator.get_params() == model.regressor_.get_params()
    found = model.regressor_.tuning_[0]["parameters"]
    assert {name: getattr(model.estimator, name) for name in found} == found
    assert model.estimator.effort == "low" and model.estimator.n_folds == 2
    assert model.estimator.random_state == 0, "the estimator's own parameters go before those that are fixed"


def test_folds_after_a_silent_search_show_the_progress_that_was_asked_for(table):
    model = stack().set_params(estimator__verbose=1)
    with pytest.warns(UserWarning, match="The default is returned"):
        fit_tuned(model, *table, 1e-6)
    assert model.estimator.verbose == 1 and model.regressor_.verbose == 0 and model.estimator.n_jobs == 1


def test_only_a_stack_is_searched_for(table):
    with pytest.raises(TypeError, match="StackedNetsRegressor; the settings of ExtraNetsRegressor are not"):
        fit_tuned(small(), *table, 1.0)


def test_threads_and_progress_are_not_kept(table, capfd):
    model = small().set_params(estimator__verbose=1)
    fit_table(model, *table, n_folds=0)
    assert "Training" in capfd.readouterr().err
    for network in (model.estimator, model.regressor_):
        assert network.n_jobs is None and network.verbose == 0
