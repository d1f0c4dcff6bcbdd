"""What leads from the latent target to the user's: the parameters ``bounds`` and ``target_transform``, for one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from extranets._arrays import Array
from extranets.predictor.limits import Limits
from extranets.predictor.link import Link
from extranets.predictor.powers import IDENTITY, NAMES, Powers

AUTO = "auto"


def link_for(
    bounds: Any, target_transform: Any, y: Array, weight: Array, choose: Callable[[Limits | None], Powers | None]
) -> Link:
    """For training rows; ``choose`` decides what "auto" means. Shape: y ``(n, n_outputs)``, weight ``(n,)``."""
    limits = Limits.of(bounds, y)
    if target_transform is None:
        return Link(limits)
    if isinstance(target_transform, str) and target_transform == AUTO:
        return Link(limits, choose(limits))
    return Link(limits, asked_powers(target_transform, y, weight))


def asked_powers(target_transform: str | float, y: Array, weight: Array) -> Powers | None:
    """By name or number; outputs that are always 0 stay as they are."""
    if (y < 0).any():
        row, column = np.argwhere(y < 0)[0]
        where = f"row {row}" + (f", output {column}" if y.shape[1] > 1 else "")
        raise ValueError(
            f"target_transform={target_transform!r} is for targets that are never negative, and y holds {y[row, column]:g} ({where}). "
            "Use target_transform=None."
        )
    power = NAMES[target_transform] if isinstance(target_transform, str) else float(target_transform)
    powers = np.where(y.max(axis=0) > 0, power, IDENTITY)
    return None if (powers == IDENTITY).all() else Powers.of(powers, y, weight)
