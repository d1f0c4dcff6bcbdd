"""How much work a training is, so that the time of what follows can be told from the time of what is being done."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

OVERHEAD = 500  # what a row costs besides multiplications, in multiplications
ENCODED_INPUT = (
    0.25  # what a bin costs beside a plain input: a row is in one bin of a column, and the engine leaves out the others
)


def work(settings: Mapping[str, Any], n_rows: int, n_columns: int, n_outputs: int = 1) -> float:
    """Multiplications of training one network, roughly: times differ from it by up to a factor of two.

    Parameters
    ----------
    settings : as in ``settings_["models"]``
    n_rows : that the network is trained on

    Examples
    --------
    >>> few = {"hidden_layer_sizes": (50,), "n_bins": None, "max_iter": 10}
    >>> work({**few, "max_iter": 20}, 1000, 5) / work(few, 1000, 5)
    2.0
    """
    inputs = n_columns * (1 + ENCODED_INPUT * (settings["n_bins"] or 0))
    layers = [inputs, *settings["hidden_layer_sizes"], n_outputs]
    products = sum(n_in * n_out for n_in, n_out in pairwise(layers))
    return float(settings["max_iter"] * n_rows * (OVERHEAD + products))
