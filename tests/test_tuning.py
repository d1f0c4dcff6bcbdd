"""A search for settings: what is tried, how it is judged, who stays, and what the clock does to it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
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
from extranets import ExtraNetsRegressor, tune
from extranets.metrics import rmse
from extranets.tables import TableRegressor
from extranets.tuning.budget import Clock, Tuning
from extranets.tuning.candidates import DEFAULT, candidates, parameters, work
from extranets.tuning.halving import Search
from extranets.tuning.trials import Rung, Stop, Stopped, TrialRegressor

QUICK = {"n_estimators": 3, "max_iter": 5, "n_folds": 2, "noise_model": "constant"}  # fits in hundredths of a second
FEW = {"n_estimators": 3, "noise_model": "constant"}


def waves(n, seed=0):
    """A target that bends more often than the default's bins can follow."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 2))
    return X, np.sin(25 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * random.normal(size=n)


def tuning_of(X, y, fixed, weight=None):
    default = ExtraNetsRegressor(**fixed, random_state=0).fit(X, y, weight)
    return Tuning(default, fixed, Clock(1e6), 1.0, None)


def search_of(X, y, fixed, *, n_rivals=6, rivals=None, scoring="interval_score", weight=None, n_jobs=None):
    """A search without a clock."""
    tuning = tuning_of(X, y, {**fixed, "n_jobs": n_jobs}, weight)
    trials = tuning._trials(X, y, weight, scoring, seed=0)
    if rivals is None:
        rivals = list(itertools.islice(candidates(tuning.default, fixed, seed=0), n_rivals))
    return Search(rivals, trials, lambda candidate: work(candidate, tuning.default))


@pytest.fixture(scope="module")
def default():
    return ExtraNetsRegressor(**FEW, random_state=0).fit(*waves(200))


# -- candidates ----------------------------------------------------------------------------------------------------------


def test_candidates_differ_from_the_default_and_from_each_other(default):
    drawn = list(itertools.islice(candidates(default, FEW, seed=0), 60))
    usual = {**default.get_params(), **default.settings_, "max_iter": 1}
    assert DEFAULT not in drawn and all(first != second for first, second in itertools.combinations(drawn, 2))
    assert all(value != usual[name] for candidate in drawn for name, value in candidate.items())
    searched = {
        "numeric_encoding",
        "n_bins",
        "hidden_layer_sizes",
        "learning_rate_init",
        "alpha",
        "keep_prob",
        "max_iter",
    }
    assert set().union(*drawn) == searched
    assert {candidate.get("learning_rate_init", 0.005) for candidate in drawn} == {0.0025, 0.005, 0.01}
    assert drawn == list(itertools.islice(candidates(default, FEW, seed=0), 60))
    assert drawn != list(itertools.islice(candidates(default, FEW, seed=1), 60))


def test_what_is_fixed_is_not_searched(default):
    fixed = {"alpha": 0.3, "keep_prob": 0.7, "max_iter": 9, "hidden_layer_sizes": (7,), "learning_rate_init": 0.1}
    drawn = list(candidates(default, {**fixed, "numeric_encoding": "piecewise_linear"}, seed=0))
    assert sorted(candidate["n_bins"] for candidate in drawn) == [8, 32, 64] and all(len(each) == 1 for each in drawn)
    assert list(candidates(default, {**fixed, "numeric_encoding": None}, seed=0)) == []
    assert list(candidates(default, {**fixed, "numeric_encoding": "auto"}, seed=0)) == []
    kept_bins = list(candidates(default, {**fixed, "n_bins": 16}, seed=0))
    assert sorted(str(each["numeric_encoding"]) for each in kept_bins) == ["None", "periodic"]


def test_epochs_are_a_multiple_of_what_the_rows_ask_for(default):
    assert parameters({"max_iter": 4}, default, 2000)["max_iter"] == 4 * 60
    assert parameters({"max_iter": 4}, default, 100_000)["max_iter"] == 4 * 40
    assert "max_iter" not in parameters(DEFAULT, default, 2000)
    assert parameters(DEFAULT, default, 2000) == {"numeric_encoding": default.settings_["numeric_encoding"]}


def test_work_grows_with_units_and_epochs(default):
    assert work(DEFAULT, default) == 1.0
    assert work({"hidden_layer_sizes": (50,)}, default) < 1 < work({"hidden_layer_sizes": (200, 200)}, default)
    assert work({"max_iter": 4}, default) == 4.0
    assert work({"hidden_layer_sizes": 50}, default) == work({"hidden_layer_sizes": (50,)}, default)


# -- trials --------------------------------------------------------------------------------------------------------------


def test_candidates_are_judged_on_the_same_rows_from_the_same_starts():
    """A candidate that spells out the default's settings scores like it, whatever the others do; other splits differ."""
    trials = search_of(*waves(300), QUICK).trials
    spelled = {"keep_prob": 0.9, "alpha": 0.05, "n_bins": 16}
    rung = Rung(2, 3, 200, 2)
    own, other, same = trials.run([DEFAULT, {"alpha": 0.2}, spelled], rung, [3, 4], Stop())
    assert own.scores == same.scores != other.scores and own.scores[0] != own.scores[1]
    (alone,) = trials.run([DEFAULT], Rung(0, 3, 200, 1), [4], Stop())
    assert alone.scores == own.scores[1:] and alone.seconds > 0
    for other_rung in (Rung(0, 3, 300, 1), Rung(0, 4, 200, 1)):
        (other,) = trials.run([DEFAULT], other_rung, [4], Stop())
        assert other.scores != alone.scores


def test_training_network_after_network_gives_the_same_bits():
    X, y = waves(150)
    parameters = {"n_estimators": 3, "max_iter": 5, "noise": "holdout", "numeric_encoding": None, "random_state": 0}
    trial = TrialRegressor(**parameters)
    trial.stop = Stop()
    whole = ExtraNetsRegressor(**parameters).fit(X, y)
    np.testing.assert_array_equal(trial.fit(X, y).predict(X), whole.predict(X))
    np.testing.assert_array_equal(trial.loss_curve_, whole.loss_curve_)
    assert trial.held_out_scores_ == whole.held_out_scores_


def test_a_trial_can_be_stopped_between_networks():
    over, asked = Stop(deadline=time.monotonic() - 1), Stop()
    asked.asked.set()
    trials = search_of(*waves(100), QUICK).trials
    for stop in (over, asked):
        trial = TrialRegressor(3, max_iter=5, noise="holdout", numeric_encoding=None)
        trial.stop = stop
        with pytest.raises(Stopped):
            trial.fit(*waves(100))
        assert trials.run([DEFAULT], Rung(0, 3, 100, 2), [0, 1], stop) == [None]


def test_outputs_count_alike_whatever_their_units():
    X, y = waves(200)
    both = np.column_stack([y, X[:, 1] ** 2])
    scores = []
    for units in ([1, 1], [1e6, 1e-3]):
        trials = search_of(X, both * units, QUICK, scoring="rmse").trials
        (outcome,) = trials.run([DEFAULT], Rung(0, 3, 200, 1), [0], Stop())
        scores.append(outcome.scores[0])
    assert scores[0] == pytest.approx(scores[1], rel=1e-3) and 0 < scores[0] < 2


def test_rows_of_weight_zero_do_not_count():
    X, y = waves(300)
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    spoiled = np.where(weight > 0, y, 1e9)
    rung = Rung(0, 3, 300, 2)
    with_weight = search_of(X, spoiled, QUICK, weight=weight).trials.run([DEFAULT], rung, [0, 1], Stop())
    without = search_of(X[:200], y[:200], QUICK).trials.run([DEFAULT], rung, [0, 1], Stop())
    assert with_weight[0].scores == without[0].scores
    uneven = dataclasses.replace(search_of(X[:200], y[:200], QUICK).trials, weight=np.arange(1.0, 201.0))
    assert uneven.run([DEFAULT], rung, [0, 1], Stop())[0].scores != without[0].scores


# -- halving -------------------------------------------------------------------------------------------------------------

RUNGS = (Rung(6, 3, 150, 1), Rung(2, 3, 200, 2), Rung(1, 4, 200, 2))


def run_all(search, rungs=RUNGS):
    for rung in rungs:
        assert search.run(rung)
    return search


def test_a_schedule_gives_the_same_standings_on_any_number_of_threads():
    found = []
    for n_jobs in (1, 2):
        search = run_all(search_of(*waves(200), QUICK, n_jobs=n_jobs))
        found.append([(standing.candidate, standing.rung, standing.score) for standing in search.standings()])
    assert found[0] == found[1]


def test_the_better_ones_stay_and_the_default_with_them():
    search = run_all(search_of(*waves(200), QUICK))
    standings = search.standings()
    assert [standing.rung for standing in standings] == [3] * 2 + [2] * 3 + [1] * 7
    for rung, n_splits in ((1, 1), (2, 2), (3, 2)):
        of_rung = [standing for standing in standings if standing.rung == rung]
        assert [standing.score for standing in of_rung] == sorted(standing.score for standing in of_rung)
        (own,) = [standing for standing in of_rung if standing.candidate == DEFAULT]
        assert own.score == 1.0 and own.n_splits == n_splits
    first = [standing.candidate for standing in standings if standing.rung == 1 and standing.candidate]
    second = [standing.candidate for standing in standings if standing.rung == 2 and standing.candidate]
    assert all(candidate in first[:2] for candidate in second)
    assert search.best == standings[0] and search.n_splits == 5


def test_the_best_of_one_rung_is_taken_only_if_it_is_good_again():
    search = search_of(*waves(200), QUICK)
    assert search.best is None
    search.run(RUNGS[0])
    assert search.rivals and search.best.candidate == DEFAULT == search.standings()[0].candidate
    search.run(RUNGS[1])
    assert search.best.score == min(standing.score for standing in search.last)


def test_scores_are_multiples_of_the_defaults_split_by_split():
    search = search_of(*waves(200), QUICK, rivals=[{"keep_prob": 0.8}])
    search.run(Rung(1, 3, 150, 3))
    default, rival = search.trials.run([DEFAULT, {"keep_prob": 0.8}], Rung(1, 3, 150, 3), [0, 1, 2], Stop())
    expected = np.mean(np.divide(rival.scores, default.scores))
    assert search.last[1].score == pytest.approx(expected, rel=1e-12) and search.last[1].candidate == {"keep_prob": 0.8}


def test_a_candidate_that_cannot_be_trained_drops_out():
    rivals = [{"learning_rate_init": 1e30}, {"alpha": 0.2}]
    search = search_of(*waves(150), QUICK, rivals=rivals)
    assert search.run(Rung(2, 3, 150, 1))
    assert [standing.score for standing in search.last if standing.candidate == rivals[0]] == [math.inf]
    assert search.rivals == [{"alpha": 0.2}]


def test_an_error_in_our_code_is_not_taken_for_a_bad_candidate():
    stop = Stop()
    with pytest.raises(ValueError, match="n_bins"):
        search_of(*waves(100), QUICK, rivals=[{"n_bins": 0}]).run(Rung(1, 3, 100, 1), stop)
    assert stop.asked.is_set()  # so the other trials end soon, too


def test_a_rung_without_time_changes_nothing():
    search = search_of(*waves(150), QUICK)
    assert search.run(Rung(3, 3, 150, 1))
    before = (search.standings(), search.rivals, search.best)
    assert not search.run(Rung(2, 3, 150, 1), Stop(deadline=time.monotonic() - 1))
    assert (search.standings(), search.rivals, search.best) == before


@pytest.mark.parametrize("target", ["noise", "constant"])
def test_where_nothing_can_be_gained_the_search_ends_no_worse_than_the_default(target):
    X, _ = waves(200)
    y = np.random.default_rng(1).normal(size=200) if target == "noise" else np.full(200, 3.0)
    search = run_all(search_of(X, y, QUICK))
    assert search.best.score <= 1.0 and (target == "noise" or search.best.candidate == DEFAULT)


def test_what_is_found_is_better_on_fresh_rows():
    X, y = waves(400)
    fixed = {**FEW, "hidden_layer_sizes": (50,), "learning_rate_init": 0.005, "alpha": 0.05, "max_iter": 80}
    search = run_all(search_of(X, y, fixed, n_rivals=12), [Rung(12, 3, 400, 1), Rung(4, 3, 400, 2)])
    assert search.best.score < 0.9
    tuning = tuning_of(X, y, fixed)
    found = tuning.finished(search, X, y, None)
    new_X, new_y = waves(2000, seed=1)
    assert rmse(new_y, found.predict(new_X)) < 0.9 * rmse(new_y, tuning.default.predict(new_X))


# -- tune ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["interval_score", "rmse"])
def test_tune_gives_a_fitted_estimator_that_was_no_worse_than_the_default(scoring, capfd):
    X, y = waves(300)
    begin = time.monotonic()
    model = tune(X, y, budget=4, scoring=scoring, random_state=0, **QUICK)
    assert time.monotonic() - begin < 20  # four seconds, on a machine that is not busy
    assert type(model) is ExtraNetsRegressor and model.n_estimators == 3 and model.max_iter == 5
    assert model.predict_interval(X, 0.9).shape == (300, 2) and model.fit_info_["n_rows"] == 300
    best, *others = model.tuning_
    assert set(best) == {"parameters", "rung", "splits", "score", "seconds"}
    assert best["score"] <= 1.0 and any(each["parameters"] == {} for each in [best, *others])
    assert {name: model.get_params()[name] for name in best["parameters"]} == best["parameters"]
    assert [each["rung"] for each in model.tuning_] == sorted((each["rung"] for each in model.tuning_), reverse=True)
    out, errors = capfd.readouterr()
    assert out == "" and errors.startswith("Tuning") and errors.count("\n") == 1


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
    model = tune(
        frame,
        np.column_stack([y, -y]),
        budget=1,
        sample_weight=np.arange(120),
        random_state=np.random.RandomState(0),
        n_jobs=1,
        verbose=0,
        **QUICK,
    )
    assert model.predict(frame).shape == (120, 2) and list(model.feature_names_in_) == ["a", "b"]
    assert model.fit_info_["n_rows"] == 119 and model.n_jobs == 1
    assert tune(sparse.csr_matrix(X), y, budget=1, random_state=0, verbose=0, **QUICK).predict(X).shape == (120,)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "fixed",
    [
        {"noise": "cv", "interval": "cv+"},
        {"noise": "cv", "noise_model": "networks"},
        {"noise": "train", "interval": "paper"},
        {"noise": "cv", "loss": "gaussian_nll", "interval": "total"},
    ],
)
def test_any_noise_and_interval_may_be_fixed(fixed):
    X, y = waves(120)
    fixed = {**QUICK, "noise_model": "auto", **fixed}
    if fixed["noise"] == "train":
        context = pytest.warns(UserWarning, match="say little about the noise")
    else:
        context = contextlib.nullcontext()
    with context:
        search = search_of(X, y, fixed, n_rivals=1)
    assert search.run(Rung(1, 3, 120, 1)) and math.isfinite(search.best.score)


