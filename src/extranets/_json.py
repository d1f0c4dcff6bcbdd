"""Python and NumPy values in the types that JSON has."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """The value in JSON's types. Infinity and NaN become null, because JSON has neither.

    Examples
    --------
    >>> plain({"x": np.array([1.0, np.inf]), "n": np.int64(3), 90: ("a", None)})
    {'x': [1.0, None], 'n': 3, '90': ['a', None]}
    """
    if hasattr(value, "_asdict"):  # a named tuple
        return plain(value._asdict())
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


def as_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(plain(value), allow_nan=False, ensure_ascii=False, indent=indent)
