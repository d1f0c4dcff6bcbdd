"""The Monte Carlo study: data, networks, intervals by hand, ensembles within ensembles, summaries."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from extranets import engine
from extranets.predictor.intervals import Paper, Total
from extranets.studies import paper_networks as nets
from extranets.studies import simulation
from extranets.studies.simulation import SimulationStudy, measures

LINEAR, NONLINEAR = nets.SETTINGS["linear"], nets.SETTINGS["nonlinear"]


@pytest.fixture(scope="module")
def records():
    study = SimulationStudy(replications=2)
    return [record for unit in study.units() for record in study.run(unit).records]


def only(records, **keys):
    (found,) = [record for record in records if all(record[key] == value for key, value in keys.items())]
    return found


def study_data(process="linear", number=0, seed=0):
    data_seed, seed = nets.seeds(seed, simulation.STUDY, process, number)
    return nets.data_set(process, "upper", data_seed), seed


# -- end to end --------------------------------------------------------------------------------------------------------


def test_every_cell_of_the_table_is_there(records):
    cells = [(r["process"], r["method"], r["p"], r["T"], r["replication"]) for r in records]
    assert len(cells) == len(set(cells)) == 2 * (9 + 33)
    assert {c[2] for c in cells if c[:2] == ("linear", "MC dropout")} == {0.995, 0.99, 0.95, 0.9, 0.8}
    assert {c[2] for c in cells if c[:2] == ("nonlinear", "extra-nets")} == {0.995}
    assert {c[2] for c in cells if c[1] == "bootstrap"} == {None}
    assert json.loads(json.dumps(records)) == records  # Python's own numbers only


def test_a_second_call_gives_the_same_bits(records):
    study = pickle.loads(pickle.dumps(SimulationStudy(replications=2)))
    again = study.run("nonlinear-0001").records
    assert again == [r for r in records if r["process"] == "nonlinear" and r["replication"] == 1]
    other = SimulationStudy(replications=2, seed=1).run("nonlinear-0001").records
    assert all(a["mspe"] != b["mspe"] for a, b in zip(again, other, strict=True))


def test_seconds_are_kept_apart_from_records(records):
    result = SimulationStudy().run("linear-0000")
    assert set(result.timings) == {"extra-nets", "MC dropout", "bootstrap"}
    assert all(seconds > 0 for seconds in result.timings.values())


@pytest.mark.parametrize("unit", ["cubic-0000", "linear", "linear-x", "linear-"])
def test_unknown_units_are_refused(unit):
    with pytest.raises(ValueError, match="No unit"):
        SimulationStudy().run(unit)


@pytest.mark.parametrize(
    "wrong", [{"noise": "oob"}, {"correlation": "both"}, {"replications": 0}, {"starts": 0}, {"seed": -1}]
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        SimulationStudy(**wrong)


# -- data and networks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("correlation", "mean", "sd"), [("upper", 72.2, 47.7), ("lower", 63.0, 42.8)])
def test_targets_have_the_known_moments(correlation, mean, sd):
    # 60,000 rows: standard errors at most 47.7 / sqrt(n) = 0.20 and, with a kurtosis below 6, 47.7 * sqrt(5 / 4n) = 0.22.
    # Four of them, and 0.1 for the rounding of the known values.
    sets = [nets.data_set("nonlinear", correlation, nets.seeds(0, 9, "nonlinear", i)[0]) for i in range(40)]
    y = np.concatenate([part for data in sets for part in (data.y, data.y_test)])
    assert len(y) == 60_000
    assert y.mean() == pytest.approx(mean, abs=0.9)
    assert y.std() == pytest.approx(sd, abs=1.0)


def test_inputs_are_scaled_by_training_rows_only():
    data, _ = study_data()
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1, atol=1e-12)
    sample = LINEAR.draw(1500, random_state=nets.seeds(0, simulation.STUDY, "linear", 0)[0])
    train, test = sample.X[:1200], sample.X[1200:]
    np.testing.assert_allclose(data.X_test, (test - train.mean(axis=0)) / train.std(axis=0), atol=1e-12)
    np.testing.assert_array_equal(data.y_test, sample.y[1200:])


def test_null_masks_are_as_frequent_as_the_formula_says():
    # Five units are all dropped with probability 0.7^5 = 0.168: 336 of 2000 with standard deviation 16.7.
    data, seed = study_data()
    few = replace(LINEAR, n_epochs=2)
    networks = nets.extra_nets(few, 0.3, data.X[:200], data.y[:200], 2000, seed)
    assert networks.n_null(2000) == pytest.approx(2000 * 0.7**5, abs=4 * 16.7)
    assert networks.n_null(500) == np.sum(networks.null_numbers < 500)
    assert networks.n_dropped(500) >= networks.n_null(500)
    assert not np.isin(networks.null_numbers, networks.numbers).any()


@pytest.mark.parametrize("resample", [False, True])
def test_networks_below_half_of_the_variance_are_dropped(resample):
    data, seed = study_data("nonlinear")
    fit = nets.bootstrap_nets if resample else nets.extra_nets
    networks = fit(*([NONLINEAR] if resample else [NONLINEAR, 0.995]), data.X, data.y, 30, seed)
    everyone = engine.forward(networks.ensemble, data.X)[:, :, 0].astype(float)
    r2 = 1 - np.mean((data.y - everyone) ** 2, axis=1) / data.y.var()
    left = networks.ensemble.members.ids[r2 >= 0.5]  # far from 0.5 on either side, so that the sample does not matter
    np.testing.assert_array_equal(networks.numbers, left)
    np.testing.assert_array_equal(networks.predict(data.X), everyone[r2 >= 0.5])
    # A quarter collapses: 7.5 of 30, standard deviation 2.4.
    assert networks.n_dropped(30) == 30 - len(left) == pytest.approx(7.5, abs=4 * 2.4)


def test_dropout_networks_that_collapse_are_started_again():
    data, _ = study_data("nonlinear")
    passes = [nets.mc_dropout(NONLINEAR, 0.995, data.X, data.y, 30, seed) for seed in range(12)]
    for networks in passes:
        assert 1 - np.mean((data.y - networks.predict(data.X).mean(axis=0)) ** 2) / data.y.var() > 0.5
        assert networks.n_dropped(30) == networks.n_replaced
    assert (
        sum(networks.n_replaced for networks in passes) > 0
    )  # with probability 0.03 none of twelve collapses; the seeds are fixed


def test_an_ensemble_of_collapsed_networks_is_an_error():
    data, seed = study_data()
    with pytest.raises(ArithmeticError, match="All 3 networks collapsed"):
        nets.extra_nets(replace(LINEAR, learning_rate=1e-9), 1.0, data.X, data.y, 3, seed)


def test_more_starts_never_train_worse():
    data, seed = study_data("nonlinear")
    one, three = (nets.extra_nets(NONLINEAR, 0.995, data.X, data.y, 12, seed, n_starts=k) for k in (1, 3))
    assert set(one.numbers) <= set(three.numbers)
    both = np.isin(three.numbers, one.numbers)
    loss_one = np.mean((one.predict(data.X) - data.y) ** 2, axis=1)
    loss_three = np.mean((three.predict(data.X)[both] - data.y) ** 2, axis=1)
    assert (loss_three <= loss_one * (1 + 1e-6)).all() and (loss_three < 0.9 * loss_one).any()


# -- measures ----------------------------------------------------------------------------------------------------------


def test_non_coverage_is_the_share_of_rows_outside():
    # Normal quantiles are 1.645, 1.960 and 2.576.
    row = measures(np.zeros((3, 4)), np.array([0.0, 1.7, -2.0, 2.6]), 1.0, Paper())
    assert (row["non_coverage_10"], row["non_coverage_05"], row["non_coverage_01"]) == (0.75, 0.5, 0.25)
    assert row["mape"] == pytest.approx((1.7 + 2.0 + 2.6) / 4)
    assert row["mspe"] == pytest.approx((1.7**2 + 2.0**2 + 2.6**2) / 4)


def by_hand(members, y, noise, divisor):
    mean, spread = np.mean(members, axis=0), np.var(members, axis=0)
    half = norm.ppf([0.995, 0.975, 0.95])[:, None] * np.sqrt(spread / divisor + noise)
    outside = np.mean(np.abs(y - mean) > half, axis=1)
    return {
        "mape": np.mean(np.abs(y - mean)),
        "mspe": np.mean((y - mean) ** 2),
        "noise_variance": noise,
        **{f"non_coverage_{n}": share for n, share in zip(("01", "05", "10"), outside, strict=True)},
    }


def agrees(record, wanted):
    assert {key: record[key] for key in wanted} == pytest.approx(wanted, rel=1e-12)


def each_method(setting, p, data, n_members, seed, n_starts=1):
    return {
        "extra-nets": nets.extra_nets(setting, p, data.X, data.y, n_members, seed, n_starts),
        "MC dropout": nets.mc_dropout(setting, p, data.X, data.y, n_members, seed, n_starts),
        "bootstrap": nets.bootstrap_nets(setting, data.X, data.y, n_members, seed, n_starts),
    }


def check_by_hand(found, p, data, alone, n_members):
    for method, networks in alone.items():
        record = only(found, method=method, p=None if method == "bootstrap" else p, T=n_members)
        members = networks.predict(data.X_test)
        noise = np.mean((data.y_test - members.mean(axis=0)) ** 2)
        agrees(record, by_hand(members, data.y_test, noise, 1 if method == "MC dropout" else len(members)))
        assert record["n_dropped"] == networks.n_dropped(n_members)


@pytest.mark.parametrize(("process", "p", "n_members"), [("nonlinear", 0.995, 30), ("linear", 0.8, 50)])
def test_a_smaller_ensemble_is_the_beginning_of_the_larger_one(records, process, p, n_members):
    """Each is trained here on its own, and measured by formulas written out."""
    data, seed = study_data(process, 1)
    alone = each_method(nets.SETTINGS[process], p, data, n_members, seed)
    found = [record for record in records if record["process"] == process and record["replication"] == 1]
    check_by_hand(found, p, data, alone, n_members)
    assert (alone["extra-nets"].n_dropped(n_members) > 0) == (process == "nonlinear")
    if p == 0.8:  # two passes alike in all units are rare
        assert np.mean(np.ptp(alone["MC dropout"].predict(data.X_test), axis=0) > 0) > 0.9


def test_starts_reach_every_method():
    data, seed = study_data()
    found = SimulationStudy(starts=4).run("linear-0000").records
    check_by_hand(found, 0.9, data, each_method(LINEAR, 0.9, data, 30, seed, n_starts=4), 30)
    once = SimulationStudy().run("linear-0000").records
    better = {a["method"] for a, b in zip(found, once, strict=True) if a["mspe"] != b["mspe"]}
    assert better == {"extra-nets", "MC dropout", "bootstrap"}


def noise_rows(noise, data, fit):
    """The final networks, and predictions and targets of the rows that measure the noise."""
    if noise == "train":
        final = fit(data.X, data.y, 0)
        return final, [(final.predict(data.X), data.y)]
    if noise == "holdout":
        final = fit(data.X[:960], data.y[:960], 0)
        return final, [(final.predict(data.X[960:]), data.y[960:])]
    folds = [np.arange(1200) % 5 == fold for fold in range(5)]
    parts = [(fit(data.X[~f], data.y[~f], 1 + i).predict(data.X[f]), data.y[f]) for i, f in enumerate(folds)]
    return fit(data.X, data.y, 0), parts


@pytest.mark.parametrize("noise", ["holdout", "cv", "train"])
def test_noise_can_be_measured_on_rows_other_than_test_rows(noise):
    data, seed = study_data()
    found = SimulationStudy(noise=noise).run("linear-0000").records

    def fit(X, y, number):
        return nets.extra_nets(LINEAR, 0.8, X, y, 70, seed + number)

    final, parts = noise_rows(noise, data, fit)
    assert final.n_dropped(70) == 0
    residuals = np.concatenate([y - members.mean(axis=0) for members, y in parts])
    assert len(residuals) == {"holdout": 240, "cv": 1200, "train": 1200}[noise]
    record = only(found, method="extra-nets", p=0.8, T=70)
    agrees(record, by_hand(final.predict(data.X_test), data.y_test, np.mean(residuals**2), 70))


@pytest.mark.parametrize("noise", ["holdout", "cv", "train"])
def test_other_noises_do_not_depend_on_test_targets(noise):
    data, seed = study_data()
    fit = simulation.fits(LINEAR, seed, 1)[0][2]
    shifted = data._replace(y_test=data.y_test + 100)
    one, other = (simulation.evaluated("extra-nets", fit, d, noise) for d in (data, shifted))
    assert [row["noise_variance"] for row in one] == [row["noise_variance"] for row in other]
    assert all(row["non_coverage_01"] == 1 for row in other)


def test_dropout_intervals_do_not_shrink_with_passes():
    members = np.random.default_rng(0).normal(size=(50, 200))
    y = members.mean(axis=0) + 0.5
    assert measures(members, y, 1e-6, Paper())["non_coverage_05"] == 1
    assert measures(members, y, 1e-6, Total())["non_coverage_05"] == 0


# -- summaries ---------------------------------------------------------------------------------------------------------


def test_summary_is_mean_error_and_median_over_data_sets(records):
    rows = SimulationStudy(replications=2).summarise(records[::-1])  # in any order
    assert [(r["process"], r["method"]) for r in rows[:4]] == [("nonlinear", "extra-nets")] * 3 + [
        ("nonlinear", "MC dropout")
    ]
    assert len(rows) == 9 + 33
    row = only(rows, process="linear", method="MC dropout", p=0.9, T=50)
    a, b = (only(records, process="linear", method="MC dropout", p=0.9, T=50, replication=i)["mspe"] for i in (0, 1))
    assert (row["mspe"], row["mspe_median"], row["replications"]) == (pytest.approx((a + b) / 2), (a + b) / 2, 2)
    assert row["mspe_se"] == pytest.approx(abs(a - b) / 2)  # |a - b| / sqrt(2) is their standard deviation


def test_wins_compare_with_the_bootstrap_on_the_same_data_set():
    same = dict.fromkeys(simulation.MEASURES, 0.0) | {"process": "linear", "T": 30}
    records = [same | {"method": "bootstrap", "p": None, "replication": i, "mspe": float(i)} for i in range(4)]
    records += [same | {"method": "extra-nets", "p": 0.9, "replication": i, "mspe": 0.5} for i in range(4)]
    mine, rival = SimulationStudy().summarise(records)
    assert (mine["wins"], rival["wins"]) == (0.75, None)


def test_some_units_are_enough_for_a_summary(records):
    one = [r for r in records if r["process"] == "linear" and r["replication"] == 1]
    rows = SimulationStudy(replications=2).summarise(one)
    assert len(rows) == 33 and all(row["mspe_se"] is None for row in rows)


@pytest.mark.slow
def test_figures_agree_with_an_independent_implementation():
    """T = 30. Known: 11.4, 11.3, 18.4 (median, nonlinear); 2.61 and 3.38 for p = .995 and .8 (linear).

    These came from 40 to 60 data sets, so their errors are about as large as ours: four times sqrt(2) standard errors.
    """
    study = SimulationStudy(replications=30)
    rows = study.summarise([record for unit in study.units() for record in study.run(unit).records])
    known = [("nonlinear", "extra-nets", 0.995, 11.4), ("nonlinear", "bootstrap", None, 11.3)]
    known += [
        ("linear", "extra-nets", 0.995, 2.61),
        ("linear", "extra-nets", 0.8, 3.38),
        ("linear", "bootstrap", None, 2.54),
    ]
    for process, method, p, mspe in known:
        row = only(rows, process=process, method=method, p=p, T=30)
        assert row["mspe"] == pytest.approx(mspe, abs=4 * np.sqrt(2) * row["mspe_se"])
    row = only(rows, process="nonlinear", method="MC dropout", T=30)
    assert row["mspe_median"] == pytest.approx(18.4, abs=4 * np.sqrt(2) * 1.25 * row["mspe_se"])
    # The coverage of dropout collapses as p falls; that of extra-nets does not.
    dropout, thinned = (
        [only(rows, process="linear", method=m, p=p, T=30)["non_coverage_10"] for p in LINEAR.keep_probs]
        for m in ("MC dropout", "extra-nets")
    )
    assert dropout[0] > 0.05 and dropout[-1] < 0.025 and min(thinned) > 0.05
