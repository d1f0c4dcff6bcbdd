"""A `RandomState` as a parameter: the file holds its state, so that the next fit draws what it would have drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from extranets.model_file.errors import require
from extranets.model_file.registry import Stored
from extranets.model_file.typed import check_types

TYPES = {"key": np.ndarray[Any, np.dtype[np.uint32]], "position": int, "has_gauss": int, "gauss": float}
WORDS = 624


def _take_apart(value: np.random.RandomState) -> dict[str, Any]:
    state = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise TypeError(f"A RandomState made of {state['bit_generator']} cannot be stored; pass an integer.")
    inner = state["state"]
    return {"key": inner["key"], "position": inner["pos"], "has_gauss": state["has_gauss"], "gauss": state["gauss"]}


def _rebuild(fields: dict[str, Any]) -> np.random.RandomState:
    check_types(fields, TYPES)
    # NumPy reads on from the position without checking that it lies within the key.
    require(fields["key"].shape == (WORDS,) and 0 <= fields["position"] <= WORDS, "is not the state of a generator")
    require(fields["has_gauss"] in (0, 1), "is not the state of a generator")
    value = np.random.RandomState()
    value.set_state(("MT19937", fields["key"], fields["position"], fields["has_gauss"], fields["gauss"]))
    return value


STORED = Stored("RandomState", _take_apart, _rebuild)
