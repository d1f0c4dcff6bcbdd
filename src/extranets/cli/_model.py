"""Model files as the commands use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Loaded:
    """A model with what `fit` noted beside it."""

    model: Any
    target: str | None
    id: str | None
    coverage: float
    info: dict[str, Any]


def load_model(path: str) -> Loaded:
    """Load a table's model, and refuse others with the way out."""
    from extranets.model_file import load, read_info
    from extranets.tables import TableRegressor

    info = read_info(path)
    model = load(path)
    if not isinstance(model, TableRegressor):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, which takes arrays. The command line predicts tables: fit with "
            "`extranets fit`, or wrap the estimator in extranets.tables.TableRegressor and save that."
        )
    about = info.get("about") or {}
    target, id, coverage = about.get("target"), about.get("id"), about.get("coverage", 0.9)
    return Loaded(
        model,
        target if isinstance(target, str) else None,
        id if isinstance(id, str) else None,
        coverage if isinstance(coverage, float) and 0 < coverage < 1 else 0.9,
        info,
    )
