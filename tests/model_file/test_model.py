"""What a file says about itself, and where classes come from."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from importlib.metadata import version

import numpy as np
import pytest

import extranets
from extranets import ModelFileError
from extranets.model_file import read_info, registry, save
from extranets.networks import Architecture
from tests.model_file import tiny
from tests.model_file.forging import take_apart


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.xnet"
    tiny.fitted("extra_nets").save(path, about={"score": 0.5, "file": "table.csv", "levels": [0.8, 0.9], "note": None})
    return path


def test_info_tells_what_the_file_holds(path):
    info = read_info(path)
    assert info["format_version"] == 1 and info["class"] == "ExtraNetsRegressor"
    parameters = tiny.ESTIMATORS["extra_nets"].get_params()
    assert parameters.pop("device") == "cpu" and info["parameters"] == parameters
    assert info["feature_names"] == ["width", "height"] and info["schema"] is None
    assert info["fit_info"].keys() == {"n_rows", "n_features", "seconds", "finished"}
    assert info["fit_info"]["n_rows"] == 24 and info["fit_info"]["n_features"] == 2
    parameters = info["arrays"]["model.source.ensemble.parameters"]
    assert parameters["dtype"] == "float32" and parameters["bytes"] == 4 * parameters["shape"][0]
    assert info["about"] == {"score": 0.5, "file": "table.csv", "levels": [0.8, 0.9], "note": None}


def test_provenance_names_versions_platform_and_time(path):
    provenance = read_info(path)["provenance"]
    assert provenance["extranets"] == version("extranets") and provenance["numpy"] == np.__version__
    assert provenance["python"] == platform.python_version() and provenance["scikit-learn"] == version("scikit-learn")
    assert provenance["platform"] == f"{platform.system()} {platform.machine()}"
    saved = datetime.fromisoformat(provenance["saved"])
    assert saved.utcoffset() == timedelta(0) and datetime.now(timezone.utc) - saved < timedelta(hours=1)


def test_info_reads_no_arrays(path, tmp_path):
    data = path.read_bytes()
    damaged = tmp_path / "damaged.xnet"
    damaged.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert read_info(damaged) == read_info(path)
    with pytest.raises(ModelFileError, match=r"damaged\.xnet cannot be read as a model: it is damaged: its SHA-256"):
        extranets.load(damaged)
    damaged.write_bytes(data[:-1])
    with pytest.raises(ModelFileError, match="truncated"):
        read_info(damaged)


@pytest.mark.parametrize(
    "about", [{"score": np.nan}, {"score": np.float64(1)}, {1: "one"}, {"pair": (1, 2)}, [1], "text", {"set": {1}}]
)
def test_about_must_survive_json(about, tmp_path):
    if about == {"score": np.float64(1)}:  # a subclass of float, which JSON can write
        save(Architecture(1, (), 1, 1), tmp_path / "model.xnet", about=about)
        return
    with pytest.raises(ValueError, match="about"):
        tiny.fitted("pbp").save(tmp_path / "model.xnet", about=about)
    assert not list(tmp_path.iterdir())


def test_any_storable_object_can_be_saved_and_others_are_refused(tmp_path):
    save(Architecture(2, (3,), 1, 1), tmp_path / "model.xnet")
    assert extranets.load(tmp_path / "model.xnet") == Architecture(2, (3,), 1, 1)
    with pytest.raises(TypeError, match="cannot be saved"):
        save({"a": 1}, tmp_path / "other.xnet")


def test_paths_may_be_strings(path):
    assert extranets.load(str(path)).n_features_in_ == 2
    assert read_info(str(path))["class"] == "ExtraNetsRegressor"
    with pytest.raises(FileNotFoundError):
        extranets.load("no such file.xnet")


LATE = """
import sys, extranets
from extranets.model_file import registry
assert not any(module in sys.modules for module in registry.LATE.values())
for name in registry.LATE:
    try:
        registry.rebuild(name, {})
    except extranets.ModelFileError as error:
        assert "unknown class" not in str(error), error
"""


def test_classes_of_modules_that_are_not_loaded_yet_are_found():
    subprocess.run([sys.executable, "-c", LATE], check=True)


def test_the_model_is_one_json_text_in_a_file_of_another_library(path):
    parts = take_apart(path.read_bytes())
    assert parts.metadata.keys() == {"format", "sha256", "version"}
    assert parts.model["class"] == "ExtraNetsRegressor" and json.dumps(parts.model)
    assert "RandomState" in registry._by_name
