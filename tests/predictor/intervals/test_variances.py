"""What the intervals without anything to learn make of a spread and a noise."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.predictor.intervals import (
    BootstrapAveraged,
    BootstrapBiasCorrected,
    BootstrapNormal,
    BootstrapPercentile,
    Delta,
    Paper,
    Total,
)

SPREAD = np.array([[1.0], [4.0]])
NOISE = np.array([[2.0]])


@pytest.mark.parametrize("kind", [Paper, BootstrapAveraged])
def test_as_if_errors_of_members_were_independent(kind):
    epistemic, aleatoric = kind().variances(SPREAD, NOISE, 10)
    np.testing.assert_allclose(epistemic, [[0.1], [0.4]])
    np.testing.assert_array_equal(aleatoric, NOISE)


@pytest.mark.parametrize("kind", [Total, BootstrapNormal, BootstrapBiasCorrected, BootstrapPercentile])
def test_as_if_errors_of_members_were_all_the_same(kind):
    epistemic, aleatoric = kind().variances(SPREAD, NOISE, 10)
    np.testing.assert_array_equal(epistemic, SPREAD)
    np.testing.assert_array_equal(aleatoric, NOISE)


def test_leverage_multiplies_the_noise():
    epistemic, aleatoric = Delta().variances(SPREAD, NOISE, 1)
    np.testing.assert_array_equal(epistemic, NOISE * SPREAD)
    np.testing.assert_array_equal(aleatoric, NOISE)


def test_intervals_of_the_bootstrap_are_around_different_predictions():
    centres = {kind: kind.centre for kind in (BootstrapAveraged, BootstrapNormal, BootstrapBiasCorrected)}
    assert list(centres.values()) == ["mean", "full", "corrected"]
