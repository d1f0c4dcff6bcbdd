"""The empirical study on small made-up tables in the benchmark's layout, and on one split of real data if available."""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.ensemble import ExtraTreesRegressor

import extranets
from extranets.data import DATASETS, uci
from extranets.metrics import crps_ensemble
from extranets.studies import runs
from extranets.studies.scores import MEASURES, network_scores, training_scores, tree_scores
from extranets.studies.uci import (
    COLUMNS,
    NETWORK_COLUMNS,
    PAPER_COLUMNS,
    UciStudy,
    rows_of,
    split_of,
)

YACHT, ENERGY = DATASETS["yacht"], DATASETS["energy"]
SHALLOW = ("extra-nets T=5", "extra-nets T=70")


def write_table(root: Path, info) -> np.ndarray:
    """A smooth function of three inputs and a little noise, with as many rows and columns as the real table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(info.rows, info.features))
    y = 10 + 3 * X[:, 0] + np.abs(X[:, 1]) + X[:, 2] ** 2 + 0.3 * rng.normal(size=info.rows)
    values = np.column_stack([X, y]).round(4)
    folder = root / info.folder / "data"
    folder.mkdir(parents=True)
    np.savetxt(folder / "data.txt", values, fmt="%.4f")
    np.savetxt(folder / "index_features.txt", np.arange(info.features), fmt="%d")
    np.savetxt(folder / "index_target.txt", [info.features], fmt="%d")
    return values


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("uci")
    for info in (YACHT, ENERGY):
        write_table(root, info)
    return root


@pytest.fixture(autouse=True)
def no_other_places(monkeypatch, tmp_path):
    monkeypatch.delenv("EXTRANETS_DATA", raising=False)
    monkeypatch.setenv("EXTRANETS_CACHE", str(tmp_path / "no-cache"))


def benchmark_rows(n_rows: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The benchmark's recipe, written out."""
    rng = np.random.RandomState(1)
    for _ in range(number + 1):
        order = rng.choice(range(n_rows), n_rows, replace=False)
    n_train = int(np.round(n_rows * 0.9))
    return order[:n_train], order[n_train:]


def yacht_split(root: Path, number: int) -> tuple[np.ndarray, ...]:
    values = np.loadtxt(root / YACHT.folder / "data" / "data.txt")
    train, test = benchmark_rows(YACHT.rows, number)
    return values[train, :-1], values[train, -1], values[test, :-1], values[test, -1]


# --- units and configuration


def test_units_are_splits_in_order():
    study = UciStudy(datasets=("yacht", "protein", "year"))
    assert study.units() == [f"yacht-{i:02d}" for i in range(20)] + [f"protein-{i:02d}" for i in range(5)] + ["year-00"]
    assert UciStudy(datasets=("protein", "year"), splits=2).units() == ["protein-00", "protein-01", "year-00"]


def test_defaults_are_all_available_data_sets_and_the_papers_columns(root):
    study = UciStudy(data_dir=root)
    assert study.datasets == ("energy", "yacht")
    assert study.columns == tuple(PAPER_COLUMNS)
    assert UciStudy(datasets=("yacht",), columns="all").columns == COLUMNS


def test_the_data_folder_is_not_part_of_the_configuration(root, tmp_path):
    study = UciStudy(datasets=("yacht",), splits=1, data_dir=root)
    configuration = json.loads(json.dumps(asdict(study)))
    assert configuration.keys() == {"datasets", "columns", "splits", "rate", "epochs", "noise", "seed"}
    assert UciStudy(**configuration) == study == UciStudy(datasets=("yacht",), splits=1)
    again = pickle.loads(pickle.dumps(study))  # a worker process needs the folder, though
    assert again == study
    columns = again.run("yacht-00").records
    assert [record["column"] for record in columns] == list(PAPER_COLUMNS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datasets": ("bostn",)}, r"datasets must be some of boston, .*; got \['bostn'\]"),
        ({"columns": ("extra-nets T=6",)}, r"columns must be some of .*; got \['extra-nets T=6'\]"),
        ({"columns": ()}, "columns must be some of .*; got none"),
        ({"splits": 0}, "splits must be at least 1; got 0"),
        ({"epochs": 0}, "epochs must be at least 1; got 0"),
        ({"seed": -1}, "seed must be at least 0; got -1"),
        ({"noise": "test"}, "noise must be one of"),
    ],
)
def test_faulty_configuration_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        UciStudy(**{"datasets": ("yacht",), **change})


def test_missing_data_sets_are_an_error():
    with pytest.raises(ValueError, match=r"No data set was found.*EXTRANETS_DATA"):
        UciStudy()


