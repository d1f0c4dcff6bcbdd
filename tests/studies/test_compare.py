"""The printed tables as data, and the verdicts on our figures."""

from __future__ import annotations

import pytest

from extranets.studies.compare import compare, verdict
from extranets.studies.printed import half_unit, printed
from extranets.studies.tables import Figure


def test_printed_tables_are_complete():
    simulation = printed("simulation")
    assert len(simulation) == 14 * 5 * 3
    cell = {(r["process"], r["method"], r["p"], r["T"], r["measure"]): r["printed"] for r in simulation}
    assert cell["linear", "MC dropout", "0.8", "50", "mspe"] == "6.7150"
    assert cell["nonlinear", "bootstrap", "", "70", "non_coverage_10"] == "0.08"
    assert len(printed("correlation_learners")) == 28
    uci = {(r["dataset"], r["column"]): (r["printed"], r["standard_error"]) for r in printed("uci")}
    assert len(uci) == 60 and uci["yacht", "extra-nets T=70"] == ("0.72", "0.06") and uci["year", "PBP"] == ("8.88", "")


def test_half_unit_is_half_of_the_last_digit():
    assert half_unit("0.08") == 0.005 and half_unit("71") == 0.5 and half_unit("0.0007") == pytest.approx(0.00005)


@pytest.mark.parametrize(
    ("measure", "number", "difference", "error", "target", "expected"),
    [
        ("mspe", 5.0, 1.9, 1.0, None, "reproduced"),
        ("mspe", 5.0, 2.1, 1.0, None, "contradicts"),
        ("mspe", 5.0, -2.1, 1.0, None, "better"),
        ("non_coverage_05", 0.01, 0.03, 0.001, None, "better"),  # 0.04 is nearer to 0.05
        ("non_coverage_05", 0.04, 0.03, 0.001, None, "contradicts"),
        ("average_correlation", 0.5, -0.4, 0.01, 0.0, "better"),
    ],
)
def test_verdict_compares_in_standard_errors(measure, number, difference, error, target, expected):
    assert verdict(measure, number, difference, error, 0.0, target) == expected


def test_uci_figures_are_compared_in_standard_errors_of_both():
    rows = [{"dataset": "boston", "column": "extra-nets T=70", "rmse": 3.05, "rmse_se": 0.2}]
    (row,) = compare("uci", rows)
    assert row["printed"] == 2.80 and row["ours"] == Figure(3.05, 0.2)
    assert row["difference"] == pytest.approx(0.25 / (0.2**2 + 0.15**2) ** 0.5)
    assert row["verdict"] == "reproduced"


def test_the_papers_figure_has_the_error_of_a_single_data_set():
    row = {"process": "nonlinear", "method": "bootstrap", "p": None, "T": 30, "replications": 99}
    row |= dict.fromkeys(("mape", "mspe", "non_coverage_01", "non_coverage_05", "non_coverage_10"), 10.0)
    row |= {f"{m}_se": 0.1 for m in ("mape", "mspe", "non_coverage_01", "non_coverage_05", "non_coverage_10")}
    compared = {r["measure"]: r for r in compare("simulation", [row])}
    assert len(compared) == 5
    assert compared["mspe"]["difference"] == pytest.approx((10 - 5.4190) / (0.1 * 10))  # sqrt(99 + 1)
