"""What a stack is made of, in words."""

from __future__ import annotations

import numpy as np

from extranets import StackedNetsRegressor
from extranets.stacking import in_words, ranked, summary


def test_everything_that_a_fit_tried_has_words():
    X = np.random.default_rng(0).normal(size=(300, 2))
    models = (
        StackedNetsRegressor(n_folds=2, effort="high", random_state=0).fit(X, np.sin(4 * X[:, 0])).settings_["models"]
    )
    words = [in_words(model) for model in models]
    assert len(set(words)) == len(words) and "ridge regression" in words
    order = [(model["weight"], model["r2"]) for model in ranked(models)]
    assert order == sorted(order, reverse=True)
    told = summary(models)
    assert len(told) == sum(model["weight"] > 0 for model in models) > 0
    assert all(line.endswith(f" % {in_words(model)}") for line, model in zip(told, ranked(models), strict=False))


def test_words_for_one_layer_and_for_two():
    net = {"n_bins": 16, "alpha": 0.3, "max_iter": 7}
    assert in_words({**net, "hidden_layer_sizes": (60,)}) == "1 layer of 60 units, 16 bins, decay 0.3, 7 epochs"
    assert in_words({**net, "hidden_layer_sizes": [60, 60], "n_bins": None}).startswith("2 layers of 60 units, no bins")
