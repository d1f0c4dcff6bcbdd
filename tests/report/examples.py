"""Predictions to report on: those of a small fitted model, and made-up ones for odd cases."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from extranets import ExtraNetsRegressor, NoveltyWarning
from extranets.data import nonlinear_process
from extranets.evaluation import LEVELS, NamedValues, Predictions, predict_with_targets
from extranets.predictor.distributions import Normal, Student
from extranets.uncertainty import predictive

EVIL = "</script><img src=x onerror=alert(1)>"


@cache
def fitted() -> Predictions:
    """500 rows, more than a picture shows, with columns of every kind."""
    X, y, X_test, y_test = nonlinear_process(900, random_state=0).split(400)
    model = ExtraNetsRegressor(n_estimators=12, max_iter=30, random_state=0).fit(X, y)
    about = {"model": "ExtraNetsRegressor", "table": "test.csv", "parts": ["one", EVIL], EVIL: EVIL}
    X_test[::50, 4] += 8  # outside of training
    features = table(X_test)
    order = {
        "groups": NamedValues(EVIL, features["city"].fillna("none").to_numpy()),
        "time": NamedValues("day", features["day"].to_numpy()),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoveltyWarning)
        return predict_with_targets(
            model, X_test, y_test, features=features, target=f"price $ {EVIL}", about=about, **order
        )


def table(X: np.ndarray) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["city"] = rng.choice(["Rome", "Oslo", "Lima"], len(X))
    frame.loc[::17, "city"] = None
    frame["size"] = rng.normal(size=len(X))
    frame.loc[::9, "size"] = np.nan
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, len(X)), unit="D")
    frame["flag"] = rng.random(len(X)) < 0.4
    frame["constant"] = 1
    frame[EVIL] = rng.integers(0, 3, len(X))
    return frame


def made(
    n: int = 600,
    *,
    scale: float = 1.0,
    seed: int = 0,
    levels: np.ndarray = LEVELS,
    dof: float | None = None,
    **changed,
) -> Predictions:
    """Predictions whose errors are ``scale`` times as large as their standard deviations, which vary by row."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n) * 5, rng.uniform(0.5, 2.0, n)
    parts = {
        "y": mean + scale * std * (rng.normal(size=n) if dof is None else student(rng, dof, n)),
        "mean": mean,
        "epistemic": 0.25 * std**2,
        "aleatoric": 0.75 * std**2,
        "levels": levels,
        "bounds": predictive.interval(mean, std, levels, dof),
        "shape": Normal() if dof is None else Student(np.array([dof])),
        "features": {"width": std, "noise": rng.normal(size=n), "group": rng.choice(["a", "b", "c"], n)},
        "members": mean + 0.5 * std * rng.normal(size=(6, n)),
    }
    return Predictions(**(parts | changed))


def of_size(p: Predictions, factor: float, shift: float = 0.0) -> Predictions:
    """The same predictions of a target in other units."""
    y, mean, bounds, members = (part * factor + shift for part in (p.y, p.mean, p.bounds, p.members))
    variances = {"epistemic": p.epistemic * factor**2, "aleatoric": p.aleatoric * factor**2}
    return replace(p, y=y, mean=mean, bounds=bounds, members=members, **variances)


def student(rng: np.random.Generator, dof: float, n: int) -> np.ndarray:
    """Draws with standard deviation 1."""
    return rng.standard_t(dof, size=n) * np.sqrt((dof - 2) / dof)
