"""The yardstick of the native engine's training: the reference's path from the same streams."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.engine import TrainingData, reference, train

SEED = 9


def assert_same_path(members, X, y, options, *, weight=None, adversarial=None, counts=None, atol=2e-4):
    """Parameters, losses, attempts and outcomes of every member agree with the reference.

    Tolerance: float32 rounding of 1e-7 grows along a trajectory of some 30 Adam steps; 2e-4 is far below the size of one
    step (1e-2), so that a wrong batch, rate or mask cannot hide.
    """
    samples = np.full(len(members), -1) if counts is None else np.arange(len(members))
    data = TrainingData(X, y, weight, counts=counts, count_rows=samples, adversarial=adversarial)
    trained = train(members, data, options, SEED)
    for i, member in enumerate(members.ids):
        encoding = members.architecture.encoding
        problem = reference.make_problem(data, options, SEED, int(member), sample=samples[i], encoding=encoding)
        expected = reference.train(problem, members.architecture, members.widths[i])
        np.testing.assert_allclose(
            trained.ensemble[i : i + 1].parameters, reference.flatten(expected.layers), atol=atol, rtol=1e-3
        )
        epochs = trained.n_epochs[i]
        np.testing.assert_allclose(trained.loss_curve[i, :epochs], expected.loss_curve, rtol=1e-3, atol=1e-5)
        assert np.isnan(trained.loss_curve[i, epochs:]).all()
        assert trained.train_loss[i] == pytest.approx(expected.train_loss, rel=1e-3, abs=1e-5)
        assert trained.train_r2[i] == pytest.approx(expected.train_r2, rel=1e-3, abs=1e-3)
        assert trained.validation_loss[i] == pytest.approx(expected.validation_loss, rel=1e-3, abs=1e-5)
        assert trained.n_attempts[i] == expected.n_attempts
        assert trained.collapsed[i] == expected.collapsed
