"""A rebuilt fit answers as before: the same bits on the machine where answers were stored, the same numbers elsewhere."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

import extranets
from tests.estimators.stored_answers import cases
from tests.estimators.stored_answers.write import FOLDER, OF_FILE, machine, read

MACHINE, SETTINGS, ANSWERS = read()
# Other instruction sets and libraries round elsewhere, and a dozen epochs make up to .0025 of it; a longer training would make
# anything of it.
ELSEWHERE = 0.01

with zipfile.ZipFile(FOLDER / "models.zip") as archive:
    FILES = {name.removesuffix(".xnet"): archive.read(name) for name in archive.namelist()}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for what, values in expected.items():
        if machine() == MACHINE:
            np.testing.assert_array_equal(found[what], values, err_msg=what)
        else:
            scale = np.abs(values[np.isfinite(values)]).max(initial=0.0)
            np.testing.assert_allclose(found[what], values, rtol=0, atol=ELSEWHERE * scale, err_msg=what)


def test_every_case_is_stored():
    of_files = {name for name in ANSWERS if name.endswith(OF_FILE)}
    assert ANSWERS.keys() - of_files == cases.MODELS.keys()
    assert {name.removesuffix(OF_FILE) for name in of_files} <= FILES.keys()
    assert {type(model).__name__ for model in cases.MODELS.values()} == set(extranets.estimators.__all__)
    assert len(FILES) > 50


@pytest.mark.parametrize("name", cases.MODELS)
def test_a_fit_answers_as_before(name):
    model = cases.fitted(name)
    assert_same(cases.answers(name, model), ANSWERS[name])
    assert cases.settings(model) == SETTINGS[name]


@pytest.mark.parametrize("name", FILES)
def test_a_file_from_before_answers_as_before(name, tmp_path):
    path = tmp_path / "model.xnet"
    path.write_bytes(FILES[name])
    model = extranets.load(path)
    kept = name + OF_FILE if name + OF_FILE in ANSWERS else name
    assert_same(cases.answers(name, model), ANSWERS[kept])
    assert cases.settings(model) == SETTINGS[kept]
