"""With one member and nothing dropped every ensemble is the single network that the engine trains."""

from __future__ import annotations

import numpy as np
import pytest

from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    MeanVarianceRegressor,
    engine,
)
from extranets._random import draw_seed
from extranets.data import nonlinear_process
from extranets.engine import TrainingData
from extranets.networks import draw_members

pytestmark = pytest.mark.filterwarnings("ignore:J'J is near singular", "ignore:.*out-of-bag")

TRAINING = {"hidden_layer_sizes": (12, 6), "max_iter": 25, "random_state": 5}
PLAIN = {
    "distance_factor": 0,
    "keep_prob": 1.0,
    "numeric_encoding": None,
    "learning_rate_init": 0.01,
    "batch_size": 32,
    "alpha": 0.1,
}

REDUCED = [
    ExtraNetsRegressor(1, **PLAIN, **TRAINING),
    ExtraNetsRegressor(1, loss="gaussian_nll", interval="total", **PLAIN, **TRAINING),
    BootstrapNetsRegressor(3, interval="normal", **TRAINING),  # centred at its full-sample network
    MCDropoutRegressor(keep_prob=1.0, n_passes=1, **TRAINING),
    MCDropoutRegressor(keep_prob=1.0, n_passes=7, **TRAINING),
    MCDropoutRegressor(keep_prob=1.0, n_passes=1, loss="gaussian_nll", **TRAINING),
    DeepEnsembleRegressor(1, **TRAINING),
    MeanVarianceRegressor(**TRAINING),
    DeltaMethodRegressor(**TRAINING),
]


@pytest.mark.parametrize("model", REDUCED, ids=lambda model: str(model)[:60])
def test_it_is_the_single_network(model):
    X, y, new, _ = nonlinear_process(300, random_state=0).split(250)
    model.fit(X, y)
    Xs = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    new_scaled = ((new - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    ys = ((y - y.mean()) / y.std()).astype(np.float32)
    seed = draw_seed(5)
    recipe = model._networks.recipe
    member = draw_members(recipe.architecture, 1.0, seed, [0])
    network = engine.train(member, TrainingData(Xs, ys), recipe.options, seed).ensemble
    heads = engine.forward(network, new_scaled)[0].astype(np.float64)
    np.testing.assert_allclose(model.predict(new), heads[:, 0] * y.std() + y.mean(), rtol=1e-9)
    if recipe.options.loss == "gaussian_nll":
        np.testing.assert_allclose(model.predict_var(new), np.exp(heads[:, 1]) * y.var(), rtol=1e-6)
    if isinstance(model, MCDropoutRegressor | ExtraNetsRegressor):
        np.testing.assert_allclose(model.predict_components(new).epistemic, 0, atol=1e-9 * y.var())
