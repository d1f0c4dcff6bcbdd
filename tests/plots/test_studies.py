"""Figures of the studies' summaries."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from extranets.plots import NothingToShow, PaperDisplay, StudyDisplay

SIMULATED = [
    {"process": "linear", "method": method, "p": p, "T": T, "replications": 4}
    | {f"non_coverage_{level}": share for level, share in (("10", 0.1), ("05", 0.06), ("01", 0.02))}
    | {f"non_coverage_{level}_se": 0.01 for level in ("10", "05", "01")}
    for method, p in (("extra-nets", 0.9), ("bootstrap", None))
    for T in (30, 70)
]


def test_simulation_shows_the_coverage_of_the_largest_ensembles():
    shown = StudyDisplay.of("simulation", SIMULATED)
    (chart,) = shown.charts
    assert chart.labels == ["extra-nets, p = 0.9", "bootstrap"] and chart.lines == [0.90, 0.95, 0.99]
    ninety = chart.series[0]
    assert (ninety.value[0], ninety.low[0], ninety.high[0]) == pytest.approx((0.9, 0.88, 0.92))
    assert "90 % to 90 %" in shown.words() and "4 data sets" in shown.words()
    assert shown.plot(Figure().subplots()).ax_.get_legend() is not None


def test_uci_has_a_panel_for_each_data_set_with_the_printed_figures():
    rows = [{"dataset": d, "column": "extra-nets T=70", "rmse": 3.0, "rmse_se": None} for d in ("boston", "yacht")]
    rows.append({"dataset": "boston", "column": "Extra-trees", "rmse": 2.5, "rmse_se": 0.1})
    shown = StudyDisplay.of("uci", rows)
    assert shown.panels == ("boston", "yacht")
    ours, theirs = shown.charts[0].series
    assert ours.value == [3.0, 2.5] and theirs.value[0] == 2.8
    assert "2.5, by Extra-trees" in shown.words("boston")
    shown.plot(Figure().subplots(), panel="yacht")


def test_correlation_shows_what_was_measured_and_what_is_true():
    rows = [
        {"kind": "learner", "version": "separate", "learner": 0},
        {"kind": "average", "version": "separate", "average_correlation": 0.01},
        {"kind": "average", "version": "joint", "average_correlation": 0.99},
        {"kind": "truth", "process": "linear", "correlation": 0.4, "correlation_se": 0.05},
    ]
    shown = StudyDisplay.of("correlation", rows)
    assert shown.charts[0].series[0].value == [0.01, 0.99, 0.4]
    assert "joint resampling: 0.99" in shown.words()
    shown.plot(Figure().subplots())


def test_hypotheses_stand_beside_the_printed_error():
    rows = [
        {
            "hypothesis": name,
            "process": "linear",
            "method": "extra-nets",
            "printed": 3.8232,
            "mspe": mspe,
            "mspe_se": 0.2,
        }
        | {"smallest": mspe / 2, "as_small": share}
        for name, mspe, share in (("as-read", 11.0, 0.0), ("starts-8", 3.0, 0.9))
    ]
    shown = StudyDisplay.of("hypotheses", rows)
    (chart,) = shown.charts
    assert chart.labels == ["as-read", "starts-8"] and chart.lines == [3.8232]
    assert chart.series[0].value == [11.0, 3.0] and chart.series[1].value == [5.5, 1.5]
    assert "under 1 of 2 hypotheses" in shown.words()
    shown.plot(Figure().subplots())


def test_the_papers_figures_show_masks_and_targets():
    shown = PaperDisplay.of()
    assert shown.variance.max() == shown.variance[50] == 0.25
    for name, counts in shown.counts.items():
        assert counts.sum() == 1500
        middle = (shown.edges[name][1:] + shown.edges[name][:-1]) / 2
        # A bar's rows lie at most half a bar from its middle.
        assert abs(np.average(middle, weights=counts) - shown.mean[name]) < np.diff(shown.edges[name])[0] / 2
        assert f"{shown.noise[name]:g}" in shown.words(f"{name} process")
    for panel in shown.panels:
        assert shown.title(panel)
        shown.plot(Figure().subplots(), panel=panel)


def test_a_run_without_finished_units_has_nothing_to_show():
    for study in ("simulation", "uci", "correlation", "unknown"):
        with pytest.raises(NothingToShow):
            StudyDisplay.of(study, [])
