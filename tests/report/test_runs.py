"""Reports of run folders, finished or not."""

from __future__ import annotations

import json
import re

import pytest

from extranets.report import render, summarise_run, write
from extranets.studies import runs
from tests.report import run_folders


@pytest.fixture(scope="module")
def simulation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "simulation"
    return run_folders.make("simulation", folder)


def test_a_simulation_is_shown_with_its_tables_and_the_papers_figures(simulation):
    summary = summarise_run(simulation)
    assert summary.finished and summary.units == 4 and summary.about["replications"] == "2"
    assert sum(summary.verdicts.values()) == len(summary.comparison) > 100
    assert len(summary.contradictions.rows) == summary.verdicts["contradicts"]
    (table,) = summary.tables
    assert table.headings[:4] == ["process", "method", "p", "T"] and len(table.rows) == len(summary.rows) == 42
    assert re.fullmatch(r"[\d.]+ ± [\d.]+", table.rows[0][table.headings.index("mspe")].text)
    page = render(summary)
    assert "All 4 units are done." in page and page.count("<svg") == 2 + 3  # three of what is simulated
    assert "2 data sets; a verdict needs 40" in page and summary.verdicts["without a verdict"] == len(
        summary.comparison
    )
    assert "No printed figure is contradicted." in page
    assert 'id="data"' not in page and page.count("<table>") == page.count("<caption>") == 3


def test_the_json_keeps_all_digits(simulation, tmp_path):
    summary = summarise_run(simulation)
    write(summary, tmp_path / "r.html", tmp_path / "r.json")
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert content["rows"][0]["mspe"] == summary.rows[0]["mspe"]
    assert content["comparison"][0]["ours"].keys() == {"value", "error"}


def test_an_unfinished_run_says_so(simulation, tmp_path):
    for path in simulation.rglob("*.json"):
        if path.name != "linear-0001.json":
            (tmp_path / path.relative_to(simulation)).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path.relative_to(simulation)).write_bytes(path.read_bytes())
    summary = summarise_run(tmp_path)
    assert not summary.finished and summary.rows
    assert "Unfinished: 3 of 4 units are done" in render(summary)


def test_a_run_without_any_unit_makes_a_page(simulation, tmp_path):
    (tmp_path / "run.json").write_bytes((simulation / "run.json").read_bytes())
    summary = summarise_run(tmp_path)
    page = render(summary)
    assert summary.units_done == 0 and "No unit is done yet" in page and "prints no figure" in page


def test_the_correlation_study_has_a_table_for_each_kind(tmp_path):
    summary = summarise_run(run_folders.make("correlation", tmp_path))
    assert [table.caption.split()[0] for table in summary.tables] == ["Single", "Averages", "True"]
    assert all("kind" not in table.headings for table in summary.tables)
    assert summary.figures["picture"].panels == ("separate", "joint")  # the paper's figure, and what it hides
    assert [table.caption[:11] for table in summary.beside] == ["Section 5.3", "Table 2 of ", "Table 2 as "]
    assert "joint resampling: 1.00" in summary.figures["study"].words()
    render(summary)


def test_the_uci_study_shows_seconds_and_printed_figures(tmp_path):
    run_folders.uci(tmp_path)
    summary = summarise_run(tmp_path)
    (table,) = summary.tables
    cells = dict(zip(table.headings, (cell.text for cell in table.rows[0]), strict=True))
    assert cells["rmse"] == "1.50 ± 0.50" and cells["seconds"] == "0.25"
    assert summary.figures["study"].panels == ("yacht",) and "<svg" in render(summary)


def test_a_study_of_what_the_paper_leaves_open_is_shown_without_verdicts(tmp_path):
    run_folders.hypotheses(tmp_path)
    summary = summarise_run(tmp_path)
    (table,) = summary.tables
    assert len(table.rows) == 3 and summary.comparison == []
    ((_, *cells),) = summary.beside[0].rows
    assert [cell.below for cell in cells] == ["too few data sets for a count"] * 3
    assert summary.beside[0].headings[1] == "linear: extra-nets, printed 1.721"
    assert summary.figures["study"].panels == tuple(
        f"{m}, linear process" for m in ("extra-nets", "MC dropout", "bootstrap")
    )
    page = render(summary)
    assert page.count("<svg") == 3 and "Unfinished: 1 of 2 units are done" in page


def test_the_papers_tables_hold_our_figure_the_printed_one_and_the_verdict(tmp_path):
    run_folders.uci(tmp_path)
    summary = summarise_run(tmp_path)
    (paper,) = summary.beside
    assert paper.headings == ["", "extra-nets T=5"] and [cell.text for cell in paper.rows[0]] == [
        "yacht",
        "1.50 ± 0.50",
    ]
    # Printed 0.97 ± 0.06: 0.53 larger, with a standard error of 0.5.
    below = "printed 0.97: reproduced; 2 of 20 splits"
    assert (paper.rows[0][1].below, paper.rows[0][1].verdict) == (below, "reproduced")
    assert f'<small class="reproduced">{below}</small>' in render(summary)


def test_what_masks_do_is_shown_first(tmp_path):
    summary = summarise_run(run_folders.make("decorrelation", tmp_path))
    assert list(summary.figures) == ["picture", "study", "paper"] and summary.beside == []
    page = render(summary)
    assert page.count("<svg") == 1 + 1 + 3 and "the dashed line of the first figures" in page


def test_a_folder_that_is_not_a_run_is_refused(tmp_path):
    with pytest.raises(runs.FolderError, match="is not a run"):
        summarise_run(tmp_path)
