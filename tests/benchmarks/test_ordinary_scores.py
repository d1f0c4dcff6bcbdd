"""Ordinary tables: the scores of one record, and the figures of many."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.contest.forecast import Forecast, normal_forecast
from benchmarks.contest.summary import Results
from benchmarks.ordinary import figures
from benchmarks.ordinary.scores import QUANTILES, scores
from extranets import metrics


def record(dataset, split, method, **values):
    defaults = {"rmse": 1.0, "target_std": 2.0, "crps": None, "interval_score": None, "coverage": None, "n_test": 10}
    return {"dataset": dataset, "split": split, "method": method, "fit_seconds": 1.0, **defaults, **values}


# -- one record --------------------------------------------------------------------------------------------------------


def test_scores_match_values_computed_by_hand():
    y, half = np.array([0.0, 5.0, -4.0, 5.0]), np.array([1.0, 2.0, 3.0, 4.0])
    bounds = np.stack([-half, half], axis=1)[:, :, None]
    found = scores(y, Forecast(np.array([0.0, 3.0, -4.0, 5.0]), bounds))
    assert found["rmse"] == pytest.approx(1.0) and found["crps"] is None
    assert found["target_std"] == pytest.approx(np.std([0, 5, -4, 5]))
    assert found["interval_score"] == pytest.approx((2 + 4 + 6 + 8 + 20 * (3 + 1 + 1)) / 4)
    assert (found["coverage"], found["below"], found["above"]) == (0.25, 0.25, 0.5)
    assert (found["width_rows"], found["width_covered"], found["width_mean"]) == ([2, 1, 1], [1, 0, 0], [3.0, 6.0, 8.0])


def test_crps_is_twice_the_mean_pinball_loss():
    rng = np.random.default_rng(0)
    y, quantiles = rng.normal(size=50), np.sort(rng.normal(size=(10, 50)), axis=0)
    error, level = y - quantiles, np.array(QUANTILES)[:, None]
    pinball = np.maximum(level * error, (level - 1) * error)
    assert scores(y, Forecast(np.zeros(50), sample=quantiles))["crps"] == pytest.approx(2 * pinball.mean())


def test_a_normal_distribution_is_scored_by_its_quantiles():
    y, mean, std = np.array([0.3, 4.0, 2.0]), np.array([0.0, 5.0, 1.0]), np.array([1.0, 2.0, 0.5])
    quantiles = stats.norm.ppf(np.array(QUANTILES)[:, None], mean, std)
    assert scores(y, normal_forecast(mean, std))["crps"] == pytest.approx(metrics.crps_ensemble(y, quantiles))


def test_ten_quantiles_are_near_the_integral():
    """As the benchmark's description says. 200,000 rows: standard error 0.001 relative."""
    y = np.random.default_rng(0).normal(size=200_000)
    found = scores(y, normal_forecast(np.zeros(len(y)), np.ones(len(y))))["crps"]
    assert found / metrics.crps_gaussian(y, 0.0, 1.0) == pytest.approx(1.007, abs=0.003)


def test_what_is_not_predicted_has_no_score():
    found = scores(np.array([0.0, 1.0]), Forecast(np.array([0.0, 1.0])))
    assert [name for name, value in found.items() if value is not None] == ["rmse", "target_std"]


# -- many records ------------------------------------------------------------------------------------------------------

# Housing and Wages are split at random and choose; Star has groups; wage2 judges.
TABLES = ("Housing", "Wages", "Star", "wage2")


def many(errors):
    return [record(dataset, 0, method, rmse=rmse) for method, row in errors.items() for dataset, rmse in zip(TABLES, row, strict=True)]  # fmt: skip


def test_ranks_are_averages_over_the_tables_of_a_role():
    found = many({"a": [1.0, 1.0, 1.0, 2.0], "b": [2.0, 2.0, 0.5, 1.0]})
    ranks = {role: figures.ranks(found, "rmse", role).average for role in ("all", "choose", "judge")}
    assert ranks["all"]["a"].value == pytest.approx(6 / 4) and ranks["choose"]["a"].value == pytest.approx(4 / 3)
    assert ranks["judge"] == {"a": (2.0, None), "b": (1.0, None)}


def test_a_failure_has_the_last_rank_and_no_ratio():
    found = many({"a": [1.0, 1.0, 1.0, 1.0], "b": [2.0, 2.0, 2.0, 2.0]})
    found[0] = {"dataset": "Housing", "split": 0, "method": "a", "error": "ValueError: too small"}
    assert figures.ranks(found, "rmse", "choose").average["a"].value == pytest.approx((2 + 1 + 1) / 3)
    assert figures.ratios(Results(found), "a", "b", "rmse", TABLES) == (0.5, 0.5, 3, 3)
    assert "a" not in figures.ranks(found, "crps", "choose").average  # it has none anywhere


def test_slow_methods_are_ranked_on_small_tables():
    found = [record(name, split, "a") for name in ("Housing", "Wages", "diamonds") for split in range(2)]
    found += [record("Housing", 0, "TabM", rmse=0.5)]
    assert figures.ranks(found, "rmse", "under 3,000 rows").average["TabM"].value == 1
    assert "TabM" not in figures.ranks(found, "rmse", "all").average


def test_ratios_are_geometric_means_over_tables():
    results = Results(many({"a": [2.0, 1.0, 9.0, 1.0], "CatBoost": [1.0, 2.0, 1.0, 4.0]}))
    chosen = figures.random_splits(results)
    assert chosen == ["Housing", "Wages", "wage2"]
    found = figures.ratios(results, "a", "CatBoost", "rmse", chosen)
    assert found == pytest.approx(((2 * 0.5 * 0.25) ** (1 / 3), 2.0, 2, 3))
    assert figures.ratios(results, "a", "ridge", "rmse", chosen) is None


def test_ratios_use_the_splits_that_both_have():
    found = [record("Housing", 0, "a", rmse=2.0), record("Housing", 1, "a", rmse=100.0), record("Housing", 0, "b")]
    assert figures.ratio_on(Results(found), "Housing", "a", "b", "rmse") == 2.0


def test_relative_errors_are_means_over_splits():
    found = [record("Housing", 0, "a", rmse=1.0, target_std=2.0), record("Housing", 1, "a", rmse=1.0, target_std=1.0)]
    assert figures.relative_error(Results(found), "Housing", "a") == 0.75


def test_coverage_weighs_rows_of_splits_and_then_tables_equally():
    def predicting(dataset, split, n_test, covered):
        shares = {"coverage": sum(covered) / n_test, "below": 0.0, "above": 1 - sum(covered) / n_test}
        return record(dataset, split, "a", n_test=n_test, width_rows=[n_test // 3] * 3, width_covered=covered, **shares)

    found = [predicting("Housing", 0, 30, [10, 10, 10]), predicting("Housing", 1, 60, [20, 10, 0])]
    found += [predicting("Wages", 0, 3, [1, 1, 0]), record("Wages", 0, "b")]
    cell = figures.predicted(Results(found), "Housing", "a")
    assert cell["coverage"] == pytest.approx(60 / 90) and cell["thirds"] == pytest.approx([1.0, 20 / 30, 10 / 30])
    means, n_tables = figures.mean_predicted(Results(found), "a")
    assert n_tables == 2 and means["coverage"] == pytest.approx(2 / 3) and means["above"] == pytest.approx(1 / 3)
    assert figures.mean_predicted(Results(found), "b") is None
