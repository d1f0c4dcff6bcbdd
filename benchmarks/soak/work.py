"""What a process of the soak does to a folder: fits and saves, adds networks, predicts a file, runs a study."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import extranets
import extranets.cli
from extranets.tables import TableRegressor
from tests.studies import toy_study

SMALL: dict[str, Any] = {"hidden_layer_sizes": (3,), "max_iter": 4, "n_jobs": 1}
KINDS: dict[str, Any] = {
    "extra_nets": extranets.ExtraNetsRegressor(2, **SMALL),
    "bootstrap": extranets.BootstrapNetsRegressor(2, **SMALL),
    "deep_ensemble": extranets.DeepEnsembleRegressor(2, **SMALL),
    "mean_variance": extranets.MeanVarianceRegressor(**SMALL),
    "mc_dropout": extranets.MCDropoutRegressor(**SMALL, n_passes=5),
    "delta": extranets.DeltaMethodRegressor(**SMALL),
    "variational": extranets.VariationalRegressor(**SMALL, n_passes=5),
    "pbp": extranets.PBPRegressor(**SMALL, n_passes=5),
    "stacked": extranets.StackedNetsRegressor(effort="low", n_folds=2, keep_prob=0.05, n_jobs=1),
    "table": TableRegressor(extranets.ExtraNetsRegressor(2, **SMALL)),
}
QUESTIONS = np.random.default_rng(1).normal(size=(5, 2)).round(3)
TOY = toy_study.Toy(n_units=12, seconds=0.005)


def rows(seed: int) -> tuple[Any, Any]:
    """X (30, 2) and y (30,)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)).round(3)
    return X, X[:, 0] - X[:, 1] ** 2 + rng.normal(size=30)


def fitted(kind: str, seed: int, **changes: Any) -> Any:
    """A model of its own for every seed."""
    name = "estimator__random_state" if kind == "table" else "random_state"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows and networks cause many
        return clone(KINDS[kind]).set_params(**{name: seed}, **changes).fit(*rows(seed))


def grown(path: Path, n_networks: int, seed: int) -> Any:
    """The stored `ExtraNetsRegressor` with more networks, trained on the rows of its fit."""
    model = extranets.load(path).set_params(warm_start=True, n_estimators=n_networks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*rows(seed))


def answer(model: Any) -> bytes:
    """Everything a model says about five rows, bit by bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, std = model.predict(QUESTIONS, return_std=True)
        return np.column_stack([mean, std, model.predict_interval(QUESTIONS, 0.8)]).tobytes()


# -- tasks of a process that may be killed ---------------------------------------------------------------------------------


def save(pipe: Any, path: Path, kind: str, seed: int) -> None:
    _save(pipe, path, fitted(kind, seed))


def grow(pipe: Any, path: Path, n_networks: int, seed: int) -> None:
    _save(pipe, path, grown(path, n_networks, seed))


def _save(pipe: Any, path: Path, model: Any) -> None:
    pipe.send(answer(model))  # before: the driver knows what may be in the file from now on
    model.save(path)
    pipe.send("saved")


def predict(pipe: Any, model: Path, table: Path, output: Path) -> None:
    sys.argv = ["extranets", "predict", str(model), str(table), "-q", "-o", str(output)]
    extranets.cli.main()


def study(pipe: Any, folder: Path) -> None:
    toy_study.work(TOY, str(folder))


TASKS = {"save": save, "grow": grow, "predict": predict, "study": study}


def start(task: str, pipe: Any, deadly: str, calls: int, arguments: tuple[Any, ...]) -> None:
    """Body of a process. With ``deadly``, it kills itself at that call of a function of ``os``."""
    warnings.simplefilter("ignore")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if deadly:
        toy_study.make_deadly(deadly, calls)
    TASKS[task](pipe, *arguments)
