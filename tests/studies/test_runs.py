"""Runs that are killed, interrupted, shared, damaged and changed."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import joblib
import numpy as np
import psutil
import pytest

from extranets.studies import runs
from extranets.studies.runs import FolderError, RunInterrupted, UnitFailed, UnitResult
from tests.engine import clusters
from tests.studies import toy_study
from tests.studies.toy_study import Toy

TOY = Toy()
QUICK = Toy(n_units=4, seconds=0.0)

posix = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")


def quiet(study, folder, jobs=1):
    return runs.run(study, folder, jobs=jobs, progress=False)


def units_in(folder):
    return sorted(Path(folder, "units").glob("*.json"))


def record_texts(folder):
    """The records of every unit as text from its file: equal texts mean equal bits."""
    return {path.name: json.dumps(json.loads(path.read_text())["records"]) for path in units_in(folder)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    quiet(TOY, folder)
    return record_texts(folder)


@pytest.fixture(scope="module")
def start():
    """Starts ``toy_study.work`` in a new process, forked from a server that has loaded the package and nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["extranets.studies.runs"])
    children = []

    def start(*args):
        children.append(context.Process(target=toy_study.work, args=args))
        children[-1].start()
        return children[-1]

    yield start
    for child in children:
        child.kill()


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out while waiting"
        time.sleep(0.005)


# -- kill -9 -----------------------------------------------------------------------------------------------------------


@posix
def test_a_run_killed_at_random_moments_ends_with_the_same_bits(start, tmp_path, undisturbed):
    moments = random.Random(1)
    kills = 0
    while (child := start(TOY, str(tmp_path))).is_alive():
        before = len(units_in(tmp_path))
        if kills > 1:  # the first two kills may come at any time, even before there is a folder
            wait_for(lambda child=child, n=before: not child.is_alive() or len(units_in(tmp_path)) > n)
        child.join(moments.uniform(0.0, 0.1))
        if child.exitcode == 0:
            break
        child.kill()
        child.join()
        kills += 1
        record_texts(tmp_path)  # every file that is there can be read
    assert kills >= 4
    assert record_texts(tmp_path) == undisturbed
    assert (tmp_path / "DONE").exists()


@posix
@pytest.mark.parametrize("deadly", ["fsync", "replace"])
@pytest.mark.parametrize("calls", [1, 4, 31, 32])  # run.json; the third unit; the last unit; DONE
def test_a_run_killed_while_it_writes_loses_that_file_only(start, tmp_path, undisturbed, deadly, calls):
    toy = replace(TOY, seconds=0.0)
    child = start(toy, str(tmp_path), deadly, calls)
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert len(record_texts(tmp_path)) == max(0, min(calls - 2, 30))
    assert (tmp_path / "run.json").exists() == (calls > 1) and not (tmp_path / "DONE").exists()
    quiet(toy, tmp_path)
    assert record_texts(tmp_path) == undisturbed
    assert (tmp_path / "DONE").exists()


def living(group):
    """Processes of a process group that still run. Zombies do not: here nobody may collect them."""
    found = []
    for process in psutil.process_iter(["status"]):
        try:
            if os.getpgid(process.pid) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except ProcessLookupError:
            pass
    return found


def workers(parent):
    return [child for child in psutil.Process(parent).children() if "popen_loky" in " ".join(child.cmdline())]


