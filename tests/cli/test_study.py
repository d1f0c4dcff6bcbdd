"""``extranets study`` as a user calls it: in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest

from tests.engine import clusters

from .conftest import COMMAND
from .conftest import run_extranets as extranets


@pytest.fixture(scope="module")
def simulation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "simulation"
    done = extranets("study", "simulation", "--out", folder, "--replications", 2, "--jobs", 1, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_a_tiny_simulation_prints_its_table(simulation):
    folder, text = simulation
    lines = text.strip().splitlines()
    assert lines[0].startswith("process,method,p,T,replications,mape,mape_se,mspe,mspe_se,non_coverage_01")
    assert len(lines) == 1 + 3 * 3 + 3 * 11  # T in 30, 50, 70; three methods, and eleven for the linear process
    assert (folder / "DONE").exists() and len(list((folder / "units").iterdir())) == 4


def test_the_same_command_again_does_nothing_and_prints_the_same(simulation):
    folder, text = simulation
    begin = (folder / "run.json").read_bytes()
    again = extranets("study", "simulation", "--out", folder, "--replications", 2, "--jobs", 1, "--format", "csv")
    assert again.stdout == text and (folder / "run.json").read_bytes() == begin


def test_a_dask_cluster_does_the_same_study(simulation, tmp_path):
    pytest.importorskip("distributed")
    command = ("study", "simulation", "--out", tmp_path / "run", "--replications", 2, "--format", "csv")
    with clusters.dask_cluster(2) as client:
        done = extranets(*command, "--backend", "dask", "--scheduler", client.scheduler.address)
    assert done.returncode == 0, done.stderr
    assert done.stdout == simulation[1]


def test_a_cluster_needs_an_address_and_an_address_a_cluster(here, tmp_path):
    for options, message in (
        (("--backend", "dask"), "give --scheduler ADDRESS"),
        (("--scheduler", "tcp://10.0.0.1:8786"), "add --backend dask"),
    ):
        done = here("study", "simulation", "--out", tmp_path / "run", *options)
        assert done.returncode == 2 and message in " ".join(done.stderr.replace("│", " ").split())
        assert not (tmp_path / "run").exists()


def test_another_configuration_is_refused_with_the_difference(simulation):
    refused = extranets("study", "simulation", "--out", simulation[0], "--replications", 3, "--noise", "train")
    assert refused.returncode == 1 and refused.stdout == ""
    assert "replications: 2 -> 3" in refused.stderr and 'noise: "test" -> "train"' in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv"])
def test_compare_puts_the_printed_figures_beside_ours(simulation, format):
    done = extranets("study", "compare", simulation[0], "--format", format)
    assert done.returncode == 0, done.stderr
    assert "nonlinear, extra-nets, p = 0.995, T = 30" in done.stdout and "19.89" in done.stdout


def test_parquet_goes_to_a_file(simulation, tmp_path):
    pandas = pytest.importorskip("pandas")
    refused = extranets("study", "compare", simulation[0], "--format", "parquet")
    assert refused.returncode == 2 and "--file" in refused.stderr
    path = tmp_path / "compared.parquet"
    assert extranets("study", "compare", simulation[0], "--format", "parquet", "--file", path).returncode == 0
    table = pandas.read_parquet(path)
    assert len(table) == 210 and set(table["verdict"].dropna()) <= {"reproduced", "better", "contradicts"}


def test_a_folder_that_is_not_a_run_is_refused(tmp_path):
    done = extranets("study", "compare", tmp_path)
    assert done.returncode == 1 and "is not a run" in done.stderr and "Traceback" not in done.stderr


def test_ctrl_c_keeps_what_is_done_and_tells_how_to_go_on(tmp_path):
    folder = tmp_path / "run"
    command = [*COMMAND, "study", "simulation", "--out", str(folder), "--jobs", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    units = folder / "units"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (units.exists() and list(units.glob("*.json"))):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in errors
    assert "of 200 units are done" in errors and "extranets study simulation --out" in errors
    assert not (folder / "DONE").exists()


def test_help_has_examples():
    for name in ("simulation", "correlation", "uci", "hypotheses", "decorrelation", "figures", "compare"):
        done = extranets("study", name, "--help")
        assert done.returncode == 0 and re.search(rf"Examples?:\s+extranets study {name} \S", done.stdout)


def test_missing_data_sets_are_named_and_not_fetched(tmp_path):
    environment = {"EXTRANETS_DATA": str(tmp_path), "EXTRANETS_CACHE": str(tmp_path / "cache")}
    command = [*COMMAND, "study", "uci", "--out", str(tmp_path / "run"), "--dataset", "boston"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 1 and "boston" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "cache").exists()


def test_figures_that_need_no_run_are_drawn(tmp_path):
    done = extranets("study", "figures", "--out", tmp_path, "--format", "svg")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"masks.svg", "processes.svg"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--figure", "no/folder/f.png"], "--figure: there is no folder"),
        (["--figure", "f.docx"], "--figure: the name must end in one of"),
        (["--file", "no/folder/f.csv"], "--file: there is no folder"),
        (["--format", "parquet"], "give --file PATH"),
    ],
)
def test_files_that_cannot_be_written_are_refused_before_the_work(tmp_path, options, message):
    done = extranets("study", "correlation", "--out", tmp_path / "run", *options, cwd=tmp_path)
    assert done.returncode == 2 and message in done.stderr and not (tmp_path / "run").exists()


def test_the_papers_figure_is_drawn(tmp_path):
    small = ("--resamples", 5, "--learners", 6, "--fresh", 2, "--jobs", 1, "--format", "csv")
    done = extranets("study", "correlation", "--out", tmp_path / "run", *small, "--figure", tmp_path / "means.png")
    assert done.returncode == 0 and (tmp_path / "means.png").read_bytes()[:4] == b"\x89PNG", done.stderr


def test_a_study_that_the_paper_has_no_table_of_is_not_compared(tmp_path):
    (tmp_path / "run.json").write_text(
        '{"study": "decorrelation", "configuration": {"replications": 1}, "units": ["linear-00"]}', encoding="utf-8"
    )
    done = extranets("study", "compare", tmp_path)
    assert done.returncode == 1 and "The paper has no table of the study 'decorrelation'" in done.stderr


@pytest.mark.slow
def test_the_studies_of_what_is_left_open_run(tmp_path):
    done = extranets("study", "hypotheses", "--out", tmp_path / "h", "--replications", 1, "--format", "csv")
    assert done.returncode == 0 and "same-seed" in done.stdout, done.stderr
    options = ("--replications", 1, "--data-dir", tmp_path, "--format", "csv", "--figure", tmp_path / "figure.png")
    done = extranets("study", "decorrelation", "--out", tmp_path / "d", *options)
    assert done.returncode == 0 and "masks, p = 0.5" in done.stdout, done.stderr
    assert "Without boston, concrete, energy: no data." in done.stderr
    assert (tmp_path / "figure.png").stat().st_size > 10_000
