"""Spoils valid calls of the extension at random: each must work or raise an exception that says what is wrong.

Run by test_bindings_fuzz.py under sanitisers, as ``python -m tests.engine.fuzz_bindings path-of-the-extension seed n_calls``.
It needs nothing of the package but the compiled module.
"""

from __future__ import annotations

import copy
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.engine import native_calls as calls

CALLS: list[tuple[str, Callable[[], calls.Arguments]]] = [
    ("train", calls.train),
    ("train", lambda: calls.train(calls.bins(), loss=1, warm_up_epochs=1, validation_fraction=0.3, patience=1)),
    ("train", lambda: calls.train(calls.bins(), dropout_keep=0.8, input_keep=0.7) | {"adversarial": None}),
    ("train", lambda: calls.train(calls.waves(), max_grad_norm=0.5, n_starts=2, max_restarts=1, collapse_r2=0.1)),
    ("train", calls.stretch),
    ("train", lambda: calls.stretch(calls.bins(), step=0, dropout_keep=0.8)),
    ("train_all", calls.train_all),
    ("train_variational", calls.train_variational),
    ("gradient", calls.gradient),
    ("gradient", lambda: calls.gradient(calls.bins())),
    ("pbp_train", calls.pbp_train),
    ("pbp_moments", calls.pbp_moments),
    ("forward", calls.forward),
    ("forward", lambda: calls.forward(calls.bins(), calls.passes())),
    ("moments", lambda: calls.moments(calls.waves())),
    ("moments", lambda: calls.moments(calls.bins(), calls.passes())),
    ("moments", lambda: calls.moments() | {"mean_variance": None}),
    ("jacobian", calls.jacobian),
    ("jacobian", lambda: calls.jacobian(calls.bins())),
    ("random_words", calls.random_words),
    ("random_normals", calls.random_normals),
]
SIZES = [calls.N_ROWS, calls.N_INPUTS, calls.N_OUTPUTS, calls.N_MEMBERS, 2 * calls.N_OUTPUTS]
OTHER_SIZES = [1, 2, 3, 5, 7, 500]
ALLOWED = (TypeError, ValueError, MemoryError, calls.Stop)

INTEGERS = [-(2**63), -(2**31), -5, -1, 0, 1, 2, 3, 4, 5, 63, 64, 255, 256, 2**23, 2**24, 2**28, 2**30]
INTEGERS += [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64]
HUGE = 2**40
FLOATS = [np.nan, np.inf, -np.inf, -1.0, -0.0, 0.0, 1e-45, 1e-10, 0.5, 1.0, 1.0000001, 2.0, 1e10, 3e38, -3e38, 1e300]
OTHERS = [None, True, "5", 1.5, b"bytes", [], [1, 2], {}, object()]
DTYPES = ["f2", "f4", "f8", ">f4", "i1", "i4", "i8", "u2", "u4", "?", "c16", "O"]


def pick(choices: list[Any], rng: np.random.Generator) -> Any:
    return choices[rng.integers(len(choices))]