@pytest.fixture
def script(tmp_path):
    """The toy study on two workers, in a process group of its own, as a shell starts it."""
    command = [sys.executable, toy_study.__file__, str(tmp_path / "run"), "2"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    yield child
    if living(child.pid):
        os.killpg(child.pid, signal.SIGKILL)


@posix
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent_and_the_run_can_go_on(script, tmp_path, undisturbed, sign):
    """Ctrl-C reaches the whole process group, as from a terminal; SIGKILL only the parent."""
    folder = tmp_path / "run"
    wait_for(lambda: len(units_in(folder)) >= 2 or script.poll() is not None)
    (os.killpg if sign == signal.SIGINT else os.kill)(script.pid, sign)
    wait_for(lambda: not living(script.pid), seconds=10)
    out, err = script.communicate()
    n_done = len(record_texts(folder))
    assert 2 <= n_done < 30
    if sign == signal.SIGINT:
        assert script.returncode == 3
        assert out == f"Interrupted: {n_done} of 30 units are done and kept. Run the same again to go on.\n"
        assert "Traceback" not in err
    quiet(TOY, folder)
    assert record_texts(folder) == undisturbed


@posix
@pytest.mark.slow
def test_ctrl_c_is_clean_while_workers_start(script):
    wait_for(lambda: len(workers(script.pid)) == 2)
    time.sleep(0.2)  # they are importing now
    os.killpg(script.pid, signal.SIGINT)
    out, err = script.communicate(timeout=30)
    assert script.returncode == 3
    assert out.startswith("Interrupted: ") and "Traceback" not in err


# -- interruptions and failures ----------------------------------------------------------------------------------------


def test_ctrl_c_in_this_process_keeps_what_is_done(tmp_path):
    def stop_at_two(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(RunInterrupted, match="2 of 4 units are done") as stopped:
        runs.run(QUICK, tmp_path, jobs=1, progress=stop_at_two)
    assert (stopped.value.done, stopped.value.total) == (2, 4)
    assert not runs.load(tmp_path).done and not (tmp_path / "DONE").exists()
    assert len(quiet(QUICK, tmp_path)) == 12


def test_a_failed_unit_is_named_and_the_others_kept(tmp_path):
    trap = tmp_path / "trap"
    trap.write_text("raise")
    toy = replace(QUICK, n_units=2, trap=str(trap))
    with pytest.raises(UnitFailed, match=r"Unit 'toy-001' failed: ArithmeticError: caught in the trap") as failed:
        quiet(toy, tmp_path / "run")
    assert isinstance(failed.value.__cause__, ArithmeticError)
    assert not runs.load(tmp_path / "run").done
    trap.unlink()
    quiet(toy, tmp_path / "run")
    assert runs.load(tmp_path / "run").done


TRAPS = {
    "raise": r"Unit 'toy-001' failed: ArithmeticError: caught in the trap(.|\n)*_spring_trap",  # the worker's traceback
    "die": r"worker process died.* in one of these units: .*toy-001",
}


@pytest.mark.parametrize(("kind", "jobs_afterwards"), [("raise", 2), pytest.param("die", 1, marks=pytest.mark.slow)])
def test_a_worker_that_fails_or_dies_stops_the_run(tmp_path, undisturbed, kind, jobs_afterwards):
    trap, folder = tmp_path / "trap", tmp_path / "run"
    toy = replace(TOY, trap=str(trap))
    trap.write_text(kind)
    with pytest.raises(UnitFailed, match=TRAPS[kind]):
        quiet(toy, folder, jobs=2)
    assert "toy-001" not in runs.load(folder).results
    trap.unlink()
    quiet(toy, folder, jobs_afterwards)
    assert record_texts(folder) == undisturbed


# -- several processes in one folder -----------------------------------------------------------------------------------


def test_two_processes_share_a_folder(start, tmp_path, undisturbed):
    log = tmp_path / "log"
    toy = replace(TOY, log=str(log))
    children = [start(toy, str(tmp_path / "run")) for _ in range(2)]
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert record_texts(tmp_path / "run") == undisturbed
    assert not list((tmp_path / "run").rglob("*.tmp"))
    # A unit is done twice only if both have it in flight: in random orders about log(30) = 3.4 of 30, in the same order all.
    assert Counter(log.read_text().split()).total() <= 45


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[1, 2]",
        lambda text: text.replace("toy-002", "toy-003"),
        lambda text: text.replace('"records": [', '"records": [7, '),
    ],
    ids=["truncated", "empty", "other JSON", "other unit", "no record"],
)
def test_a_damaged_unit_is_done_again(tmp_path, damage):
    before = quiet(QUICK, tmp_path)
    path = tmp_path / "units" / "toy-002.json"
    path.write_text(damage(path.read_text()))
    found = runs.load(tmp_path)
    assert list(found.results) == ["toy-000", "toy-001", "toy-003"] and not found.done
    done = []
    assert runs.run(QUICK, tmp_path, jobs=1, progress=lambda *counts: done.append(counts)) == before
    assert done == [(4, 4)]


