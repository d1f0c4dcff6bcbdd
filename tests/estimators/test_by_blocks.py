"""Fits to tables that are read block by block."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from functools import cache

import dask.array
import dask.dataframe
import numpy as np
import pandas
import pytest
from sklearn.base import clone

import extranets
from extranets import BootstrapNetsRegressor, ExtraNetsRegressor, StackedNetsRegressor
from extranets.blocks.memory import LIBRARIES, MOST_KEPT

pytestmark = pytest.mark.usefixtures("small_process")
N_ROWS, N_TEST = 80_000, 20_000


def memory(megabytes):
    """So much more than what libraries take."""
    return LIBRARIES + megabytes * 1_000_000


SEVERAL_WINDOWS, ONE_WINDOW = 210, 500
QUICK = {"n_estimators": 3, "hidden_layer_sizes": (8,), "max_iter": 2, "batch_size": 64, "random_state": 0, "n_jobs": 2}


@cache
def table():
    """In the order of its first column, as tables often are; noise that depends on another."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS + N_TEST, 4)) * [1, 10, 1, 1] + [0, 0, 1e4, 0]
    noise = rng.normal(size=len(X)) * np.where(X[:, 3] > 0, 0.5, 0.2)
    y = 3 + np.sin(2 * X[:, 0]) + X[:, 1] / 10 + noise
    train = np.argsort(X[:N_ROWS, 0])
    return X[train], y[train], X[N_ROWS:], y[N_ROWS:]


MODELS = {
    "nets": ExtraNetsRegressor(
        4, (24,), numeric_encoding="piecewise_linear", max_iter=6, batch_size=64, random_state=0, n_jobs=2
    ),
    "stack": StackedNetsRegressor(effort="low", random_state=0, n_jobs=2),
}


@cache
def usual(name="nets"):
    X, y, _, _ = table()
    return clone(MODELS[name]).fit(X, y)


@cache
def by_blocks(name="nets"):
    X, y, _, _ = table()
    return clone(MODELS[name]).fit(X, y, max_memory=memory(SEVERAL_WINDOWS))


def scores(model):
    _, _, X, y = table()
    lower, upper = model.predict_interval(X, 0.9).T
    return np.sqrt(np.mean((model.predict(X) - y) ** 2)), np.mean((lower <= y) & (y <= upper)), np.mean(upper - lower)


@pytest.mark.parametrize("name", ["nets", pytest.param("stack", marks=pytest.mark.slow)])
def test_the_result_is_that_of_the_usual_fit_but_for_chance(name):
    """Both have the same test rows. The RMSE of 20,000 rows has a standard error of 0.6 %, coverage one of 0.2 %; factors of the width
    come from 20,000 held-out rows and have one of about 1 %."""
    (rmse, coverage, width), (other_rmse, other_coverage, other_width) = scores(usual(name)), scores(by_blocks(name))
    assert other_rmse == pytest.approx(rmse, rel=0.01)
    assert rmse < 0.42  # noise is 0.38
    assert other_coverage == pytest.approx(coverage, abs=0.01) and coverage == pytest.approx(0.9, abs=0.01)
    assert other_width == pytest.approx(width, rel=0.04)
    for score in ("rmse", "interval_score", "coverage"):
        assert by_blocks(name).held_out_scores_[score] == pytest.approx(usual(name).held_out_scores_[score], rel=0.03)


def test_scales_and_ends_are_those_of_all_rows():
    for name in ("x", "y"):
        ours, theirs = (getattr(model.model_.units, name) for model in (by_blocks(), usual()))
        np.testing.assert_allclose(ours.centre, theirs.centre, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.scale, theirs.scale, rtol=1e-9)
    X, _, _, _ = table()
    assert not by_blocks().predict_outside(X[[0, -1]]).any()
    assert by_blocks().fit_info_["n_rows"] == N_ROWS


