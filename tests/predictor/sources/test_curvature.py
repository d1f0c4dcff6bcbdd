"""The damped inverse of J'J."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.predictor.sources.curvature import WEAK, Curvature


def test_curvature_of_a_known_matrix():
    curvature = Curvature.of(np.diag([4.0, 1.0]))
    assert curvature.damping == 0 and curvature.n_weak == 0 and curvature.n_effective == pytest.approx(2)
    np.testing.assert_allclose(curvature.leverage(np.array([[2.0, 0.0], [0.0, 3.0]])), [1.0, 9.0])
    singular = Curvature.of(np.diag([4.0, 0.0]))
    assert singular.damping == pytest.approx(4 * WEAK) and singular.n_weak == 1
    assert singular.n_effective == pytest.approx(1, abs=1e-5)