@pytest.mark.parametrize("unit", ["yacht-20", "yacht", "bostn-00", "yacht-x"])
def test_unknown_unit_is_refused(root, unit):
    with pytest.raises(ValueError, match="No unit"):
        UciStudy(datasets=("yacht",), data_dir=root).run(unit)


# --- splits


@pytest.mark.parametrize("number", [0, 7, 19])
def test_rows_follow_the_benchmarks_recipe(root, number):
    train, test = benchmark_rows(YACHT.rows, number)
    ours = rows_of("yacht", number, root)
    np.testing.assert_array_equal(ours[0], train)
    np.testing.assert_array_equal(ours[1], test)
    for ours, theirs in zip(split_of("yacht", number, root), yacht_split(root, number), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_year_is_split_by_position(tmp_path):
    (tmp_path / DATASETS["year"].folder / "data").mkdir(parents=True)
    train, test = rows_of("year", 0, tmp_path)
    np.testing.assert_array_equal(train, np.arange(463715))
    np.testing.assert_array_equal(test, np.arange(463715, 515345))


def test_stored_splits_are_compared(tmp_path):
    write_table(tmp_path, YACHT)
    folder = tmp_path / YACHT.folder / "data"
    for number in (3, 4):
        for part, rows in zip(("train", "test"), benchmark_rows(YACHT.rows, number), strict=True):
            np.savetxt(folder / f"index_{part}_{number}.txt", rows, fmt="%d")
    study = UciStudy(datasets=("yacht",), columns=("Extra-trees",), data_dir=tmp_path)
    study.run("yacht-04")
    test = folder / "index_test_4.txt"
    test.write_text("\n".join(reversed(test.read_text().split())))  # the same rows in another order
    with pytest.raises(
        ValueError, match="Split 4 of yacht: the index files beside the data hold other rows, or another"
    ):
        study.run("yacht-04")
    study.run("yacht-03")
    study.run("yacht-05")  # has no index files


# --- columns and measures


def paper_model(hidden, n_members, seed, **changes):
    settings = {"keep_prob": 0.95, "learning_rate_init": 0.01, "learning_rate_schedule": "constant", "batch_size": 32}
    settings |= {"max_iter": 3, "noise": "train", "interval": "paper", "random_state": seed, "n_jobs": 1}
    settings |= {
        "alpha": 0.0,
        "beta_2": 0.999,
        "numeric_encoding": None,
        "noise_model": "constant",
        "distribution": "normal",
        "distance_factor": 0.0,
    }
    return extranets.ExtraNetsRegressor(n_members, hidden, **{**settings, **changes})


def seed_of(number: int) -> int:
    return int(np.random.SeedSequence([0, number]).generate_state(1)[0])


@pytest.mark.filterwarnings("ignore:noise='train'")
@pytest.mark.parametrize("noise", ["train", "cv"])
def test_each_size_equals_a_fit_of_its_own(root, noise):
    """The 70 networks begin with the 5, bit by bit."""
    study = UciStudy(datasets=("yacht",), epochs=3, noise=noise, data_dir=root)
    X, y, X_test, y_test = yacht_split(root, 2)
    for record in study.run("yacht-02").records:
        column = PAPER_COLUMNS[record["column"]]
        hidden = (10,) * 5 if column.deep else (50,)
        model = paper_model(hidden, column.n_members, seed_of(2), noise=noise).fit(X, y)
        assert record["rmse"] == np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))
        lower, upper = model.predict_interval(X_test, 0.9).T
        assert record["width"] == np.mean(upper - lower)


def test_one_size_alone_gives_the_same_as_with_the_others(root):
    both, alone = (
        UciStudy(datasets=("yacht",), columns=columns, epochs=3, data_dir=root).run("yacht-00").records
        for columns in (SHALLOW, SHALLOW[1:])
    )
    assert both[1:] == alone


def test_records_are_in_the_order_of_the_columns(root):
    columns = (SHALLOW[1], "Extra-trees", SHALLOW[0])
    records = UciStudy(datasets=("yacht",), columns=columns, epochs=1, data_dir=root).run("yacht-00").records
    assert tuple(record["column"] for record in records) == columns


def test_the_year_data_set_is_read_and_scored(tmp_path, monkeypatch):
    """Its real description with fewer rows: commas, target first, no index files, one split by position."""
    small = replace(DATASETS["year"], rows=60, n_train=50)
    monkeypatch.setattr(uci, "DATASETS", {"year": small})
    values = np.random.default_rng(0).normal(size=(60, 91)).round(3)
    folder = tmp_path / small.folder / "data"
    folder.mkdir(parents=True)
    np.savetxt(folder / "YearPredictionMSD.txt", values, fmt="%.3f", delimiter=",")
    study = UciStudy(columns=SHALLOW[:1], epochs=3, data_dir=tmp_path)
    assert study.units() == ["year-00"]
    [record] = study.run("year-00").records
    with pytest.warns(UserWarning, match="noise='train'"):
        model = paper_model((100,), 5, seed_of(0)).fit(values[:50, 1:], values[:50, 0])
    assert record["rmse"] == np.sqrt(np.mean((model.predict(values[50:, 1:]) - values[50:, 0]) ** 2))
    [row] = study.summarise([record])
    assert (row["rmse"], row["rmse_se"], row["n_splits"]) == (record["rmse"], None, 1)