def test_a_budget_that_is_too_small_gives_the_default_and_a_warning():
    X, y = waves(100)
    with pytest.warns(UserWarning, match=r"fit alone took .* s, more than the budget of 0.001 s"):
        model = tune(X, y, budget=0.001, verbose=0, random_state=0, **QUICK)
    usual = ExtraNetsRegressor(random_state=0, **QUICK).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), usual.predict(X))
    assert model.tuning_ == []
    with pytest.warns(UserWarning, match="at least 50 rows"):
        tune(X[:40], y[:40], budget=30, verbose=0, **QUICK)


def test_a_budget_that_the_default_nearly_fills_is_not_searched():
    tuning = tuning_of(*waves(100), QUICK)
    tuning.clock, tuning.fit_seconds = Clock(10.0, begin=time.monotonic() - 6.0), 6.0
    assert "no time for a search" in tuning.obstacle()
    tuning.clock, tuning.fit_seconds = Clock(10.0, begin=time.monotonic() - 2.0), 2.0
    assert tuning.obstacle() is None


def test_rungs_fill_their_share_of_the_time_and_no_more():
    tuning = tuning_of(*waves(100), {**QUICK, "n_jobs": 2})
    first = Rung(0, 4, 2000, 1)
    rung = tuning._next_rung([1.0] * 64, first, 0, share=10.0, all_rows=50_000)
    assert rung == Rung(19, 4, 2000, 1)  # and the default: twenty fits on two threads
    rung = tuning._next_rung([1.0] * 8, rung, 1, share=16.0, all_rows=50_000)
    assert rung == Rung(7, 4, 4000, 2)
    assert tuning._next_rung([1.0] * 8, first, 1, share=1e6, all_rows=50_000) == Rung(7, 4, 50_000, 10)
    assert tuning._next_rung([1.0] * 3, first, 2, share=0.1, all_rows=50_000) == Rung(1, 8, 2000, 3)
    for seconds in np.linspace(8.1, 50, 40):  # rows are whole numbers, and never cost a split
        assert tuning._next_rung([1.0] * 8, first, 1, share=seconds, all_rows=50_000).n_splits == 2
    small = Rung(0, 4, 500, 1)
    assert tuning._next_rung([1.0] * 8, small, 0, share=3.0, all_rows=500) == Rung(2, 4, 500, 2)


