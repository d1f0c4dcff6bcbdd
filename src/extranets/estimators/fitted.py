"""What a fit leaves in an estimator."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from extranets.predictor import Predictor


@dataclass(frozen=True)
class Fit:
    """What an estimator's own steps make of a sample: a model, and what else they learned, by attribute."""

    model: Predictor
    extras: dict[str, Any] = field(default_factory=dict)


def fit_info(shape: tuple[int, int], begin: float) -> dict[str, Any]:
    """What a fit to a table of this shape was that began at ``begin`` on the clock of `time.monotonic`."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"n_rows": shape[0], "n_features": shape[1], "seconds": time.monotonic() - begin, "finished": now}
