"""What kernels cannot check: arrays that do not fit would be read behind their end. Messages as those of the CPU's engine."""

from __future__ import annotations

from typing import Any

from extranets.engine.options import Options
from extranets.networks import MOST_LAYERS, Members


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def check_training(members: Members, arrays: dict[str, Any], options: Options) -> None:
    X, y, weight, adversarial = (arrays[name] for name in ("X", "y", "weight", "adversarial"))
    a = members.architecture
    _require(len(members) > 0, "an ensemble needs a member")
    _require(len(a.hidden) <= MOST_LAYERS, "too many hidden layers")
    positive = min(options.batch_size, options.n_epochs, options.n_starts) >= 1
    _require(positive, "batch, epochs and starts must be positive")
    _require(X.ndim == 2 and X.shape[1] == a.n_inputs, "X has the wrong number of columns")
    _require(len(X) == len(y), "X and y must have the same number of rows")
    _require(y.ndim == 2 and y.shape[1] == a.n_outputs, "y has the wrong number of outputs")
    _require(a.n_heads == a.n_outputs * (2 if options.loss == "gaussian_nll" else 1), "heads do not fit the loss")
    _require(1 <= len(X) < 1 << 32, "between one row and 2^32 rows are needed")
    _require(weight is None or weight.shape == (len(X),), "weight must have one entry per row")
    fits = adversarial is None or adversarial.shape == (a.n_inputs,)
    _require(fits, "adversarial must have one step per column of X")
    _check_counts(members, arrays)


def _check_counts(members: Members, arrays: dict[str, Any]) -> None:
    counts, rows = arrays["counts"], arrays["count_rows"]
    if counts is None:
        _require(rows is None or bool((rows < 0).all()), "count_rows points outside counts")
        return
    fits = rows is not None and rows.shape == (len(members),) and counts.ndim == 2
    _require(fits and counts.shape[1] == len(arrays["X"]), "counts needs one column per row and count_rows per member")
    _require(bool((rows < len(counts)).all()), "count_rows points outside counts")
    _require(bool(counts[rows[rows >= 0]].any(axis=1).all()), "a sample without rows")