def test_temporary_files_are_ignored_and_removed_when_old(tmp_path):
    quiet(QUICK, tmp_path)
    fresh, old = tmp_path / "units" / ".toy-000.json.a.tmp", tmp_path / "units" / ".toy-000.json.b.tmp"
    for path in (fresh, old):
        path.write_text('{"unit": "toy-000", "records": [')
    os.utime(old, (time.time() - 7200,) * 2)
    assert runs.load(tmp_path).done
    quiet(QUICK, tmp_path)
    assert fresh.exists() and not old.exists()


# -- another configuration ---------------------------------------------------------------------------------------------


def test_another_configuration_is_refused_key_by_key(tmp_path):
    quiet(QUICK, tmp_path)
    with pytest.raises(FolderError) as refused:
        quiet(replace(QUICK, n_units=5, scales=(1.0,)), tmp_path)
    lines = str(refused.value).splitlines()
    assert lines[1:3] == ["  n_units: 4 -> 5", "  scales: [1.0, 0.1] -> [1.0]"]
    assert len(lines) == 4 and "another folder" in lines[3]
    assert len(units_in(tmp_path)) == 4


@dataclass(frozen=True)
class Odd:
    """A study with values that JSON has trouble with. Its name and units can be chosen."""

    name: ClassVar[str] = "odd"
    weight: float = math.nan
    record: tuple = ()

    def units(self):
        return ["only"]

    def run(self, unit):
        return UnitResult([dict(self.record)], {"total": 0.5})


def test_another_study_is_refused(tmp_path):
    quiet(QUICK, tmp_path)
    with pytest.raises(FolderError, match='study: "toy" -> "odd"'):
        quiet(Odd(), tmp_path)


def test_nan_in_a_configuration_equals_itself(tmp_path):
    assert quiet(Odd(), tmp_path) == quiet(Odd(), tmp_path) == [{}]


def test_units_without_a_description_are_not_trusted(tmp_path):
    quiet(QUICK, tmp_path)
    (tmp_path / "run.json").unlink()
    with pytest.raises(FolderError, match=r"no run\.json"):
        quiet(QUICK, tmp_path)


def test_other_units_of_the_same_configuration_are_refused(tmp_path, monkeypatch):
    quiet(QUICK, tmp_path)
    monkeypatch.setattr(Toy, "units", lambda self: ["toy-007"])
    with pytest.raises(FolderError, match="units: 4 names -> 1 other names"):
        quiet(QUICK, tmp_path)


def test_another_version_gives_a_warning(tmp_path):
    quiet(QUICK, tmp_path)
    about = json.loads((tmp_path / "run.json").read_text())
    about["versions"]["extranets"] = "0.0.1"
    (tmp_path / "run.json").write_text(json.dumps(about))
    with pytest.warns(UserWarning, match=r"begun with extranets 0\.0\.1"):
        quiet(QUICK, tmp_path)


# -- what is stored ----------------------------------------------------------------------------------------------------

STRANGE = {
    "nan": math.nan,
    "infinity": math.inf,
    "minus": -math.inf,
    "minus_zero": -0.0,
    "none": None,
    "third": 1 / 3,
    "tiny": 5e-324,
    "numpy": np.float64(0.1) + np.float64(0.2),
    "large": 2**80,
    "text": 'ä "quoted"\n',
}


def test_values_are_read_back_bit_by_bit(tmp_path):
    @dataclass(frozen=True)
    class Strange(Odd):
        def run(self, unit):
            return UnitResult([STRANGE], {"total": 0.1 + 0.2})

    returned = quiet(Strange(), tmp_path)
    found = runs.load(tmp_path)
    assert list(map(repr, returned)) == list(map(repr, found.records))
    for key, value in STRANGE.items():
        plain = float(value) if isinstance(value, float) else value
        assert repr(found.records[0][key]) == repr(plain) and type(found.records[0][key]) is type(plain)
    assert found.timings == {"only": {"total": 0.1 + 0.2}}


@pytest.mark.parametrize("record", [{"n": np.int64(3)}, {"x": np.float32(3)}, {"x": [1.0]}, {3: 1.0}])
def test_values_that_would_come_back_changed_are_refused(tmp_path, record):
    @dataclass(frozen=True)
    class Wrong(Odd):
        def run(self, unit):
            return UnitResult([record], {})

    with pytest.raises(UnitFailed, match=r"'only' failed: TypeError.*cannot be stored"):
        quiet(Wrong(), tmp_path)


