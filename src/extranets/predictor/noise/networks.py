"""Noise that depends on x: small networks that predict the logarithm of the squared error on held-out rows.

The mean is trained by squared error and stays as it is; only its errors, on rows that the networks did not see, are modelled. A
logarithm is robust (one large error does not rule the fit) and keeps variances positive. What the networks find is shrunk or
stretched by the slope that it deserves on rows that they in turn did not see: where noise does not depend on x, it becomes
constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from extranets import engine
from extranets._arrays import Array, Float32, blocks
from extranets._blas import one_blas_thread
from extranets._random import Purpose, generator
from extranets.encodings import learn_piecewise_linear
from extranets.engine import Machine, TrainingData
from extranets.held_out import Plan, Sample, cross_validation, errors_on_all
from extranets.model_file import require, storable
from extranets.networks import Architecture, Ensemble, draw_members
from extranets.onnx_graph import Value
from extranets.predictor.graph_parts import network_moments
from extranets.predictor.part import Noise, Source
from extranets.uncertainty.components import HeldOut

WIDE_RANGE = 10.0  # standard deviations of the logarithms, where a file knows no better
FEWEST_ROWS = 100  # held-out rows that say something about where errors are large
N_NETWORKS, N_FOLDS = 20, 5
HIDDEN, KEEP_PROB, N_BINS = (50,), 0.8, 8
BATCH, STEPS, EPOCHS = 32, 1500, (3, 40)  # fewest and most epochs; between them, so many mini-batches
OFFSET = 0.003  # of the mean square, added to squares: errors that happen to be tiny must not rule the logarithm
MOST_SLOPE = 2.0  # the offset hides how small the smallest variances are: more than 1 undoes that
TAIL_DOF = 5  # of errors in units of their standard deviation, for the slope
MOST_LOG_VARIANCE = 300.0  # of a standardised target: far beyond what data ask for, and its exponential is finite
TINY = float(np.finfo(np.float64).tiny)  # a constant output has no errors


@storable("NoiseModel")
@dataclass(frozen=True)
class NoiseModel:
    """log(variance) = intercept + slope * (mean prediction of the networks). Everything is standardised.

    Outside of the training rows the networks go on straight, and their exponential would soon be next to nothing or beyond
    measure. So predictions stay between those for training rows that the networks had not seen.

    Shapes: intercept, slope, lowest, highest ``(n_outputs,)``; the last two are None in files of early versions.
    """

    ensemble: Ensemble
    intercept: Array
    slope: Array
    lowest: Array | None = None
    highest: Array | None = None

    @classmethod
    def fit(cls, held: HeldOut, X: Float32, seed: int, machine: Machine) -> tuple[NoiseModel, Array]:
        """The model, and the variance that it gives the held-out rows when it has not seen them.

        Shape: X ``(n, k)``, the rows of ``held`` -> ``(n, n_outputs)``.
        """
        squares = held.residual**2
        logs = np.log(np.maximum(squares + OFFSET * _average(squares, held.weight), TINY))
        centre = _average(logs, held.weight)
        scale = np.sqrt(_average((logs - centre) ** 2, held.weight))
        y = (logs - centre) / np.where(scale > 0, scale, 1.0)
        sample = Sample(X, y.astype(np.float32), held.weight)
        seed = int(generator(seed, Purpose.ROWS, part=1).integers(2**63))  # streams of its own
        final, unseen = _train(sample, cross_validation(len(X), N_FOLDS, N_NETWORKS, seed), seed, machine)
        slope = scale * [_slope(scale[o] * unseen[:, o], squares[:, o], held.weight) for o in range(y.shape[1])]
        shape = np.exp(slope * unseen)
        intercept = np.log(np.maximum(_average(squares / shape, held.weight), TINY))
        return cls(final, intercept, slope, unseen.min(axis=0), unseen.max(axis=0)), np.exp(intercept) * shape

    def __call__(self, X: Float32, machine: Machine) -> Array:
        """Variance of the noise. Shape: ``(n, k)`` -> ``(n, n_outputs)``."""
        found = engine.moments(self.ensemble, **machine)(X)[0]
        return np.exp(self.intercept + self.slope * np.clip(found, *self._range))

    def graph(self, x: Value) -> Value:
        """The same as a part of a graph."""
        low, high = self._range
        found = network_moments(x, self.ensemble)[0].apply("Max", low).apply("Min", high)
        return (found * self.slope + self.intercept).apply("Exp")

    @property
    def _range(self) -> tuple[Array, Array]:
        wide = np.full_like(self.slope, WIDE_RANGE)
        return (-wide, wide) if self.lowest is None or self.highest is None else (self.lowest, self.highest)

    def _check_stored(self) -> None:
        architecture = self.ensemble.members.architecture
        require(not architecture.learns_noise, "the networks of the noise predict a variance themselves")
        for name in ("intercept", "slope"):
            values = getattr(self, name)
            require(values.shape == (architecture.n_outputs,), f"{name} does not fit the networks")
            require((np.abs(values) < 1e3).all(), f"{name} is too large or not finite")
        for values in self._range:
            require(values.shape == (architecture.n_outputs,), "a range does not fit the networks")
            require((np.abs(values) < 1e3).all(), "a range is too large or not finite")
        require((self._range[0] <= self._range[1]).all(), "a range is empty")
        largest = self.intercept + np.abs(self.slope * self._range).max(axis=0)
        require((largest < MOST_LOG_VARIANCE).all(), "the variances of the noise would be too large")


@storable("NetworkNoise")
@dataclass(frozen=True)
class NetworkNoise(Noise):
    """Shape: factor ``(n_outputs,)``, of what the model predicts."""

    differs: ClassVar[bool] = True

    model: NoiseModel
    factor: Array

    @classmethod
    def learn(cls, held: HeldOut, X: Float32, seed: int, machine: Machine) -> tuple[NetworkNoise, HeldOut]:
        """And the errors with the variance that the model gives their rows when it has not seen them.

        Shape: X ``(n, k)``, the rows of ``held``.
        """
        model, variance = NoiseModel.fit(held, X, seed, machine)
        return cls(model, np.ones(held.residual.shape[1])), held._replace(noise=variance)

    def _shape(self, X: Float32, predicted: Array | None, machine: Machine) -> Array:
        return self.model(X, machine)

    def _graph_shape(self, x: Value, predicted: Value | None) -> Value:
        return self.model.graph(x)

    def relearned(self, source: Source, sample: Sample, machine: Machine) -> tuple[NetworkNoise, HeldOut]:
        """The networks stay; only their factor is set back to one."""
        held = errors_on_all(source.moments(machine), sample)
        noise = np.concatenate([self.model(sample.X[rows], machine) for rows in blocks(len(sample.y))])
        return replace(self, factor=np.ones_like(self.factor)), held._replace(noise=noise)

    def check_fits(self, source: Source) -> None:
        super().check_fits(source)
        own = self.model.ensemble.members.architecture
        fits = (own.n_inputs, own.n_outputs) == (source.n_features, source.n_outputs)
        require(fits and not source.learns_noise, "the networks of the noise do not fit the others")


def _train(sample: Sample, plan: Plan, seed: int, machine: Machine) -> tuple[Ensemble, Array]:
    """Networks that saw all rows, and predictions of every row by networks that did not see it."""
    n_rows, n_outputs = sample.y.shape
    encoding = learn_piecewise_linear(sample.X, N_BINS)
    architecture = Architecture(sample.X.shape[1], HIDDEN, n_outputs, n_outputs, encoding)
    ids = np.concatenate([np.arange(N_NETWORKS, dtype=np.uint32), plan.extra_ids()])
    members = draw_members(architecture, KEEP_PROB, seed, ids)
    epochs = int(np.clip(STEPS // -(-n_rows // BATCH), *EPOCHS))
    options = engine.Options(
        n_epochs=epochs, batch_size=BATCH, learning_rate=0.005, schedule="linear", weight_decay=0.3, collapse_r2=-np.inf
    )
    data = TrainingData(
        sample.X, sample.y, sample.weight_or_none, counts=plan.counts(), count_rows=plan.fold_of_member(ids)
    )
    trained = engine.train(members, data, options, seed, **machine).ensemble
    final = Ensemble(trained[:N_NETWORKS].members, trained[:N_NETWORKS].parameters.copy())
    errors = plan.errors(final, trained[N_NETWORKS:], sample, lambda ensemble: engine.moments(ensemble, **machine))
    unseen = np.empty((n_rows, n_outputs))
    rows = plan.held_rows()
    unseen[rows] = errors.residual + sample.y[rows]
    return final, unseen


def _slope(logs: Array, squares: Array, weight: Array) -> float:
    """The slope that predicted logarithms of the variance deserve, by likelihood of the squared errors.

    The likelihood is that of a Student's t, which single large errors do not rule. It has one maximum in slope and intercept.

    Shape: ``(n,)`` each.
    """
    from scipy.optimize import minimize

    w = weight / weight.sum()
    level = w @ squares
    if level <= 0:
        return 0.0

    def loss(theta: Array) -> tuple[float, Array]:
        log_variance = theta[0] + theta[1] * logs
        ratio = squares / level * np.exp(-log_variance) / TAIL_DOF
        value = log_variance + (TAIL_DOF + 1) * np.log1p(ratio)
        gradient = w * (1 - (TAIL_DOF + 1) * ratio / (1 + ratio))
        return float(w @ value), np.array([gradient.sum(), gradient @ logs])

    bounds = [(-20.0, 20.0), (0.0, MOST_SLOPE)]
    with one_blas_thread():
        found = minimize(loss, [0.0, 1.0], jac=True, method="L-BFGS-B", bounds=bounds)
    return float(found.x[1])


def _average(values: Array, weight: Array) -> Array:
    return np.average(values, axis=0, weights=weight)