def test_networks_are_wider_for_the_large_sets():
    assert PAPER_COLUMNS["extra-nets T=70"].hidden("protein") == (100,)
    assert PAPER_COLUMNS["extra-nets T=5"].hidden("year") == (100,)
    assert PAPER_COLUMNS["extra-nets T=5"].hidden("naval") == (50,)
    assert PAPER_COLUMNS["extra-nets deep T=5"].hidden("year") == (20,) * 5
    assert PAPER_COLUMNS["extra-nets deep T=70"].hidden("naval") == (10,) * 5


def test_measures_match_values_computed_by_hand(root):
    study = UciStudy(datasets=("yacht",), columns=("PBP",), data_dir=root)
    [record] = study.run("yacht-01").records
    X, y, X_test, y_test = yacht_split(root, 1)
    mean, std = (
        extranets.PBPRegressor((50,), random_state=seed_of(1), n_jobs=1).fit(X, y).predict(X_test, return_std=True)
    )
    half = norm.ppf(0.95) * std
    miss = np.maximum(np.abs(y_test - mean) - half, 0)
    z = (y_test - mean) / std
    expected = {
        "rmse": np.sqrt(np.mean((y_test - mean) ** 2)),
        "coverage": np.mean(miss == 0),
        "width": np.mean(2 * half),
        "interval_score": np.mean(2 * half + 20 * miss),
        "log_likelihood": norm.logpdf(y_test, mean, std).mean(),
        "crps": np.mean(std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))),
    }
    assert {key: record[key] for key in ("dataset", "split", "column")} == {
        "dataset": "yacht",
        "split": 1,
        "column": "PBP",
    }
    assert {key: record[key] for key in MEASURES} == pytest.approx(expected, rel=1e-9)
    assert 0 < record["coverage"] < 1  # otherwise misses would not be tested


@pytest.mark.parametrize("distribution", ["student", "empirical"])
def test_a_column_is_scored_by_the_distribution_that_it_predicts(root, distribution):
    X, y, X_test, y_test = yacht_split(root, 0)
    model = extranets.ExtraNetsRegressor(3, (5,), max_iter=5, distribution=distribution, random_state=0).fit(X, y)
    found = network_scores(model, X_test, y_test)
    assert found["log_likelihood"] == pytest.approx(model.predict_dist(X_test).logpdf(y_test).mean())
    quantiles = model.predict_quantiles(X_test, (np.arange(2000) + 0.5) / 2000)
    assert found["crps"] == pytest.approx(crps_ensemble(y_test, quantiles.T), rel=2e-3)


def test_the_papers_noise_is_shown_with_and_without_its_factor(root):
    split = yacht_split(root, 0)
    X, y, X_test, y_test = split
    with pytest.warns(UserWarning, match="noise='train'"):  # of more parameters than rows: the factor is cut short at 2
        model = paper_model((50,), 5, 0).fit(X, y)
    found = training_scores(model, *split)
    assert found["noise_ratio"] == pytest.approx(2.0)
    plain = np.mean((model.predict(X) - y) ** 2)
    assert found["train_rmse"] == pytest.approx(np.sqrt(plain))
    spread = np.var(model.predict_members(X_test), axis=0)
    half = norm.ppf(0.95) * np.sqrt(spread / 5 + plain)
    assert found["coverage_plain"] == pytest.approx(np.mean(np.abs(model.predict(X_test) - y_test) <= half))


def test_trees_have_quantile_intervals_and_no_density(root):
    X, y, X_test, y_test = yacht_split(root, 0)
    model = ExtraTreesRegressor(20, random_state=0).fit(X, y)
    found = tree_scores(model, X_test, y_test)
    trees = np.sort([tree.predict(X_test) for tree in model.estimators_], axis=0)
    # Of 20 sorted values the 5 % quantile stands at 0.05 * 19 = 0.95, counted from 0.
    lower, upper = 0.05 * trees[0] + 0.95 * trees[1], 0.95 * trees[18] + 0.05 * trees[19]
    pairs = np.abs(trees[:, None] - trees[None]).mean(axis=(0, 1))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
    assert found["width"] == pytest.approx(np.mean(upper - lower))
    assert found["coverage"] == pytest.approx(np.mean((lower <= y_test) & (y_test <= upper)))
    assert found["crps"] == pytest.approx(np.mean(np.abs(trees - y_test).mean(axis=0) - pairs / 2))
    assert found["log_likelihood"] is None
    assert 0 < found["coverage"] < 1


