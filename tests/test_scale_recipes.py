"""docs/scale.md: predictions by Dask, Ray Data and Spark, run as they stand there, on real clusters of this machine."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

import extranets
from extranets import ExtraNetsRegressor
from extranets.data import simulated_rents
from extranets.tables import TableRegressor
from tests.engine import clusters

PAGE = Path(__file__).parent.parent / "docs" / "scale.md"


def run_recipe(name):
    """What all three have in common, and then the block that ends with the name of its folder."""
    text = PAGE.read_text().partition("## Predictions on a cluster")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (recipe,) = (block for block in blocks[1:] if f"predicted-by-{name}" in block)
    exec(compile(blocks[0] + recipe, str(PAGE), "exec"), {"__name__": "__main__"})


@pytest.fixture
def sales(tmp_path, monkeypatch):
    """A folder of three files and a model, where the recipes look for them; gives the table of them all."""
    monkeypatch.chdir(tmp_path)
    table = simulated_rents(900, random_state=0)
    model = TableRegressor(ExtraNetsRegressor(3, (8,), max_iter=5, random_state=0), kinds={"flat": "ignore"})
    model.fit(table[:300].drop(columns="rent"), table["rent"][:300]).save("model.xnet")
    Path("sales").mkdir()
    for number in range(3):
        table[number * 300 : (number + 1) * 300].to_parquet(f"sales/{number}.parquet", index=False)
    return table


def assert_predicted(folder, sales):
    """Each row, once, as this process predicts it; cut into other blocks, sums differ in their last bits."""
    found = pandas.read_parquet(folder).sort_values("flat")
    model = extranets.load("model.xnet")
    assert list(found) == ["flat", "prediction", "sd", "lower_90", "upper_90"]
    assert found["flat"].tolist() == sorted(sales["flat"])
    ordered = sales.sort_values("flat")
    np.testing.assert_allclose(found["prediction"], model.predict(ordered), rtol=1e-6)
    np.testing.assert_allclose(found[["lower_90", "upper_90"]], model.predict_interval(ordered), rtol=1e-6)


def test_dask(sales):
    pytest.importorskip("distributed")
    with clusters.dask_cluster(2):
        run_recipe("dask")
    assert_predicted("predicted-by-dask", sales)


def test_ray(sales):
    pytest.importorskip("ray.data")
    with clusters.ray_cluster(2):
        run_recipe("ray")
    assert_predicted("predicted-by-ray", sales)


def test_spark(sales, monkeypatch):
    pytest.importorskip("pyspark", reason='pip install ".[spark]"')
    if shutil.which("java") is None:
        pytest.skip("Spark needs a Java runtime, such as the Debian package default-jre-headless")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(clusters.ROOT), *sys.path]))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master local[2] --conf spark.ui.enabled=false pyspark-shell")
    run_recipe("spark")
    assert_predicted("predicted-by-spark", sales)
