"""A search for parameters of a stack: what is tried, how it is judged, and what the clock does to it."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas
import pytest
from scipy import sparse

import extranets
from extranets import StackedNetsRegressor, tune
from extranets.engine import TrainingDiverged
from extranets.tables import TableRegressor
from extranets.tuning.budget import Clock, Tuning, _obstacle
from extranets.tuning.candidates import DEFAULT, SEARCHED, cost, steps
from extranets.tuning.search import Search, Stopped

QUICK = {"effort": "low", "n_folds": 2, "noise_model": "constant"}  # fits in hundredths of a second
USUAL = StackedNetsRegressor().get_params()


def waves(n, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 2))
    return X, np.sin(6 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * random.normal(size=n)


def search_of(X, y, scoring="rmse", weight=None, **fixed):
    default = StackedNetsRegressor(random_state=0, **{**QUICK, **fixed}).fit(X, y, weight)
    return Search(default, 1.0, scoring, lambda model: model.fit(X, y, weight))


# -- candidates ----------------------------------------------------------------------------------------------------------


def test_other_values_than_the_defaults_are_tried_one_parameter_after_the_other():
    tried = dict(steps(USUAL, {}, n_folds=8, n_rows=2000))
    assert tuple(tried) == SEARCHED and set(SEARCHED) <= set(USUAL)
    assert all(values and USUAL[name] not in values for name, values in tried.items())
    assert tried["n_folds"] == [16] and dict(steps(USUAL, {}, n_folds=8, n_rows=12))["n_folds"] == [12]
    assert all(StackedNetsRegressor(**{name: value}).check_values() is None for name in tried for value in tried[name])


def test_what_is_fixed_is_not_searched():
    assert [name for name, _ in steps(USUAL, {"effort": "low", "n_folds": 5}, 5, 2000)] == [
        "keep_prob",
        "members_per_fold",
    ]


def test_a_fit_costs_in_proportion_to_its_networks():
    known = cost(USUAL, 5)
    assert cost({**USUAL, "n_folds": 10}, 5) == cost({**USUAL, "members_per_fold": 2}, 5) == 2 * known
    assert cost({**USUAL, "effort": "low"}, 5) < known < cost({**USUAL, "effort": "high"}, 5)


# -- one candidate after the other ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["rmse", "interval_score"])
def test_the_best_that_was_fitted_is_kept_and_scores_are_multiples_of_the_defaults(scoring):
    X, y = waves(200)
    search = search_of(X, y, scoring)
    default = search.best.held_out_scores_[scoring]
    for candidate in ({"keep_prob": 0.3}, {"members_per_fold": 2}, {"n_folds": 6}):
        trial = search.run(candidate)
        alone = StackedNetsRegressor(random_state=0, **{**QUICK, **candidate}).fit(X, y)
        assert trial.score == pytest.approx(alone.held_out_scores_[scoring] / default, rel=1e-12)
    assert search.trials[0].candidate == DEFAULT and len(search.trials) == 4
    assert search.leader.score == min(trial.score for trial in search.trials)
    assert search.best.held_out_scores_[scoring] == pytest.approx(default * search.leader.score, rel=1e-12)
    assert {name: search.best.get_params()[name] for name in search.leader.candidate} == search.leader.candidate


def test_the_default_stays_where_nothing_is_gained():
    X, _ = waves(100)
    search = search_of(X, np.full(100, 3.0))
    default = search.best
    assert search.run({"keep_prob": 0.5}).score == 1.0 and search.best is default and search.leader.candidate == DEFAULT


def test_outputs_count_alike_whatever_their_units():
    X, y = waves(150)
    both = np.column_stack([y, X[:, 1] ** 2, np.full(150, 2.0)])
    scores = [search_of(X, both * units).run({"keep_prob": 0.5}).score for units in ([1, 1, 1], [1e6, 1e-3, 1])]
    assert scores[0] == pytest.approx(scores[1], rel=1e-3)


def test_a_candidate_is_stopped_in_the_middle_of_its_training():
    search = search_of(*waves(3000))
    before = (search.best, list(search.trials))
    asked = []

    def stop():
        asked.append(time.monotonic())
        raise Stopped

    assert search.run({"members_per_fold": 200}, stop) is None and (search.best, search.trials) == before
    assert time.monotonic() - asked[-1] < 2  # a whole fit takes much longer


def test_a_candidate_that_cannot_be_trained_drops_out_and_an_error_in_our_code_does_not():
    search = search_of(*waves(100))
    default = search.best

    def diverge(model):
        raise TrainingDiverged("not finite")

    search.fit = diverge
    assert search.run({"keep_prob": 0.8}).score == math.inf and search.best is default
    with pytest.raises(ValueError, match="keep_prob"):
        search_of(*waves(100)).run({"keep_prob": 2.0})


# -- the clock -----------------------------------------------------------------------------------------------------------


def tuning_of(search, left, seconds, **fixed):
    """With some seconds left, and a default's fit that took ``seconds``."""
    search.trials[0] = type(search.trials[0])(DEFAULT, 1.0, seconds)
    return Tuning(search, fixed, Clock(left), None)


def test_what_would_take_too_long_is_not_begun():
    X, _ = waves(100)
    search = search_of(X, np.full(100, 3.0), effort="medium")  # nothing can be gained, so the default stays the measure
    tuning_of(search, left=50.0, seconds=30.0, keep_prob=0.9).run()
    assert [trial.candidate for trial in search.trials] == [DEFAULT]  # all that is left to try takes twice as long
    tuning_of(search, left=50.0, seconds=30.0).run()
    assert {name for trial in search.trials for name in trial.candidate} == {"keep_prob"}


