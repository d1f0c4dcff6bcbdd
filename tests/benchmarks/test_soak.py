"""The long runs, shortly: they pass, and they find what is lost, what changes and what waits."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import mutated_files
from benchmarks.soak import growth, operations, work
from benchmarks.soak.operations import Lost, Soak

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes")


@pytest.fixture(scope="module")
def soak(tmp_path_factory):
    return Soak(tmp_path_factory.mktemp("soak") / "soak", seed=1)


def test_kills_at_random_moments_lose_nothing(soak):
    """Twelve saves and two of each other operation, about half of them ended on the way."""
    for name in operations.WEIGHTS:
        for _ in range(12 if name == "save" else 2):
            getattr(soak, name)()
    assert sum(n for what, n in soak.counts.items() if "ended by" in what) >= 3
    assert soak.counts["save: whole"] >= 1 and soak.counts["study: whole"] >= 2


def test_what_is_lost_or_changed_is_found(soak, tmp_path):
    path = soak.folder / "other.xnet"
    model = work.fitted("pbp", 1)
    model.save(path)
    soak.known = {path: ("pbp", 1, 2, work.answer(model))}
    soak.load()
    soak.settle(path, [], ("pbp", 2, 2))
    with pytest.raises(Lost, match="neither the old model nor"):
        soak.settle(path, [b"other bits", "saved"], ("pbp", 2, 2))
    work.fitted("pbp", 3).save(path)
    with pytest.raises(Lost, match="predicts other bits"):
        soak.load()
    path.unlink()
    with pytest.raises(Lost, match="is gone"):
        soak.settle(path, [], ("pbp", 2, 2))
    soak.known = {}


def test_fits_and_loads_are_counted_with_their_memory():
    told = []
    found = growth.fits_and_loads(10, told.append)
    assert [mark["fits"] for mark in found["marks"]] == list(range(1, 11)) and told == found["marks"]
    assert all(mark["MB"] > 10 and mark["threads"] >= 1 for mark in told)


def test_sixty_four_threads_end():
    found = growth.many_threads(64, seconds=0.0)
    assert found["fits"] == 64 and found["fewest of a thread"] == 1


def test_a_run_of_damaged_files_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(mutated_files, "BLOCK", 20)
    out = tmp_path / "out.jsonl"
    assert mutated_files.main(["--files", "20", "--out", str(out)]) == 0
    first = out.read_text()
    out.write_text(first + '{"seed": 0, "beg')  # killed while it wrote
    assert mutated_files.main(["--files", "40", "--out", str(out)]) == 0
    assert out.read_text().startswith(first) and "40 files" in capsys.readouterr().out
    assert [record["begin"] for record in mutated_files.recorded(out)] == [0, 20]


def test_damaged_files_that_fail_are_kept_and_told(tmp_path, monkeypatch, capsys):
    def fail(path, data):
        raise ArithmeticError("found")

    monkeypatch.setattr(mutated_files, "outcome", fail)
    record = mutated_files.do_block(0, range(3), tmp_path)
    assert sum(n for key, n in record["counts"].items() if key.endswith("|exception")) == len(record["failures"]) > 0
    assert len(list(tmp_path.glob("*exception.xnet"))) == len(record["failures"])
    assert mutated_files.report([json.loads(json.dumps(record))]) == len(record["failures"])
    assert "ArithmeticError: found" in capsys.readouterr().out
