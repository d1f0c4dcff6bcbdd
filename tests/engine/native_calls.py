"""Small valid calls of the extension's functions, made anew each time, for tests that spoil them.

Arguments that are objects of the extension stand here as the arguments they are made from, so that those can be spoiled too.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

N_ROWS, N_INPUTS, N_OUTPUTS, N_MEMBERS, N_EPOCHS = 13, 3, 2, 2, 3
WIDTHS = np.array([[5, 4], [6, 2]], dtype=np.int32)
OPTIONS: dict[str, Any] = {
    "loss": 0,
    "schedule": 0,
    "n_epochs": N_EPOCHS,
    "batch_size": 4,
    "learning_rate": 0.01,
    "beta1": 0.9,
    "beta2": 0.999,
    "epsilon": 1e-7,
    "weight_decay": 0.0,
    "warm_up_epochs": 0,
    "dropout_keep": 1.0,
    "input_keep": 1.0,
    "max_grad_norm": 0.0,
    "validation_fraction": 0.0,
    "patience": 10,
    "tolerance": 1e-4,
    "n_starts": 1,
    "max_restarts": 0,
    "collapse_r2": float("-inf"),
    "seed": 7,
}

Arguments = dict[str, Any]


class Stop(Exception):
    """What the progress of a call raises that would take too long."""


def stop(done: float) -> None:
    if done < 1:
        raise Stop


def n_parameters(n_inputs: int, widths: Any, n_heads: int) -> int:
    sizes = [n_inputs, *(int(width) for width in widths), n_heads]
    return sum(a * b + b for a, b in itertools.pairwise(sizes))


def bins() -> Arguments:
    columns, first = np.array([0, 2], dtype=np.int32), np.array([0, 2, 5], dtype=np.int32)
    numbers = np.array([-1, 0, 1, -2, -1, 1, 2], dtype=np.float32)
    return {"kind": 0, "columns": columns, "first": first, "numbers": numbers}


def waves() -> Arguments:
    columns, first = np.array([1, 2], dtype=np.int32), np.array([0, 4, 8], dtype=np.int32)
    return {"kind": 1, "columns": columns, "first": first, "numbers": np.array([0.3, 1.5], dtype=np.float32)}


def _entries(encoding: Arguments | None) -> int:
    return 0 if encoding is None else int(encoding["first"][-1])


def _table() -> Arguments:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N_ROWS, N_INPUTS)), rng.normal(size=(N_ROWS, N_OUTPUTS))
    return {"X": X.astype(np.float32), "y": y.astype(np.float32), "weight": np.ones(N_ROWS, dtype=np.float32)}


def _samples() -> Arguments:
    counts = np.random.default_rng(1).integers(0, 3, (2, N_ROWS)).astype(np.uint16)
    return {"counts": counts, "count_rows": np.array([1, -1], dtype=np.int32)}


def _networks(n_inputs: int, n_heads: int) -> Arguments:
    sizes = [n_parameters(n_inputs, widths, n_heads) for widths in WIDTHS]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return {"members": np.arange(N_MEMBERS, dtype=np.uint32), "widths": WIDTHS.copy(), "offsets": offsets}


def training(encoding: Arguments | None = None, **options: Any) -> Arguments:
    chosen = OPTIONS | options
    networks = _networks(N_INPUTS + _entries(encoding), N_OUTPUTS * (1 + chosen["loss"]))
    return {
        **_table(),
        "adversarial": np.full(N_INPUTS, 0.1, dtype=np.float32),
        **_samples(),
        **networks,
        "encoding": encoding,
        "options": chosen,
        "parameters": np.empty(networks["offsets"][-1], dtype=np.float32),
        "loss_curve": np.empty((N_MEMBERS, N_EPOCHS), dtype=np.float32),
        "scalars": np.empty((N_MEMBERS, 3)),
        "integers": np.empty((N_MEMBERS, 3), dtype=np.int32),
    }


def train(encoding: Arguments | None = None, **options: Any) -> Arguments:
    """One training alone: a call of ``train_all``, whose arguments stand beside those of the training."""
    return {**training(encoding, **options), "n_threads": 2, "progress": stop}


def stretch(encoding: Arguments | None = None, step: int = 5, **options: Any) -> Arguments:
    """One part of a training, as ``train``."""
    arguments = train(encoding, n_epochs=1, **options)
    size = len(arguments["parameters"])
    state = {name: np.full(size, 0.1, dtype=np.float32) for name in ("parameters", "first", "second")}
    of_member = np.array([0, 2, step, 20], dtype=np.int64)
    curve = np.empty((N_MEMBERS, 1), dtype=np.float32)
    return {**arguments, **state, "stretches": np.tile(of_member, (N_MEMBERS, 1)), "loss_curve": curve}


def train_all() -> Arguments:
    """Several trainings; the names are for the eye."""
    table = _table()
    trainings = {
        "plain": training() | table,
        "bins": training(bins(), loss=1) | table,
        "the same bins": training(bins(), validation_fraction=0.3) | table,
        "waves": training(waves(), n_starts=2),
    }
    return {"trainings": trainings, "n_threads": 2, "progress": stop}


def train_variational() -> Arguments:
    networks = _networks(N_INPUTS, N_OUTPUTS)
    return {
        **_table(),
        **_samples(),
        **networks,
        "options": dict(OPTIONS),
        "mean": np.empty(networks["offsets"][-1], dtype=np.float32),
        "std": np.empty(networks["offsets"][-1], dtype=np.float32),
        "noise_variance": np.empty((N_MEMBERS, N_OUTPUTS), dtype=np.float32),
        "prior_variance": np.empty(N_MEMBERS, dtype=np.float32),
        "loss_curve": np.empty((N_MEMBERS, N_EPOCHS), dtype=np.float32),
        "outcomes": np.empty(N_MEMBERS, dtype=np.int32),
        "graves": True,
        "n_threads": 2,
        "progress": stop,
    }


def gradient(encoding: Arguments | None = None) -> Arguments:
    n = n_parameters(N_INPUTS + _entries(encoding), WIDTHS[0], N_OUTPUTS)
    return {
        **_table(),
        "widths": WIDTHS[0].copy(),
        "parameters": np.full(n, 0.1, dtype=np.float32),
        "encoding": encoding,
        "options": dict(OPTIONS),
        "out": np.empty(n, dtype=np.float32),
    }


def pbp_train() -> Arguments:
    shape = (N_MEMBERS, n_parameters(N_INPUTS, WIDTHS[0], 1))
    return {
        **_table(),
        **_samples(),
        "members": np.arange(N_MEMBERS, dtype=np.uint32),
        "targets": np.array([1, 0], dtype=np.int32),
        "hidden": WIDTHS[0].copy(),
        "n_passes": 2,
        "seed": 7,
        "mean": np.random.default_rng(2).normal(size=shape),
        "variance": np.full(shape, 0.1),
        "noise": np.full((N_MEMBERS, 2), 6.0),
        "prior": np.full((N_MEMBERS, 2), 6.0),
        "n_threads": 2,
        "progress": stop,
    }


def pbp_moments() -> Arguments:
    posterior = pbp_train()
    return {
        "hidden": posterior["hidden"],
        "weight_mean": posterior["mean"],
        "weight_variance": posterior["variance"],
        "X": posterior["X"],
        "mean": np.empty((N_MEMBERS, N_ROWS)),
        "variance": np.empty((N_MEMBERS, N_ROWS)),
        "n_threads": 2,
    }


def packed(encoding: Arguments | None = None, n_heads: int = N_OUTPUTS, n_members: int = N_MEMBERS) -> Arguments:
    sizes = [n_parameters(N_INPUTS + _entries(encoding), widths, n_heads) for widths in WIDTHS[:n_members]]
    return {
        "n_inputs": N_INPUTS,
        "n_outputs": N_OUTPUTS,
        "n_heads": n_heads,
        "widths": WIDTHS[:n_members].copy(),
        "parameters": np.full(sum(sizes), 0.1, dtype=np.float32),
        "encoding": encoding,
    }


def passes() -> Arguments:
    return {"pass_ids": [0, 1, 2], "dropout_keep": 0.7, "input_keep": 0.8, "seed": 7}


def forward(encoding: Arguments | None = None, thinned: Arguments | None = None) -> Arguments:
    n = N_MEMBERS if thinned is None else len(thinned["pass_ids"])
    out = np.empty((n, N_ROWS, N_OUTPUTS), dtype=np.float32)
    return {"packed": packed(encoding), "passes": thinned, "X": _table()["X"], "out": out, "n_threads": 2}


def moments(encoding: Arguments | None = None, thinned: Arguments | None = None) -> Arguments:
    out = {name: np.empty((N_ROWS, N_OUTPUTS)) for name in ("mean", "variance", "mean_variance")}
    return {"packed": packed(encoding, 2 * N_OUTPUTS), "passes": thinned, "X": _table()["X"], **out, "n_threads": 2}


def jacobian(encoding: Arguments | None = None) -> Arguments:
    one = packed(encoding, n_members=1)
    out = np.empty((N_ROWS, len(one["parameters"])), dtype=np.float32)
    return {"packed": one, "passes": None, "X": _table()["X"], "head": 1, "out": out, "n_threads": 2}


def random_words() -> Arguments:
    out = np.empty(70, dtype=np.uint32)
    return {"seed": 7, "member": 1, "purpose": 2, "attempt": 0, "part": 0, "out": out}


def random_normals() -> Arguments:
    return random_words() | {"out": np.empty(70, dtype=np.float32)}


def call(native: Any, name: str, arguments: Arguments) -> Any:
    """Calls a function of the module, or a method of Packed, with its objects made from their own arguments."""
    given = dict(arguments)
    if name == "train":
        around = {key: given.pop(key) for key in ("n_threads", "progress")}
        return call(native, "train_all", {"trainings": {"alone": given}, **around})
    if isinstance(given.get("trainings"), dict):
        several = given["trainings"].values()
        given["trainings"] = [call(native, "Training", one) if isinstance(one, dict) else one for one in several]
    if isinstance(given.get("encoding"), dict):
        given["encoding"] = native.Encoding(**given["encoding"])
    if isinstance(given.get("options"), dict):
        options = native.Options()
        for field, value in given["options"].items():
            setattr(options, field, value)
        given["options"] = options
    if "packed" not in given:
        return getattr(native, name)(**given)
    ensemble, thinned = call(native, "Packed", given.pop("packed")), given.pop("passes")
    if thinned is not None:
        ensemble.set_passes(**thinned)
    return getattr(ensemble, name)(**given)
