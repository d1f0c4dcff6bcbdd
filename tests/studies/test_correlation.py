"""The correlation study: resampling, moments, the truth over fresh training sets."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
from scipy import stats

from extranets.studies import correlation
from extranets.studies.correlation import CorrelationStudy, between_learners, moments, resampled

N = 300  # test rows


@pytest.fixture(scope="module")
def records():
    study = CorrelationStudy()
    return {version: study.run(version).records for version in ("separate", "joint")}


def learners_of(found):
    return [record for record in found if record["kind"] == "learner"]


def predictions(n_learners=30, n=N):
    """Learners that all predict the same."""
    return np.tile(np.random.default_rng(0).normal(70, 48, size=n), (n_learners, 1))


# -- resampling --------------------------------------------------------------------------------------------------------


def test_separate_resampling_hides_that_learners_are_identical():
    # Two independent sets of 300 means have a correlation of standard deviation 1 / sqrt(299) = 0.058. Averaged over 435
    # pairs, the mean has standard error 0.0028 and the mean of absolute values, 0.0461, has 0.035 / sqrt(435) = 0.0017.
    drawn = resampled(predictions(), np.arange(30), 100, seed=1)
    row = between_learners(drawn)
    assert row["average_correlation"] == pytest.approx(0, abs=4 * 0.0028)
    assert row["average_absolute_correlation"] == pytest.approx(0.0461, abs=4 * 0.0017)
    # Covariances of 100 draws: standard deviation 48^2 / sqrt(99) = 232 each, over 300 * 435 of them 0.64.
    assert row["average_covariance"] == pytest.approx(0, abs=4 * 0.64)


def test_joint_resampling_shows_that_learners_are_identical():
    row = between_learners(resampled(predictions(), np.zeros(30, dtype=int), 100, seed=1))
    assert row["average_correlation"] == pytest.approx(1)
    assert row["average_absolute_correlation"] == pytest.approx(1)


def test_rows_are_drawn_with_replacement_and_evenly():
    drawn = resampled(np.arange(6.0)[None], [0], 10_000, seed=2)
    assert drawn.shape == (1, 10_000, 6)
    # Each position gets each row 10,000 / 6 times, with standard deviation sqrt(10,000 * 5 / 36) = 37.
    for position in drawn[0].T:
        counts = np.bincount(position.astype(int), minlength=6)
        np.testing.assert_allclose(counts, 10_000 / 6, atol=4.5 * 37)
    assert any(len(set(sample)) < 6 for sample in drawn[0])


def test_averages_over_pairs_match_values_computed_by_hand():
    drawn = np.random.default_rng(3).normal(size=(4, 6, 5)) + np.random.default_rng(4).normal(size=(6, 5))
    pairs = list(itertools.combinations(range(4), 2))
    covariances = [np.cov(drawn[s, :, i], drawn[t, :, i])[0, 1] for s, t in pairs for i in range(5)]
    correlations = [np.corrcoef(drawn[s].mean(axis=0), drawn[t].mean(axis=0))[0, 1] for s, t in pairs]
    row = between_learners(drawn)
    assert row["average_covariance"] == pytest.approx(np.mean(covariances))
    assert row["average_correlation"] == pytest.approx(np.mean(correlations))
    assert row["average_absolute_correlation"] == pytest.approx(np.mean(np.abs(correlations)))


def test_moments_match_values_computed_by_hand():
    row = moments(np.array([0.0, 0.0, 0.0, 4.0]))
    assert (row["bootstrap_mean"], row["sd"], row["q50"]) == (1.0, 2.0, 0.0)
    assert row["kurtosis"] == pytest.approx((3 * 1 + 81) / 4 / 3**2)  # central moments 21 and 3
    assert row["skewness"] == pytest.approx((3 * -1 + 27) / 4 / 3**1.5)
    values = np.random.default_rng(0).exponential(size=50)
    assert moments(values)["shapiro_wilk"] == stats.shapiro(values).pvalue < 0.01


# -- the paper's exercise ----------------------------------------------------------------------------------------------


def test_a_learners_means_vary_as_means_of_resamples_do(records):
    for learner in learners_of(records["separate"]):
        # The predictions' standard deviation is near 47.7, so that of means over 100 draws is near 4.8; this test set's may be
        # off by 7 % and the estimate by 1 / sqrt(600) = 4 %, together 8 %.
        assert learner["sd"] == pytest.approx(4.77, rel=4 * 0.08)
        # 30,000 draws: the mean of means is within four times 47.7 / sqrt(30,000) = 0.28 of the mean prediction.
        assert learner["bootstrap_mean"] == pytest.approx(learner["mean_prediction"], abs=4 * 0.28)
        assert learner["q05"] < learner["q25"] < learner["q50"] < learner["q75"] < learner["q95"]


def test_both_versions_have_the_same_learners(records):
    separate, joint = (learners_of(records[version]) for version in ("separate", "joint"))
    assert [row["mean_prediction"] for row in separate] == [row["mean_prediction"] for row in joint]
    average = records["separate"][-1]
    assert average["n_learners"] + average["n_dropped"] == 30
    assert average["n_learners"] == len(separate) == len({row["learner"] for row in separate})
    assert average["n_rejected"] == sum(row["shapiro_wilk"] < 0.05 for row in separate)
    assert average["sd"] == pytest.approx(np.mean([row["sd"] for row in separate]))


def test_the_exercise_gives_the_papers_results(records):
    # Sampling errors as above, with about 250 pairs.
    separate, joint = (records[version][-1] for version in ("separate", "joint"))
    assert separate["average_correlation"] == pytest.approx(0, abs=4 * 0.0037)
    assert separate["average_absolute_correlation"] == pytest.approx(0.0461, abs=4 * 0.0022)
    assert joint["average_correlation"] == pytest.approx(0.999, abs=0.001)
    assert joint["average_covariance"] > 1000


@pytest.mark.parametrize("unit", ["separate", "fresh-linear-00"])
def test_a_second_call_gives_the_same_bits(unit):
    study = CorrelationStudy(B=20, T=6, fresh=4)
    first, again = study.run(unit).records, pickle.loads(pickle.dumps(study)).run(unit).records
    assert first == again == json.loads(json.dumps(first))
    assert CorrelationStudy(B=20, T=6, fresh=4, seed=1).run(unit).records != first


def test_unknown_units_and_settings_are_refused():
    with pytest.raises(ValueError, match="No unit 'fresh-linear-09'; there are separate, joint"):
        CorrelationStudy(fresh=20).run("fresh-linear-09")
    for field, value in (("B", 1), ("T", 1), ("fresh", 1), ("seed", -1)):
        with pytest.raises(ValueError, match=f"{field} must be at least"):
            CorrelationStudy(**{field: value})


# -- over fresh training sets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fresh", [2, 9, 10, 11, 19, 20, 60, 105])
def test_blocks_hold_every_training_set_once(fresh):
    study = CorrelationStudy(fresh=fresh)
    blocks = study._blocks()
    assert [number for block in blocks for number in block] == list(range(fresh))
    assert all(2 <= len(block) < 20 for block in blocks)
    assert len(study.units()) == 2 + 2 * len(blocks) == len(set(study.units()))


def test_truth_is_the_covariance_over_training_sets():
    record = correlation.truth("linear", 3, range(5, 9), 4, seed=0)
    rows = correlation.SETTINGS["linear"].draw(
        1500, random_state=correlation.seeds(0, correlation.TEST_ROWS, "linear", 3)[0]
    )
    sets = np.stack(list(correlation.fresh_predictions("linear", rows.X[1200:], range(5, 9), 4, seed=0)))
    assert sets.shape == (4, 4, 300) and record["n_learners"] == 4  # none collapsed
    matrices = np.stack([np.cov(sets[:, :, row], rowvar=False) for row in range(300)])
    diagonal = np.eye(4, dtype=bool)
    assert record["variance"] == pytest.approx(matrices[:, diagonal].mean())
    assert record["covariance"] == pytest.approx(matrices[:, ~diagonal].mean())
    assert np.ptp(sets, axis=0).min() > 0  # all sets differ, and so do their networks


def test_the_true_row_weighs_blocks_by_degrees_of_freedom():
    blocks = [
        {"kind": "truth", "process": "linear", "n_sets": 3, "bias2": 1.0, "variance": 4.0, "covariance": 1.0},
        {"kind": "truth", "process": "linear", "n_sets": 5, "bias2": 2.0, "variance": 1.0, "covariance": 1.0},
    ]
    (row,) = CorrelationStudy(T=11).summarise(blocks)
    assert (row["n_sets"], row["bias2"], row["variance"], row["covariance"]) == (8, pytest.approx(5 / 3), 2.0, 1.0)
    assert (row["correlation"], row["variance_ratio"]) == (0.5, 6.0)
    assert row["variance_se"] == pytest.approx(1.5)  # (4 - 1) / 2
    # Covariance less half the variance is -1 and 0.5; over the variance of 2 their standard error is 1.5 / 2 / 2.
    assert row["correlation_se"] == pytest.approx(0.375) and row["variance_ratio_se"] == pytest.approx(3.75)
    (alone,) = CorrelationStudy().summarise(blocks[:1])
    assert alone["variance_se"] is None and alone["correlation_se"] is None


def test_summary_keeps_learners_averages_and_truths(records):
    study = CorrelationStudy(T=6, fresh=2)
    truth = study.run("fresh-linear-00").records
    rows = study.summarise([*truth, *records["joint"], *records["separate"]])
    kinds = [key for key, _ in itertools.groupby(row["kind"] for row in rows)]
    assert kinds == ["learner", "average", "truth"]
    assert len(rows) == len(records["joint"]) + len(records["separate"]) + 1


@pytest.mark.slow
@pytest.mark.parametrize(("process", "variance", "covariance"), [("nonlinear", 3.15, 0.180), ("linear", 1.96, 0.116)])
def test_truth_agrees_with_an_independent_implementation(process, variance, covariance):
    """The known values have a sampling error like ours: within four times sqrt(2) standard errors."""
    study = CorrelationStudy(fresh=100)
    units = [unit for unit in study.units() if unit.startswith(f"fresh-{process}")]
    (row,) = study.summarise([record for unit in units for record in study.run(unit).records])
    assert row["variance"] == pytest.approx(variance, abs=4 * np.sqrt(2) * row["variance_se"])
    assert row["covariance"] == pytest.approx(covariance, abs=4 * np.sqrt(2) * row["covariance_se"])
    assert 1.5 < row["variance_ratio"] < 3.5
