"""Bounds that are order statistics. All others are a mean and multiples of a standard deviation: they need no code."""

from __future__ import annotations

import numpy as np

from extranets._arrays import Array
from extranets.onnx_graph.graph import Value

Bounds = list[tuple[Value, Value]]  # lower and upper, ``(n, n_outputs)``, for every level


def plus_bounds(centre: Value, residuals: Array, ranks: list[int]) -> Bounds:
    """CV+ and jackknife+: the rank-th largest of ``centre - residual`` and the rank-th smallest of ``centre + residual``.

    Infinite for a rank above the number of residuals.

    Shape: centre ``(n_outputs, n, n_train)``, residuals ``(n_outputs, n_train)``.
    """
    reach = residuals[:, None, :]
    upper = smallest(centre + reach, residuals.shape[1], ranks)
    lower = smallest(reach - centre, residuals.shape[1], ranks)
    return [(-low, high) for low, high in zip(lower, upper, strict=True)]


def smallest(values: Value, n: int, ranks: list[int]) -> list[Value]:
    """The rank-th smallest along the last of three axes, which has length ``n``, with the first two exchanged.

    Shape: ``(n_outputs, n, n_train)`` -> ``(n, n_outputs)`` for every rank.
    """
    reachable = [min(rank, n) for rank in ranks]
    top = values.largest(n - min(reachable) + 1, axis=2)
    found = [top.take(n - rank, axis=2).transpose(1, 0) for rank in reachable]
    return [one + np.inf if rank > n else one for one, rank in zip(found, ranks, strict=True)]


def percentile_bounds(members: Value, n_members: int, levels: Array) -> Bounds:
    """Quantiles (1 - level) / 2 and (1 + level) / 2 of the members, interpolated linearly between neighbours.

    Shape: members ``(n_members, n, n_outputs)``.
    """
    top = members.largest(n_members, axis=0)

    def quantile(share: float) -> Value:
        place = (n_members - 1) * (1 - share)  # from the top
        before = min(int(place), n_members - 1)
        after = min(before + 1, n_members - 1)
        return top.take(before, axis=0) * (before + 1 - place) + top.take(after, axis=0) * (place - before)

    return [(quantile((1 - level) / 2), quantile((1 + level) / 2)) for level in levels.tolist()]