def test_the_model_is_saved_and_predicts_the_same(tmp_path):
    _, _, X, _ = table()
    by_blocks().save(tmp_path / "model.xnet")
    loaded = extranets.load(tmp_path / "model.xnet")
    np.testing.assert_array_equal(loaded.predict_interval(X[:100]), by_blocks().predict_interval(X[:100]))


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapped")
    X, y, _, _ = table()
    files = []
    for name, values in (("X", X.astype(np.float32)), ("y", y)):
        np.save(folder / f"{name}.npy", values)
        files.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return files


def test_all_kinds_of_blocks_give_the_same_bits(mapped):
    X, y = mapped
    expected = ExtraNetsRegressor(**QUICK).fit(X, y, max_memory=memory(ONE_WINDOW))
    parts = (
        dask.array.from_array(np.asarray(X), chunks=(30_001, 2)),
        dask.array.from_array(np.asarray(y), chunks=30_001),
    )
    frame = dask.dataframe.from_pandas(pandas.DataFrame(np.asarray(X), columns=list("abcd")).assign(y=y), npartitions=3)
    for columns, target in (parts, (parts[0], y), (frame[list("abcd")], frame["y"])):
        found = ExtraNetsRegressor(**QUICK).fit(columns, target, max_memory=memory(ONE_WINDOW))
        np.testing.assert_array_equal(found.predict(X[:50].copy()), expected.predict(X[:50].copy()))
    assert found.feature_names_in_.tolist() == list("abcd")
    assert not hasattr(expected, "feature_names_in_") and expected.n_features_in_ == 4


def test_threads_change_nothing(mapped):
    X, y = mapped
    most = memory(SEVERAL_WINDOWS)
    one, two = (ExtraNetsRegressor(**QUICK | {"n_jobs": n}).fit(X, y, max_memory=most) for n in (1, 2))
    np.testing.assert_array_equal(one.predict(X[:50]), two.predict(X[:50]))


def test_a_table_of_which_all_rows_are_drawn_gets_the_usual_fit():
    X, y, new, _ = table()
    rows = slice(0, N_ROWS, 40)
    assert len(X[rows]) < MOST_KEPT
    models = [ExtraNetsRegressor(**QUICK).fit(X[rows], y[rows], **how) for how in ({}, {"max_memory": "4GB"})]
    np.testing.assert_array_equal(*(model.predict_interval(new[:50]) for model in models))


@pytest.mark.parametrize("transform", ["log", "auto"])
def test_transformed_targets_know_all_rows(transform):
    X, y, _, _ = table()
    target = np.exp(y)
    settings = {**QUICK, "target_transform": transform, "bounds": (0, None)}
    model = ExtraNetsRegressor(**settings).fit(X, target, max_memory=memory(ONE_WINDOW))
    powers = model.model_.units.link.powers
    assert powers.names() == "log"
    np.testing.assert_allclose([powers.least[0], powers.largest[0]], [target.min(), target.max()])
    latent = powers.latent(target[:, None])
    np.testing.assert_allclose(model.model_.units.y.centre, latent.mean(), rtol=1e-9)
    np.testing.assert_allclose(model.model_.units.y.scale, latent.std(), rtol=1e-9)


def test_several_outputs_and_constant_columns():
    X, y, new, _ = table()
    X = np.column_stack([X, np.full(len(X), 7.5)])
    model = ExtraNetsRegressor(**QUICK).fit(X, np.column_stack([y, -y, np.ones(len(y))]), max_memory=memory(ONE_WINDOW))
    found = model.predict(np.column_stack([new[:5], np.full(5, 7.5)]))
    assert found.shape == (5, 3) and (found[:, 2] == 1).all()
    np.testing.assert_allclose(found[:, 0], -found[:, 1], atol=1.0)


def spoiled(row, column, value):
    X, y, _, _ = table()
    X = X.copy()
    X[row, column] = value
    return X, y


