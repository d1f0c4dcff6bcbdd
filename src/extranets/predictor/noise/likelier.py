"""``noise_model="auto"``: noise that is the same everywhere, or networks where they are likelier on errors they have not seen.

Both are judged as the intervals use them: beside the networks' spread, with factors of their own, and in the Student's t that suits the
errors. Networks of the noise have one number more to choose, the slope of their logarithms, so a gain must be more than chance explains.
"""

from __future__ import annotations

import numpy as np

from extranets._arrays import Array, Float32
from extranets.engine import Machine
from extranets.predictor.calibration import held_out_std
from extranets.predictor.distributions.student import Student
from extranets.predictor.intervals import Calibrated
from extranets.predictor.noise.constant import ConstantNoise
from extranets.predictor.noise.networks import NetworkNoise
from extranets.predictor.part import Evidence, Noise
from extranets.uncertainty.components import HeldOut

MARGIN = 0.5  # standard errors of the mean gain in log-likelihood


def learn_noise(
    asked: str, held: HeldOut, X: Float32, n_members: float, seed: int, machine: Machine
) -> tuple[Noise, HeldOut]:
    """The noise that is asked for, "constant", "networks" or "auto", and the errors with what it gives their rows.

    Shape: X ``(n, k)``, the rows of ``held``.
    """
    constant = ConstantNoise.learn(held, n_members)
    if asked == "constant":
        return constant, held
    networks, unseen = NetworkNoise.learn(held, X, seed, machine)
    if asked == "auto" and not _gains(networks, unseen, constant, held, n_members):
        return constant, held
    return networks, unseen


def name_of(noise: Noise) -> str:
    """As ``noise_model`` says it; what the members predict themselves is "constant"."""
    return "networks" if isinstance(noise, NetworkNoise) else "constant"


def _gains(networks: NetworkNoise, unseen: HeldOut, constant: ConstantNoise, held: HeldOut, n_members: float) -> bool:
    """Whether networks of the noise have the larger log-likelihood, by more than chance."""
    gain = _log_densities(networks, unseen, n_members) - _log_densities(constant, held, n_members)
    share = held.weight / held.weight.sum()
    mean = float(share @ gain)
    return mean > MARGIN * float(np.sqrt(share**2 @ (gain - mean) ** 2))


def _log_densities(noise: Noise, held: HeldOut, n_members: float) -> Array:
    """Of the held-out errors; the sum over outputs. Shape: ``(n,)``."""
    evidence = Evidence(held, n_members)
    interval = Calibrated.learn(evidence, held.noise * noise.factor)
    std = np.maximum(held_out_std(interval, noise, evidence), np.finfo(np.float64).tiny)
    errors = -held.residual / std
    shape, widening = Student.learn(errors, held.weight)
    logs: Array = shape.frozen(np.zeros_like(errors), np.broadcast_to(np.sqrt(widening), errors.shape)).logpdf(errors)
    return (logs - np.log(std)).sum(axis=1)
