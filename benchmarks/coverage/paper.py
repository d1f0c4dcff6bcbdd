"""Coverage on the paper's two simulated processes: its own arrangement, its networks in ours, and the default."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from extranets import ExtraNetsRegressor, engine
from extranets.data import linear_process, nonlinear_process
from extranets.networks import Architecture, draw_members
from extranets.uncertainty import predictive

# The paper's networks for its simulated processes. A network with training R^2 below 0.5 counts as collapsed.
SIMULATED: dict[str, tuple[Any, dict[str, Any]]] = {
    "nonlinear": (nonlinear_process, {"hidden_layer_sizes": (3, 2), "max_iter": 80, "learning_rate_init": 0.01}),
    "linear": (linear_process, {"hidden_layer_sizes": (5,), "max_iter": 10, "learning_rate_init": 0.1}),
}
SIMULATED_COMMON: dict[str, Any] = {
    "n_estimators": 30,
    "keep_prob": 0.995,
    "collapse_r2": 0.5,
}
LEVELS = [0.99, 0.95, 0.90]


def simulated_coverage(
    process: str, settings: dict[str, Any] | None, n_replications: int
) -> tuple[np.ndarray, np.ndarray]:
    """Coverage at LEVELS and mean squared error of every simulated data set; each has 1200 training and 300 test rows.

    With ``settings`` the networks are the paper's; with None the estimator is ``ExtraNetsRegressor()`` as it comes.
    """
    draw, networks = SIMULATED[process]
    preset = "default" if settings is None else "paper"
    parameters = {} if settings is None else {**SIMULATED_COMMON, **networks, **settings}
    coverages, errors = [], []
    for seed in track(range(n_replications), f"{process}, {settings or 'defaults'}", transient=True):
        X, y, X_test, y_test = draw(1500, random_state=seed).split(1200)
        model = ExtraNetsRegressor.from_preset(preset, random_state=seed, **parameters).fit(X, y)
        bounds = model.predict_interval(X_test, LEVELS)
        coverages.append(((bounds[:, 0] <= y_test[:, None]) & (y_test[:, None] <= bounds[:, 1])).mean(axis=0))
        errors.append(np.mean((model.predict(X_test) - y_test) ** 2))
    return np.array(coverages), np.array(errors)


def paper_coverage(process: str, n_replications: int) -> tuple[np.ndarray, np.ndarray]:
    """The same with the paper's own arrangement, which the estimator cannot reproduce: it improves on it.

    The target is not scaled, collapsed networks and null masks are dropped instead of replaced, and the noise is measured on
    the test rows themselves.
    """
    draw, networks = SIMULATED[process]
    options = engine.Options(n_epochs=networks["max_iter"], learning_rate=networks["learning_rate_init"])
    architecture = Architecture(5, networks["hidden_layer_sizes"], n_outputs=1, n_heads=1)
    coverages, errors = [], []
    for seed in track(range(n_replications), f"{process}, as in the paper", transient=True):
        X, y, X_test, y_test = draw(1500, random_state=seed).split(1200)
        scaled, scaled_test = ((table - X.mean(axis=0)) / X.std(axis=0) for table in (X, X_test))
        ids = np.arange(SIMULATED_COMMON["n_estimators"])
        members = draw_members(architecture, SIMULATED_COMMON["keep_prob"], seed, ids, null="drop")
        trained = engine.train(members, engine.TrainingData(scaled, y), options, seed, n_threads=os.cpu_count() or 1)
        alive = trained.train_r2 >= SIMULATED_COMMON["collapse_r2"]
        predictions = engine.forward(trained.ensemble, scaled_test)[alive, :, 0].astype(np.float64)
        error = y_test - predictions.mean(axis=0)
        std = np.sqrt(predictions.var(axis=0) / len(predictions) + np.mean(error**2))
        bounds = predictive.interval(np.zeros_like(std), std, LEVELS)
        coverages.append((np.abs(error)[:, None] <= bounds[:, 1]).mean(axis=0))
        errors.append(np.mean(error**2))
    return np.array(coverages), np.array(errors)


def standard_error(values: np.ndarray) -> np.ndarray:
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def show_coverage(console: Console, n_replications: int) -> None:
    headings = [f"{level:.0%}" for level in LEVELS]
    table = Table(
        "process", "networks", "noise", "interval", *headings, "MSPE", title="Coverage, mean and standard error"
    )
    cases = [("train", "paper"), ("holdout", "paper"), ("cv", "paper"), ("cv", "calibrated")]
    for process in SIMULATED:
        results = [(("as in the paper", "test rows", "paper"), paper_coverage(process, n_replications))]
        for noise, interval in cases:
            settings = {"noise": noise, "interval": interval}
            results.append((("paper's", noise, interval), simulated_coverage(process, settings, n_replications)))
        results.append((("default", "cv", "calibrated"), simulated_coverage(process, None, n_replications)))
        for names, (coverage, error) in results:
            cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(coverage.mean(axis=0), standard_error(coverage), strict=True)]
            table.add_row(process, *names, *cells, f"{error.mean():.2f} ± {standard_error(error):.2f}")
    console.print(table)