def test_each_step_begins_with_the_best_of_those_before():
    search = search_of(*waves(150), effort="medium")
    tuning_of(search, left=1e6, seconds=0.1).run()
    kept = DEFAULT
    for name in SEARCHED:
        tried = [
            trial
            for trial in search.trials
            if name in trial.candidate and {**trial.candidate, name: 0} == {**kept, name: 0}
        ]
        assert tried, name
        best = min(tried, key=lambda trial: trial.score)
        known = next(trial for trial in search.trials if trial.candidate == kept)
        kept = best.candidate if best.score < known.score else kept
    assert search.leader.candidate == kept


def test_a_budget_that_the_default_nearly_fills_is_not_searched():
    default = search_of(*waves(100)).best
    assert "no time for a search" in _obstacle(default, Clock(10.0, begin=time.monotonic() - 6.0))
    assert _obstacle(default, Clock(10.0, begin=time.monotonic() - 2.0)) is None


# -- tune ----------------------------------------------------------------------------------------------------------------


def test_tune_gives_a_fitted_stack_that_was_no_worse_than_the_default(capfd):
    X, y = waves(300)
    model = tune(X, y, budget=60, random_state=0, **QUICK)
    assert type(model) is StackedNetsRegressor and model.effort == "low" and model.random_state == 0
    assert model.predict_interval(X, 0.9).shape == (300, 2) and model.fit_info_["n_rows"] == 300
    best = model.tuning_[0]
    assert set(best) == {"parameters", "score", "seconds"} and best["score"] <= 1.0
    assert [each["score"] for each in model.tuning_] == sorted(each["score"] for each in model.tuning_)
    assert [each["score"] for each in model.tuning_ if not each["parameters"]] == [1.0]
    assert {name: model.get_params()[name] for name in best["parameters"]} == best["parameters"]
    default = StackedNetsRegressor(random_state=0, **QUICK).fit(X, y)
    assert model.held_out_scores_["rmse"] == pytest.approx(best["score"] * default.held_out_scores_["rmse"], rel=1e-12)
    out, errors = capfd.readouterr()
    assert out == "" and errors.startswith("Tuning") and errors.count("\n") == 1


def test_the_model_is_what_its_parameters_make_of_the_table():
    X, y = waves(200)
    model = tune(X, y, budget=60, verbose=0, **QUICK)
    again = StackedNetsRegressor(**model.get_params()).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_record_is_not_stored_in_a_model_file(tmp_path):
    X, y = waves(100)
    model = tune(X, y, budget=1, random_state=0, verbose=0, **QUICK)
    model.save(tmp_path / "m.xnet")
    loaded = extranets.load(tmp_path / "m.xnet")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert not hasattr(loaded, "tuning_")


def test_tables_weights_outputs_and_sparse_columns(capfd):
    X, y = waves(120)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    both, weight = np.column_stack([y, -y]), np.arange(120)
    random = np.random.RandomState(0)
    model = tune(frame, both, 1, sample_weight=weight, random_state=random, n_jobs=1, verbose=0, **QUICK)
    assert model.predict(frame).shape == (120, 2) and list(model.feature_names_in_) == ["a", "b"]
    assert model.fit_info_["n_rows"] == 119 and model.n_jobs == 1
    assert tune(sparse.csr_matrix(X), y, budget=1, random_state=0, verbose=0, **QUICK).predict(X).shape == (120,)
    assert capfd.readouterr() == ("", "")


def test_a_budget_that_is_too_small_gives_the_default_and_a_warning():
    X, y = waves(100)
    with pytest.warns(UserWarning, match=r"fit took .* s, so a budget of 0.001 s has no time for a search"):
        model = tune(X, y, budget=0.001, verbose=0, random_state=0, **QUICK)
    usual = StackedNetsRegressor(random_state=0, **QUICK).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), usual.predict(X))
    assert [each["parameters"] for each in model.tuning_] == [{}]
    with pytest.warns(UserWarning, match="at least 50 rows"):
        tune(X[:40], y[:40], budget=30, verbose=0, **QUICK)


def test_data_and_arguments_that_cannot_be_used_are_refused_before_any_search():
    X, y = waves(60)
    holed = X.copy()
    holed[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tune(holed, y, verbose=0)
    with pytest.raises(ValueError, match="inconsistent"):
        tune(X, y[:-1], verbose=0)
    with pytest.raises(TypeError, match="n_estimators"):
        tune(X, y, n_estimators=3)
    with pytest.raises(ValueError, match="keep_prob"):
        tune(X, y, keep_prob=2, verbose=0)
    for budget in (0, -1, math.inf, math.nan, "long"):
        with pytest.raises(ValueError, match="budget must be a positive number of seconds"):
            tune(X, y, budget)
    with pytest.raises(ValueError, match="scoring must be one of"):
        tune(X, y, scoring="r2")


def test_a_table_of_mixed_columns_is_tuned_as_it_is_encoded():
    X, y = waves(120)
    frame = pandas.DataFrame({"a": X[:, 0], "word": np.where(X[:, 1] > 0, "up", "down")})
    model = TableRegressor().fit_with(frame, y, lambda encoded: tune(encoded, y, 1, verbose=0, **QUICK))
    assert model.predict(frame).shape == (120,) and hasattr(model.regressor_, "tuning_")


INTERRUPTED = """
    import sys
    import numpy as np
    from extranets import tune
    from extranets.tuning.search import Search
    X = np.random.default_rng(0).normal(size=(2000, 5)); y = X[:, 0] ** 2
    run = Search.run

    def told(self, *arguments):
        print("searching", flush=True)
        return run(self, *arguments)

    Search.run = told
    try:
        tune(X, y, budget=600, random_state=0, effort="low", members_per_fold=10)
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_a_search():
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "searching\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=30)
    assert out == "stopped\n" and child.returncode == 0 and "stopped" in errors
