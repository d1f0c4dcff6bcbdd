"""The paper's tables with a run's figures in their cells."""

from __future__ import annotations

from extranets.report.run_tables import beside, explained
from extranets.studies.tables import Figure


def compared(place, what, measure, verdict, note=""):
    return {"place": place, "what": what, "measure": measure, "ours": Figure(11.19, 0.24), "printed": 3.8232} | {
        "verdict": verdict,
        "note": note,
    }


def test_a_cell_has_our_figure_the_printed_one_the_verdict_and_what_differs():
    rows = [
        compared("Table 1", "nonlinear, bootstrap, T = 30", "mspe", "contradicts"),
        compared("Table 1", "nonlinear, bootstrap, T = 30", "non_coverage_05", None, "9 data sets; a verdict needs 40"),
        compared("Table 1", "linear, bootstrap, T = 30", "mspe", "reproduced", "noise from cv rows"),
        compared("Table 3", "yacht, VI", "rmse", "better", "our defaults"),
    ]
    first, third = beside(rows)
    assert first.headings == ["", "MSPE", "outside 95 %"] and third.headings == ["", "VI"]
    (_, error, share), (_, linear, empty) = first.rows
    assert (error.text, error.below, error.verdict) == ("11.19 ± 0.24", "printed 3.823: contradicts", "contradicts")
    assert (share.below, share.verdict) == ("printed 3.823: 9 data sets; a verdict needs 40", "")
    assert linear.below == "printed 3.823: reproduced; noise from cv rows"
    assert (empty.text, empty.below) == ("", "")  # the run has no such figure
    assert [cell.text for cell in third.rows[0]] == ["yacht", "11.19 ± 0.24"]


def test_each_change_says_how_many_printed_errors_it_explains():
    row = {"process": "linear", "printed": 1.7208, "mspe": 2.5, "mspe_se": 0.1, "tested": 6}
    rows = [
        row | {"what": "all is as printed", "method": "extra-nets", "explained": 0},
        row | {"what": "all is as printed", "method": "bootstrap", "explained": 5, "printed": 1.7037},
        row | {"what": "more is dropped", "method": "extra-nets", "explained": 6},
    ]
    table = explained(rows)
    assert table.headings[1:] == ["linear: extra-nets, printed 1.721", "linear: bootstrap, printed 1.704"]
    assert [cell.below for cell in table.rows[0][1:]] == ["0 of 6 explained", "5 of 6 explained"]
    assert [cell.text for cell in table.rows[1]] == ["more is dropped", "2.50 ± 0.10", "no network is left"]