def test_data_and_arguments_that_cannot_be_used_are_refused_before_any_search():
    X, y = waves(60)
    holed = X.copy()
    holed[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tune(holed, y, verbose=0)
    with pytest.raises(ValueError, match="inconsistent"):
        tune(X, y[:-1], verbose=0)
    with pytest.raises(TypeError, match="n_estimator"):
        tune(X, y, n_estimator=3)
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
    model = TableRegressor().fit_with(frame, lambda encoded: tune(encoded, y, 1, verbose=0, **QUICK))
    assert model.predict(frame).shape == (120,) and hasattr(model.regressor_, "tuning_")


INTERRUPTED = """
    import sys, threading, time
    import numpy as np
    from extranets import tune
    X = np.random.default_rng(0).normal(size=(2000, 5)); y = X[:, 0] ** 2

    def searches():
        return any(thread.name.startswith("extranets-tune") for thread in threading.enumerate())

    def tell():
        while not searches():
            time.sleep(0.01)
        print("searching", flush=True)

    threading.Thread(target=tell, daemon=True).start()
    try:
        tune(X, y, budget=600, n_estimators=2, random_state=0)
    except KeyboardInterrupt:
        print("stopped", searches(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_a_search_and_its_threads():
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "searching\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=30)
    assert out == "stopped False\n" and child.returncode == 0 and "stopped" in errors
