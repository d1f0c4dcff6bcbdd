"""Summaries as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from extranets.studies.tables import Figure


def plain(value: Any) -> Any:
    """In JSON's types. Infinite and unknown numbers become null: JSON has neither.

    Examples
    --------
    >>> plain({"x": np.array([1.0, np.inf]), "n": np.int64(3), "mean": Figure(2.0, None)})
    {'x': [1.0, None], 'n': 3, 'mean': {'value': 2.0, 'error': None}}
    """
    if isinstance(value, Figure):
        return {"value": plain(value.value), "error": plain(value.error)}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def as_json(summary: Any) -> str:
    return json.dumps(plain(summary), allow_nan=False, ensure_ascii=False)
