"""The comparison with published figures: its arithmetic, and that it runs."""

from __future__ import annotations

import os

import numpy as np
import pytest

from benchmarks import methods, published

needs_data = pytest.mark.skipif("EXTRANETS_DATA" not in os.environ, reason="EXTRANETS_DATA is not set")


def test_every_published_row_has_a_figure_for_every_data_set():
    for table in (published.RMSE, published.LOG_LIKELIHOOD):
        for row in table.values():
            assert tuple(row) == published.SETS and all(np.isfinite(float(figure)) for figure in row.values())


@pytest.mark.parametrize(
    ("mean", "printed", "larger", "expected"),
    [
        (2.90, "3.01", False, "better"),
        (3.20, "3.01", False, "agrees"),  # within 2 * 0.1 and the rounding
        (3.22, "3.01", False, "worse by 2.1 s.e."),
        (-2.50, "-2.57", True, "better"),
        (-2.80, "-2.57", True, "worse by 2.3 s.e."),
    ],
)
def test_verdict_compares_in_standard_errors(mean, printed, larger, expected):
    values = mean + 0.1 * np.sqrt(4) * np.array([-1, -1, 1, 1]) * np.sqrt(3 / 4)  # standard error 0.1
    assert methods.standard_error(values) == pytest.approx(0.1)
    assert methods.verdict(values, printed, larger) == expected


@needs_data
@pytest.mark.parametrize(
    "method", ["VI", "VI, Graves", "PBP", "Deep ensemble", "Mean-variance", "Bootstrap", "Delta method"]
)
def test_one_split_runs(method):
    figures = methods.run_split(method, "yacht", 0, None)
    assert 0 < figures.rmse < 5 and np.isfinite(figures.log_likelihood) and figures.coverage > 0.5


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("method", ["VI", "PBP", "Deep ensemble"])
@pytest.mark.parametrize("dataset", ["boston", "concrete", "energy", "wine", "yacht"])
def test_published_figures_are_reached(method, dataset):
    """RMSE and log-likelihood within two standard errors of what was published, or better."""
    found = np.array([methods.run_split(method, dataset, split, None) for split in range(20)])
    assert not methods.verdict(found[:, 0], published.RMSE[method][dataset], False).startswith("worse")
    assert not methods.verdict(found[:, 1], published.LOG_LIKELIHOOD[method][dataset], True).startswith("worse")


def test_rows_beside_another_algorithm_say_so():
    found = {"VI": {"yacht": [[1.0, -1.0, 0.9, 5.0]]}, "VI, Graves": {"yacht": [[1.0, -1.0, 0.9, 5.0]]}}
    ours, graves = methods.comparison(found, 0, published.RMSE, larger=False)
    assert ours.startswith("| VI, reparameterised (published: Graves's gradients) | 1.000") and "6.89: better" in ours
    assert graves.startswith("| VI, Graves's gradients |")
    assert "VI 0.900 to 0.900" in methods.coverages(found)


def test_new_figures_take_the_place_of_their_own_data_sets_only():
    stored = {"PBP": {"boston": [1], "yacht": [2]}, "VI": {"boston": [3]}}
    found = methods.merged(stored, {"PBP": {"yacht": [9], "energy": [8]}, "Bootstrap": {"wine": [7]}})
    assert found == {
        "VI": {"boston": [3]},
        "PBP": {"boston": [1], "energy": [8], "yacht": [9]},
        "Bootstrap": {"wine": [7]},
    }
    assert list(found) == ["VI", "PBP", "Bootstrap"] and list(found["PBP"]) == ["boston", "energy", "yacht"]


def test_a_method_that_lacks_a_data_set_leaves_its_cell_empty():
    figures = [[1.0, -1.0, 0.9, 5.0]] * 2
    found = {"VI": {"boston": figures, "yacht": figures}, "PBP": {"yacht": figures}}
    (ours, theirs) = methods.comparison(found, 0, published.RMSE, larger=False)
    assert ours.count("|") == theirs.count("|") and theirs.startswith("| PBP |  | 1.000 ± 0.000 (1.02: better) |")
    assert methods.documented(found).count("| | boston | yacht |") == 3
