"""The benchmarks run. Their figures are not judged here: speed is measured on a quiet machine, never in a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_quick_run_writes_all_figures(tmp_path):
    path = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    figures = json.loads(path.read_text())
    assert {"machine", "fit", "peak", "scaling", "encoding", "predict", "import", "dropout", "pbp", "bootstrap"} <= set(
        figures
    )
    assert "Share of the measured FMA peak" in done.stdout