def test_load_tells_what_was_run(tmp_path):
    records = quiet(QUICK, tmp_path)
    found = runs.load(tmp_path)
    assert (found.name, found.units, found.done) == ("toy", QUICK.units(), True)
    assert found.records == records and [r["unit"] for r in records] == sorted(r["unit"] for r in records)
    assert set(found.timings) == set(found.units) and found.timings["toy-000"]["total"] >= 0
    assert set(found.origin["versions"]) == {"extranets", "numpy", "scipy", "scikit-learn", "python"}
    assert {"variant", "platform"} <= set(found.origin["machine"]) and found.origin["started"].endswith("+00:00")
    assert found.study({"toy": Toy}) == QUICK


def test_units_see_one_thread(tmp_path):
    assert {record["threads"] for record in quiet(QUICK, tmp_path) if "threads" in record} == {1}


def test_a_study_that_cannot_be_made_again_is_refused(tmp_path):
    quiet(QUICK, tmp_path)
    found = runs.load(tmp_path)
    with pytest.raises(FolderError, match="'toy'; the known studies are odd"):
        found.study({"odd": Odd})
    with pytest.raises(FolderError, match="does not fit this version"):
        found.study({"toy": Odd})


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "does not exist"), ("", r"has no run\.json"), ("{", "cannot be read"), ("[]", "cannot be read")],
)
def test_a_folder_that_is_not_a_run_is_refused(tmp_path, content, message):
    folder = tmp_path / "folder"
    if content is not None:
        folder.mkdir()
    if content:
        (folder / "run.json").write_text(content)
    with pytest.raises(FolderError, match=message):
        runs.load(folder)


@pytest.mark.parametrize("units", [["a/b"], [".."], [""], ["a", "a"], ["a", "A"], ["x" * 300]])
def test_unit_names_that_cannot_be_file_names_are_refused(tmp_path, monkeypatch, units):
    monkeypatch.setattr(Toy, "units", lambda self: units)
    with pytest.raises(ValueError, match="name"):
        quiet(QUICK, tmp_path)


# -- progress ----------------------------------------------------------------------------------------------------------


def test_progress_counts_earlier_units_and_is_silent_when_all_are_done(tmp_path, capsys):
    quiet(QUICK, tmp_path)
    units_in(tmp_path)[0].unlink()
    runs.run(QUICK, tmp_path, jobs=1)
    shown = capsys.readouterr()
    assert "toy" in shown.err and "4/4" in shown.err and not shown.out
    runs.run(QUICK, tmp_path, jobs=1)
    assert capsys.readouterr() == ("", "")


def test_zero_jobs_are_refused(tmp_path):
    with pytest.raises(ValueError, match="n_jobs"):
        quiet(QUICK, tmp_path, jobs=0)


# -- workers of a backend ------------------------------------------------------------------------------------------------


def test_the_workers_of_a_backend_give_the_same_bits_and_their_failures_are_told(tmp_path, undisturbed):
    """Processes of joblib, and a real Dask cluster. The folder is written here alone."""
    pytest.importorskip("distributed")
    trap = tmp_path / "trap"
    trapped = replace(TOY, trap=str(trap))
    with joblib.parallel_config(backend="loky", n_jobs=2):
        quiet(TOY, tmp_path / "loky")
    with clusters.dask_cluster(2), joblib.parallel_config(backend="dask"):
        quiet(TOY, tmp_path / "dask")
        trap.write_text("raise")
        with pytest.raises(runs.UnitFailed, match=r"(?s)'toy-001' failed: ArithmeticError.*On the worker"):
            quiet(trapped, tmp_path / "trapped")
        trap.write_text("die")
        with pytest.raises(runs.UnitFailed, match="Workers were lost"):
            quiet(trapped, tmp_path / "lost")
        trap.unlink()
        quiet(trapped, tmp_path / "lost")
    for folder in ("loky", "dask", "lost"):
        assert record_texts(tmp_path / folder) == undisturbed
