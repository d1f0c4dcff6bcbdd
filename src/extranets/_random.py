"""Named, counter-based random streams: the only source of randomness.

A random word is a pure function of ``(seed, member, purpose, attempt, part, position)``, computed by Philox4x32-10
(Salmon et al., 2011). No state is carried, so the same seed gives the same numbers on any number of threads, in any
order, and for any subset of the members. The native engine computes the same words (``native/philox.hpp``).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from extranets._arrays import Array

MOST_AT_ONCE = 2**18  # normal numbers; drawing takes about a hundred bytes for each


class Purpose(IntEnum):
    """What a stream is used for. Keep in step with ``Purpose`` in ``native/contract.hpp``."""

    MASK = 0
    INIT = 1
    SHUFFLE = 2
    DROPOUT = 3
    VALIDATION = 4
    PASS = 5
    ROWS = 6
    WEIGHTS = 7
    RESAMPLE = 8


def draw_seed(random_state: int | np.random.RandomState | None) -> int:
    """A 64-bit seed from scikit-learn's ``random_state``: the same integer always gives the same seed."""
    low, high = check_random_state(random_state).randint(0, 2**32, size=2, dtype=np.uint32)
    return int(low) | int(high) << 32


def philox(key: npt.ArrayLike, counter: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Ten Philox4x32 rounds.

    Shape: key ``(2,)``, counter ``(..., 4)`` -> ``(..., 4)``.
    """
    a, b, c, d = (counter[..., i].astype(np.uint64) for i in range(4))
    k0, k1 = (int(k) for k in np.asarray(key))
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    for _ in range(10):
        p = a * np.uint64(0xD2511F53)
        q = c * np.uint64(0xCD9E8D57)
        a, b, c, d = (q >> shift) ^ b ^ np.uint64(k0), q & low, (p >> shift) ^ d ^ np.uint64(k1), p & low
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([a, b, c, d], axis=-1).astype(np.uint32)


def words(
    seed: int, members: npt.ArrayLike, purpose: Purpose, n: int, *, attempt: int = 0, part: int = 0
) -> npt.NDArray[np.uint32]:
    """The first ``n`` words of each member's stream.

    Shape: members ``(m,)`` -> ``(m, n)``; a scalar member -> ``(n,)``.
    """
    members = np.asarray(members, dtype=np.uint32)
    n_blocks = -(-n // 4)
    counter = np.empty((*members.shape, n_blocks, 4), dtype=np.uint32)
    counter[..., 0] = np.arange(n_blocks, dtype=np.uint32)
    counter[..., 1] = part
    counter[..., 2] = int(purpose) + 256 * attempt
    counter[..., 3] = members[..., None]
    drawn = philox((seed & 0xFFFFFFFF, seed >> 32), counter)
    return drawn.reshape(*members.shape, 4 * n_blocks)[..., :n]


def uniforms(seed: int, members: npt.ArrayLike, purpose: Purpose, n: int, *, attempt: int = 0, part: int = 0) -> Array:
    """Uniform numbers on [0, 1) with 24 bits each, exact in float32 and float64 alike. Shape as in :func:`words`."""
    return (words(seed, members, purpose, n, attempt=attempt, part=part) >> 8) / 2.0**24


def normals(seed: int, members: npt.ArrayLike, purpose: Purpose, n: int, *, attempt: int = 0, part: int = 0) -> Array:
    """Standard normal numbers by Box and Muller (1958): each pair of uniforms gives a pair. Shape as in :func:`words`.

    The first uniform of a pair is taken from (0, 1], so that its logarithm is finite.
    """
    pairs = uniforms(seed, members, purpose, n + n % 2, attempt=attempt, part=part)
    radius = np.sqrt(-2 * np.log(pairs[..., 0::2] + 2.0**-24))
    angle = 2 * np.pi * pairs[..., 1::2]
    drawn = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return drawn.reshape(pairs.shape)[..., :n]


def normal_blocks(
    seed: int, members: npt.NDArray[np.uint32], purpose: Purpose, n: int, *, part: int = 0
) -> Iterator[tuple[slice, Array]]:
    """What `normals` gives, a few members at a time: drawing takes many times the memory of the numbers."""
    at_once = max(1, MOST_AT_ONCE // max(n, 1))
    for begin in range(0, len(members), at_once):
        some = slice(begin, begin + at_once)
        yield some, normals(seed, members[some], purpose, n, part=part)


def shuffled(
    rows: npt.NDArray[np.uint32], seed: int, member: int, purpose: Purpose, *, attempt: int = 0, part: int = 0
) -> npt.NDArray[np.uint32]:
    """A Fisher-Yates shuffle of ``rows`` (a copy), from the last place down."""
    out = rows.copy()
    n = len(rows)
    draws = words(seed, member, purpose, max(n - 1, 0), attempt=attempt, part=part)
    for word, i in zip(draws.tolist(), range(n - 1, 0, -1), strict=True):
        j = word * (i + 1) >> 32
        out[i], out[j] = out[j], out[i]
    return out


def generator(seed: int, purpose: Purpose, *, part: int = 0) -> np.random.Generator:
    """A NumPy generator for draws that the engine does not repeat (normal samples, fold assignment)."""
    return np.random.Generator(np.random.Philox(key=[seed, int(purpose) | part << 8]))
