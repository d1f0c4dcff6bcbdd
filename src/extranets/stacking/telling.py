"""What a stack is made of, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def in_words(model: Mapping[str, Any]) -> str:
    """One entry of ``settings_["models"]``, without its weight and error.

    Examples
    --------
    >>> in_words({"hidden_layer_sizes": ()})
    'ridge regression'
    >>> in_words({"hidden_layer_sizes": (50, 50), "n_bins": 16, "alpha": 0.3, "max_iter": 20, "scaled_columns": True})
    '2 layers of 50 units, scaled columns, 16 bins, decay 0.3, 20 epochs'
    """
    sizes = model["hidden_layer_sizes"]
    if not sizes:
        return "ridge regression"
    layers = f"{len(sizes)} layer{'s' * (len(sizes) > 1)} of {sizes[0]} units"
    bins = f"{model['n_bins']} bins" if model.get("n_bins") else "no bins"
    scaled = ", scaled columns" if model.get("scaled_columns") else ""
    return f"{layers}{scaled}, {bins}, decay {model['alpha']:g}, {model['max_iter']} epochs"


def ranked(models: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The entries of ``settings_["models"]``: the largest weights first, then the smallest errors."""
    return sorted(models, key=lambda model: (-model["weight"], -model["r2"]))


def summary(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Those that have a weight, a line for each.

    Examples
    --------
    >>> ridge = {"hidden_layer_sizes": (), "r2": 0.5}
    >>> net = {"hidden_layer_sizes": (50,), "n_bins": None, "alpha": 1.0, "max_iter": 9, "r2": 0.6}
    >>> summary([{**ridge, "weight": 0.25}, {**net, "weight": 0.75}])
    ['75 % 1 layer of 50 units, no bins, decay 1, 9 epochs', '25 % ridge regression']
    """
    return [f"{100 * model['weight']:.0f} % {in_words(model)}" for model in ranked(models) if model["weight"] > 0]