def misaligned(a: np.ndarray) -> np.ndarray:
    out = np.zeros(a.nbytes + 1, dtype=np.uint8)[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    return out


def read_only(a: np.ndarray) -> np.ndarray:
    out = a.copy()
    out.flags.writeable = False
    return out


def with_numbers(a: np.ndarray, numbers: list[Any], rng: np.random.Generator) -> np.ndarray:
    """One or two entries replaced by numbers that the type of the array holds."""
    if np.issubdtype(a.dtype, np.integer):
        numbers = [n for n in numbers if np.iinfo(a.dtype).min <= n <= np.iinfo(a.dtype).max]
    out = a.copy()
    for _ in range(rng.integers(1, 3)):
        out.reshape(-1)[rng.integers(a.size)] = pick(numbers, rng)
    return out


def extreme(a: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return with_numbers(a, INTEGERS if np.issubdtype(a.dtype, np.integer) else FLOATS, rng)


Way = Callable[[np.ndarray, np.ndarray, np.random.Generator], Any]
WAYS: list[Way] = [  # how an array is spoiled, with the help of another array of the same call
    extreme,
    extreme,
    lambda a, other, rng: with_numbers(a, [0, 1, 2, 3], rng),
    lambda a, other, rng: a + np.array(pick(INTEGERS, rng)).astype(a.dtype),
    lambda a, other, rng: a - np.array(5).astype(a.dtype),
    lambda a, other, rng: np.delete(a, 0, rng.integers(a.ndim)),
    lambda a, other, rng: np.repeat(a, 2, rng.integers(a.ndim)),
    lambda a, other, rng: a[..., None],
    lambda a, other, rng: a.reshape(-1),
    lambda a, other, rng: a.T,
    lambda a, other, rng: np.asfortranarray(a),
    lambda a, other, rng: a[::-1],
    lambda a, other, rng: np.repeat(a, 2, -1)[..., ::2],
    lambda a, other, rng: np.broadcast_to(a[:1], a.shape),
    lambda a, other, rng: a.astype(pick(DTYPES, rng)),
    lambda a, other, rng: read_only(a),
    lambda a, other, rng: misaligned(a),
    lambda a, other, rng: a[..., :0],
    lambda a, other, rng: a[:0],
    lambda a, other, rng: np.empty((0, HUGE)[: a.ndim], dtype=a.dtype),
    lambda a, other, rng: np.empty((HUGE, 0), dtype=a.dtype),  # without numbers, and so without memory
    lambda a, other, rng: other,
    lambda a, other, rng: other.reshape(-1).view(a.dtype)[: a.size].reshape(a.shape),  # the same memory
    lambda a, other, rng: a.tolist(),
    lambda a, other, rng: pick(OTHERS, rng),
]


def spoiled_array(a: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> Any:
    if HUGE in a.shape or HUGE in other.shape:  # NumPy would take for ever
        return a
    try:
        with np.errstate(all="ignore"):
            return pick(WAYS, rng)(a, other, rng)
    except (
        ValueError,
        TypeError,
        LookupError,
        MemoryError,
        ArithmeticError,
    ):  # this array has no such shape or numbers
        return a


def spoiled(value: Any, other: np.ndarray, rng: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray):
        return spoiled_array(value, other, rng)
    if rng.random() < 0.1:
        return pick(OTHERS, rng)
    if isinstance(value, list):
        return [INTEGERS[i] for i in rng.integers(len(INTEGERS), size=rng.integers(3))]
    numbers = INTEGERS if isinstance(value, int) else FLOATS
    return pick(numbers, rng)


def spoil(arguments: calls.Arguments, rng: np.random.Generator) -> None:
    """Changes one argument, maybe one of an object's own arguments."""
    others = [a for a in arguments.values() if isinstance(a, np.ndarray)] or [np.zeros(4, dtype=np.float32)]
    name = pick(list(arguments), rng)
    value = arguments[name]
    if isinstance(value, dict) and value and rng.random() < 0.95:
        spoil(value, rng)
    elif name != "progress":  # without it a call might last for ever
        arguments[name] = spoiled(value, pick(others, rng), rng)


def resize(arguments: calls.Arguments, old: int, new: int, rng: np.random.Generator) -> None:
    """Another number of rows, columns or members, in most of the arguments that have it."""
    for name, value in arguments.items():
        if rng.random() < 0.3:
            continue
        if isinstance(value, dict):
            resize(value, old, new, rng)
        elif isinstance(value, np.ndarray) and value.size and old in value.shape:
            arguments[name] = np.resize(value, [new if n == old else n for n in value.shape])
        elif type(value) is int and value == old:
            arguments[name] = new


def load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("_native", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(path: str, seed: int, n_calls: int) -> None:
    native, rng, seen = load(path), np.random.default_rng(seed), Counter()
    variants = native.usable_variants()
    for i in range(n_calls):
        name, make = pick(CALLS, rng)
        arguments = copy.deepcopy(make())
        native.use_variant(variants[i % len(variants)])
        if rng.random() < 0.3:
            resize(arguments, pick(SIZES, rng), pick(OTHER_SIZES, rng), rng)
        for _ in range(rng.integers(4)):
            spoil(arguments, rng)
        try:
            calls.call(native, name, arguments)
            seen[name, "worked"] += 1
        except ALLOWED as error:
            seen[name, type(error).__name__] += 1
        except BaseException:
            print(f"call {i} of {name} with {arguments}", file=sys.stderr)
            raise
    for (name, outcome), n in sorted(seen.items()):
        print(f"{name} {outcome} {n}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
