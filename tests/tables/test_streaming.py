"""A stream that is larger than memory would hold."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas
import pytest

from extranets import ExtraNetsRegressor
from extranets.tables import TableRegressor

CHILD = """
import sys
from extranets import model_file
from extranets.tables import Notes, open_table

model, notes, n_rows = model_file.load(sys.argv[1]), Notes(), 0
with open_table("-") as reader:
    for block in reader.blocks(model.block_rows):
        model.regressor_.predict_interval(model.encode(block, notes))
        n_rows += len(block)
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(n_rows, int(peak) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of memory from /proc")
def test_memory_does_not_grow_with_the_stream(tmp_path):
    rng = np.random.default_rng(0)
    n = 20_000
    frame = pandas.DataFrame({f"x{i}": rng.normal(size=n) for i in range(6)})
    for i in range(4):
        frame[f"c{i}"] = rng.choice([f"value {j}" for j in range(40)], n)
    frame["when"] = (np.datetime64("2020-01-01") + rng.integers(0, 1000, n)).astype(str)
    nets = ExtraNetsRegressor(n_estimators=5, max_iter=2, random_state=0)
    TableRegressor(nets).fit(frame[:2000], rng.normal(size=2000)).save(tmp_path / "model.xnet")
    header, rows = frame.to_csv(index=False).encode().split(b"\n", 1)
    command = [sys.executable, "-c", CHILD, str(tmp_path / "model.xnet")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    repeats = 250_000_000 // len(rows)
    process.stdin.write(header + b"\n")
    for _ in range(repeats):
        process.stdin.write(rows)
    out, _ = process.communicate()
    n_rows, peak = map(int, out.split())
    assert n_rows == repeats * n
    assert peak < 500