def test_every_column_learns(root):
    """Each is far better than the mean of the targets. The estimators' own tests judge how well intervals cover."""
    study = UciStudy(datasets=("yacht",), columns="all", data_dir=root)
    result = study.run("yacht-00")
    _, _, _, y_test = yacht_split(root, 0)
    assert [record["column"] for record in result.records] == list(COLUMNS)
    assert set(result.timings) == set(COLUMNS)
    for record in result.records:
        assert record["rmse"] < 0.6 * y_test.std(), record
        assert record["crps"] < record["rmse"], record
        assert 0 < record["width"] < record["interval_score"], record


@pytest.mark.parametrize(
    ("column", "estimator", "hidden"),
    [
        ("extra-nets default", extranets.ExtraNetsRegressor, "auto"),
        ("Bootstrap", extranets.BootstrapNetsRegressor, (100,)),
        ("MC dropout", extranets.MCDropoutRegressor, (100,)),
        ("Deep ensemble", extranets.DeepEnsembleRegressor, (100,)),
        ("Mean-variance", extranets.MeanVarianceRegressor, (100,)),
        ("Delta method", extranets.DeltaMethodRegressor, (10,)),
        ("VI", extranets.VariationalRegressor, (100,)),
        ("PBP", extranets.PBPRegressor, (100,)),
    ],
)
def test_columns_have_default_settings_except_for_the_width(column, estimator, hidden):
    model = NETWORK_COLUMNS[column](100)
    assert type(model) is estimator
    assert model.get_params() == estimator(hidden_layer_sizes=hidden).get_params()


def test_other_seeds_give_other_networks(root):
    first, second = (
        UciStudy(datasets=("yacht",), columns=SHALLOW[:1], epochs=2, seed=seed, data_dir=root).run("yacht-00").records
        for seed in (0, 1)
    )
    assert first[0]["rmse"] != second[0]["rmse"]


# --- end to end


def test_a_run_leads_from_files_to_the_table(root, tmp_path):
    study = UciStudy(datasets=("energy", "yacht"), columns=SHALLOW, splits=3, epochs=2, data_dir=root)
    records = runs.run(study, tmp_path, jobs=1, progress=False)
    assert len(records) == 2 * 3 * 2
    assert records == runs.run(study, tmp_path, jobs=1, progress=False)
    again = runs.load(tmp_path).study({"uci": UciStudy})
    assert again == study
    rows = again.summarise(records)
    assert [(row["dataset"], row["column"], row["n_splits"]) for row in rows] == [
        (dataset, column, 3) for dataset in ("energy", "yacht") for column in SHALLOW
    ]
    for row in rows:
        own = [r for r in records if (r["dataset"], r["column"]) == (row["dataset"], row["column"])]
        for measure in MEASURES:
            a, b, c = (record[measure] for record in own)
            mean = (a + b + c) / 3
            error = np.sqrt(((a - mean) ** 2 + (b - mean) ** 2 + (c - mean) ** 2) / 2 / 3)
            assert row[measure] == pytest.approx(mean)
            assert row[f"{measure}_se"] == pytest.approx(error)


def test_summary_takes_the_records_of_some_units():
    study = UciStudy(datasets=("yacht", "boston"), columns=("PBP", "Extra-trees"))
    known = dict.fromkeys(MEASURES, 1.0) | {"dataset": "boston", "split": 0}
    rows = study.summarise([known | {"column": "Extra-trees", "log_likelihood": None}, known | {"column": "PBP"}])
    assert [row["column"] for row in rows] == ["PBP", "Extra-trees"]  # yacht is not there yet
    assert rows[0]["rmse"] == rows[0]["log_likelihood"] == 1.0
    assert rows[0]["rmse_se"] is None  # one split has no standard error
    assert rows[1]["log_likelihood"] is None
    json.dumps(rows, allow_nan=False)


REAL_DATA = os.environ.get("EXTRANETS_DATA")


@pytest.mark.skipif(not REAL_DATA, reason="EXTRANETS_DATA is not set: the real data sets are not available")
def test_a_real_split_has_the_known_error():
    """Boston, split 0: over seeds the error has mean 2.47 and standard deviation 0.03. Five of these are allowed."""
    records = UciStudy(datasets=("boston",), data_dir=REAL_DATA).run("boston-00").records
    error = {record["column"]: record["rmse"] for record in records}
    assert error["extra-nets T=70"] == pytest.approx(2.47, abs=0.15)
    assert all(0.8 < record["coverage"] <= 1 for record in records)
