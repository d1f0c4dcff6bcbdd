"""Model files as the commands use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from extranets.cli._shared import check_input


@dataclass(frozen=True)
class Loaded:
    """A model with what `fit` noted beside it."""

    model: Any
    target: str | None
    target_style: str | None
    id: str | None
    coverage: float
    info: dict[str, Any]


def load_model(path: str) -> Loaded:
    """Load a table's model, and refuse others with the way out."""
    from extranets.model_file import ModelFileError, load, read_info
    from extranets.tables import TableRegressor
    from extranets.tables.values import STYLES

    check_input(path)
    info = read_info(path)
    model = load(path)
    if not isinstance(model, TableRegressor):
        raise ModelFileError(
            f"{path} holds an estimator that takes arrays, {type(model).__name__}. The command line predicts tables: fit with "
            "`extranets fit`, or wrap the estimator in extranets.tables.TableRegressor and save that."
        )
    if not model.regressor_._y_is_vector:
        raise ModelFileError(f"{path} predicts several targets at once; the command line takes models of one.")
    about = info.get("about") or {}
    target, id, coverage = about.get("target"), about.get("id"), about.get("coverage", 0.9)
    style = about.get("target_style")
    return Loaded(
        model,
        target if isinstance(target, str) else None,
        style if style in STYLES else None,
        id if isinstance(id, str) else None,
        coverage if isinstance(coverage, float) and 0 < coverage < 1 else 0.9,
        info,
    )
