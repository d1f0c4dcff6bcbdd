"""Tables in time order: what is fitted, what is judged, and what is printed."""

from __future__ import annotations

import argparse
from io import StringIO

import numpy as np
import pandas
import pytest
from rich.console import Console

from benchmarks.contest import records
from benchmarks.ordinary import looks
from benchmarks.ordinary.manifest import Table
from benchmarks.times import command
from extranets.tables.updating import blocks_in_order

N = 480


@pytest.fixture
def drifting(monkeypatch):
    """Noise that grows all the time: whoever looks back knows."""
    random = np.random.default_rng(0)
    at = np.arange(N)
    frame = pandas.DataFrame({"day": pandas.date_range("2022-01-01", periods=N), "x": random.normal(size=N)})
    y = frame["x"].to_numpy() + np.where(at < 300, 0.2, 1.0) * random.normal(size=N)
    table = Table("made", "drifting", "y", (), "time", "day", "choose", N)
    monkeypatch.setattr(command, "read", lambda table: (frame, y))
    monkeypatch.setattr(command, "tables", lambda: {"drifting": table})
    return table, frame, y


def test_tables_for_choosing_are_never_judged_beyond_their_training_rows(drifting):
    table, frame, _ = drifting
    rows = np.concatenate(command.use(table, frame, 0, command.Label.read(command.label(table))))
    assert command.label(table) == "drifting inner" and rows.max() < 0.75 * N


def test_every_table_is_split_by_time_and_roles_select_them():
    known = command.tables()
    assert all(table.split == "time" and table.by for table in known.values())
    assert {table.name for table in command.chosen("judge")} == {
        "Chicago",
        "hotel_rates",
        "flights",
        "txhousing",
        "weather",
    }
    assert not {table.name for table in command.chosen("choose")} & {table.name for table in command.chosen("judge")}
    assert [command.label(table) for table in command.chosen("Chicago,economics")] == ["Chicago", "economics inner"]
    with pytest.raises(argparse.ArgumentTypeError, match="there is no table nothing"):
        command.chosen("economics,nothing")


def test_records_are_those_of_predictions_before_each_update(drifting):
    """The rule, block by block: coverage comes nearer to what is promised."""
    table, _, _ = drifting
    plain, updated = command.measure(table, "at random", 20, "low")
    assert (plain["method"], updated["method"]) == ("at random", "at random, updated")
    assert plain["coverage"] < 0.8 and plain["coverage"] < updated["coverage"] < 0.97
    assert plain["n_train"] + plain["n_test"] == round(0.75 * N)
    for record in (plain, updated):
        assert record["coverage"] + record["below"] + record["above"] == pytest.approx(1)


def test_a_run_can_be_continued_and_prints_what_it_found(drifting, tmp_path, monkeypatch, capsys):
    table, _, _ = drifting
    options = argparse.Namespace(tables=[table], block=20, effort="low", out=tmp_path / "time.jsonl", markdown=True)
    command.run(options, Console(file=StringIO()))
    told = capsys.readouterr()
    assert (
        len(records.read(options.out)) == 4 and told.err.count("drifting inner") == 4 and looks.read(options.out) == []
    )
    monkeypatch.setattr(command, "measure", lambda *_: pytest.fail("all is done"))
    page = StringIO()
    command.run(options, Console(file=page, width=200))
    text = page.getvalue() + capsys.readouterr().out
    found = {record["method"]: record for record in records.read(options.out)}
    for method, record in found.items():
        assert f"{record['coverage']:.3f}" in text and method in text
    ratio = found["by time, updated"]["interval_score"] / found["at random"]["interval_score"]
    assert f"{ratio:.2f}" in text


def test_judging_leaves_a_line_before_anything_is_fitted(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "measure", lambda *_: iter(()))
    (table,) = command.chosen("Chicago")
    options = argparse.Namespace(tables=[table], block=20, effort="low", out=tmp_path / "time.jsonl", markdown=True)
    command.run(options, Console(file=StringIO()))
    (look,) = looks.read(options.out)
    assert look["tables"] == ["Chicago"]


def test_blocks_are_whole_times():
    assert [len(rows) for rows in blocks_in_order(60, np.repeat(np.arange(4), 15), 20)] == [30, 30]
