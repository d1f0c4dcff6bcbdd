"""The comparison of shapes of the predictive distribution, on little."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import skew


@pytest.mark.parametrize("noise", skew.NOISE)
def test_noise_has_mean_zero_and_standard_deviation_one(noise):
    assert skew.NOISE[noise].stats("mv") == pytest.approx((0, 1), abs=1e-12)


def test_every_shape_is_scored_on_the_same_rows():
    found = skew.simulated("exponential", 120, 0)
    assert tuple(found) == skew.SHAPES
    assert (found["student"].own, found["empirical"].own) == (0, 100)
    assert found["auto"] == found["empirical" if found["auto"].own else "student"]
    below, above = found["student"].below, found["student"].above
    assert 0 <= below < above < 100  # exponential noise has no tail below


def test_scores_are_relative_to_students_t():
    student = skew.Scores(1, 8, 4.0, 0.5, 0)
    found = skew.relative({"student": student, "empirical": skew.Scores(5, 5, 3.0, 0.4, 100)})
    assert (found["student"].interval, found["student"].crps) == (0, 0)
    assert (found["empirical"].interval, found["empirical"].crps) == pytest.approx((-25, -20))


def test_the_table_has_a_row_for_every_noise(monkeypatch, capsys):
    scores = [skew.Scores(1, 8, 4.0, 0.5, 0), skew.Scores(4, 5, 3.0, 0.4, 100), skew.Scores(4, 5, 3.0, 0.4, 100)]
    monkeypatch.setattr(
        skew, "simulated", lambda *_: dict(zip(skew.SHAPES, scores, strict=True))
    )  # fits are tested above
    skew.main(["simulated", "--rows", "200", "--noise", "t3", "uniform", "--repeats", "2"])
    rows = [line for line in capsys.readouterr().out.splitlines() if "200" in line]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    wanted = ["200", "1.0 / 8.0", "4.0 / 5.0", "4.0 / 5.0", *2 * ["-25.0 ± 0.0"], *2 * ["-20.0 ± 0.0"], "100 %"]
    assert cells == [["t3", *wanted], ["uniform", *wanted]]


def test_steps_of_a_target_end_with_the_default():
    """Noise that multiplies: bounds keep intervals above zero, and no step but the first has a negative one at the end."""
    found = skew.steps_on_simulated("exp(f + noise)", 150, seed=0)
    assert list(found) == list(skew.STEPS)
    assert found["student"].below > 0 and found["bounds"].below == found["transform"].below == 0
    changes = skew.changes_of([found, found])
    assert changes.shape == (3, 2, 3)
    np.testing.assert_allclose(changes[0, 0, -1], 100 * (found["transform"].interval / found["student"].interval - 1))
