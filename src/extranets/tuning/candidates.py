"""What is tried: settings that differ from the default in some respects, drawn from a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from extranets._random import Purpose, generator
from extranets.estimators import ExtraNetsRegressor
from extranets.estimators.automatic import follow_rows

# Parameters that differ from the default's. "max_iter" is a factor: the default's epochs follow the number of rows, which
# differs between trials and the final fit.
Candidate = dict[str, Any]

DEFAULT: Candidate = {}

ENCODINGS: list[Candidate] = [
    {"numeric_encoding": None},
    *({"numeric_encoding": "piecewise_linear", "n_bins": n_bins} for n_bins in (8, 16, 32, 64)),
    *({"numeric_encoding": "periodic", "n_bins": n_bins} for n_bins in (8, 16)),
]
HIDDEN = ((50,), (100,), (50, 50), (100, 100), (200, 200), (100, 100, 100))
RATES = (0.5, 1.0, 2.0)  # times the default's
ALPHAS = (0.0, 0.01, 0.05, 0.2)
KEEP_PROBS = (0.8, 0.9, 1.0)
EPOCHS = (1, 2, 4)  # times the default's

STAYS = (
    0.5  # probability that a candidate keeps the default in one respect: combinations of many changes are mostly bad
)
MOST_DRAWS = 2000  # a grid in which most is fixed has few different candidates

# Of `work`: what a row costs besides multiplications, and what an encoded input costs beside a plain one (a row is in one bin
# of a column, so that the engine can leave the others out).
OVERHEAD = 10_000
ENCODED_INPUT = {None: 0.0, "piecewise_linear": 0.25, "periodic": 1.0}


def candidates(default: ExtraNetsRegressor, fixed: Mapping[str, Any], seed: int) -> Iterator[Candidate]:
    """Candidates that all differ, in random order.

    Parameters
    ----------
    default : fitted estimator
    fixed : parameters that stay as they are
    """
    usual = {**default.get_params(deep=False), **_settings(default), "max_iter": 1}
    grid = _grid(default, fixed)
    random = generator(seed, Purpose.RESAMPLE)
    seen = [DEFAULT]
    for _ in range(MOST_DRAWS):
        drawn: Candidate = {}
        for respect in grid:
            place = int(random.integers(len(respect)))
            drawn |= {} if random.uniform() < STAYS else respect[place]
        candidate = {name: value for name, value in drawn.items() if value != usual[name]}
        if candidate not in seen:
            seen.append(candidate)
            yield candidate


def _grid(default: ExtraNetsRegressor, fixed: Mapping[str, Any]) -> list[list[Candidate]]:
    rate = _settings(default)["learning_rate_init"]
    # The bins of a fixed encoding may still be chosen.
    encodings = [
        option
        for option in ENCODINGS
        if "numeric_encoding" not in fixed or option["numeric_encoding"] == fixed["numeric_encoding"]
    ]
    respects: list[list[Candidate]] = [
        encodings or [DEFAULT],
        [{"hidden_layer_sizes": hidden} for hidden in HIDDEN],
        [{"learning_rate_init": rate * factor} for factor in RATES],
        [{"alpha": alpha} for alpha in ALPHAS],
        [{"keep_prob": keep_prob} for keep_prob in KEEP_PROBS],
        [{"max_iter": factor} for factor in EPOCHS],
    ]
    return [
        [{name: value for name, value in option.items() if name not in fixed} for option in respect]
        for respect in respects
    ]


def parameters(candidate: Candidate, default: ExtraNetsRegressor, n_rows: int) -> dict[str, Any]:
    """The candidate as parameters of an estimator that is fitted to ``n_rows`` rows, besides those that are fixed.

    The encoding is always among them: the default has found its own on all rows and need not find it again.
    """
    found = {"numeric_encoding": _settings(default)["numeric_encoding"], **candidate}
    if "max_iter" in candidate:
        found["max_iter"] = candidate["max_iter"] * follow_rows(n_rows, default.effort)["max_iter"]
    return found


def work(candidate: Candidate, default: ExtraNetsRegressor) -> float:
    """What training takes, as a multiple of what the default takes. A rough figure: it orders and limits, no more."""
    return _work(candidate, default) / _work(DEFAULT, default)


def _work(candidate: Candidate, default: ExtraNetsRegressor) -> float:
    chosen = {**default.get_params(deep=False), **_settings(default), **candidate}
    encoded = 1 + chosen["n_bins"] * ENCODED_INPUT[chosen["numeric_encoding"]]
    hidden = [units * chosen["keep_prob"] for units in _as_tuple(chosen["hidden_layer_sizes"])]
    layers = [default.n_features_in_ * encoded, *hidden, 1.0]
    return candidate.get("max_iter", 1) * (OVERHEAD + sum(n_in * n_out for n_in, n_out in pairwise(layers)))


def _as_tuple(hidden: Any) -> tuple[int, ...]:
    """A single number is one layer."""
    return tuple(hidden) if hasattr(hidden, "__len__") else (hidden,)


def _settings(default: ExtraNetsRegressor) -> dict[str, Any]:
    assert default.settings_ is not None  # it was fitted, not loaded from an old file
    return default.settings_