@pytest.mark.parametrize(
    ("X_y", "message"),
    [
        (lambda: spoiled(70_001, 2, np.nan), r"X contains NaN \(row 70001, column 2\)"),
        (lambda: spoiled(70_001, 2, np.inf), r"X contains infinity \(row 70001, column 2\)"),
        (lambda: spoiled(70_001, 3, 1e200), "Row 70001, column 3 holds 1e\\+200, which is too far"),
        (lambda: (table()[0], table()[1][:-1]), "inconsistent numbers of samples"),
        (lambda: (table()[0][:, 0], table()[1]), "Expected 2D array"),
        (lambda: (table()[0][:0], table()[1][:0]), "minimum of 2"),
    ],
)
def test_bad_tables_are_refused_by_row_and_leave_nothing(X_y, message, tmp_path):
    model = ExtraNetsRegressor(**QUICK)
    with pytest.raises(ValueError, match=message):
        model.fit(*X_y(), max_memory=memory(ONE_WINDOW), scratch=tmp_path)
    assert not hasattr(model, "model_") and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "more", "message"),
    [
        (
            ExtraNetsRegressor(),
            {"max_memory": "400MB"},
            "max_memory=400MB is too little .* at least [0-9]+MB are needed",
        ),
        (ExtraNetsRegressor(), {"max_memory": "much"}, "such as '2GB'"),
        (ExtraNetsRegressor(), {"max_memory": "4GB", "sample_weight": np.ones(N_ROWS)}, "takes no weights of rows"),
        (ExtraNetsRegressor(), {"max_memory": "4GB", "groups": np.ones(N_ROWS)}, "takes no groups of rows"),
        (ExtraNetsRegressor(), {"max_memory": "4GB", "checkpoint": "folder"}, "takes no a checkpoint"),
        (ExtraNetsRegressor(interval="cv+"), {"max_memory": "4GB"}, "interval='cv\\+' is not for a table"),
        (
            ExtraNetsRegressor(noise="train", interval="paper"),
            {"max_memory": "4GB"},
            "noise='train' is not for a table",
        ),
        (ExtraNetsRegressor(early_stopping=True), {"max_memory": "4GB"}, "early_stopping=False"),
        (BootstrapNetsRegressor(), {"max_memory": "4GB"}, "needs its table in memory"),
    ],
)
def test_what_cannot_be_had_is_refused(model, more, message):
    X, y, _, _ = table()
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(random_state=0, n_jobs=2).fit(X, y, **more)


STOPPED = """
    import sys
    import numpy as np
    from extranets import ExtraNetsRegressor
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 4))
    print("ready", flush=True)
    try:
        ExtraNetsRegressor(random_state=0).fit(X, X[:, 0], max_memory="700MB", scratch=sys.argv[1])
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


def test_ctrl_c_stops_a_fit_within_a_second_or_so_and_leaves_nothing(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(STOPPED), tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"
        process.wait(10)
    assert list(tmp_path.iterdir()) == []


BOUNDED = """
    import sys
    import numpy as np
    from extranets import ExtraNetsRegressor
    files = [np.load(f"{sys.argv[1]}/{name}.npy", mmap_mode="r") for name in "Xy"]
    model = ExtraNetsRegressor(2, (8,), numeric_encoding=None, max_iter=1, batch_size=256, random_state=0, n_jobs=2)
    model.fit(*files, max_memory="620MB", scratch=sys.argv[1])
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    print(int(line.split()[1]) * 1024)
"""


@pytest.mark.slow
def test_the_memory_is_kept_on_a_table_larger_than_it(tmp_path):
    """640 MB of columns, of which the usual fit makes twice as much."""
    X = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=np.float32, shape=(10_000_000, 16))
    y = np.lib.format.open_memmap(tmp_path / "y.npy", mode="w+", dtype=np.float32, shape=(10_000_000,))
    rng = np.random.default_rng(0)
    for begin in range(0, len(X), 500_000):
        X[begin : begin + 500_000] = rng.normal(size=(500_000, 16))
        y[begin : begin + 500_000] = X[begin : begin + 500_000, 0]
    command = [sys.executable, "-c", textwrap.dedent(BOUNDED), tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 620_000_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["X.npy", "y.npy"]
