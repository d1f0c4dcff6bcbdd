"""Thousands of damaged files: `ModelFileError` or a model that works, never a crash, and memory in proportion to the file."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import extranets
from tests.model_file.mutations import blind, repaired
from tests.model_file.using import load_measured, most_memory, usable, use
from tests.model_file.write_samples import OLD, TODAY

PATHS = [*sorted(OLD.glob("*.xnet")), *sorted(TODAY.glob("*.xnet"))]
FILES = [path.read_bytes() for path in PATHS]


def fuzz(mutate, n, path, seed):
    """The number of mutated files, of ``n``, that gave a model."""
    rng = np.random.default_rng(seed)
    survivors = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # absurd weights overflow
        for _ in range(n):
            first, second = rng.integers(0, len(FILES), 2)
            data = mutate(FILES[first], FILES[second], rng)
            if data in (FILES[first], FILES[second]):
                continue
            path.write_bytes(data)
            model, peak = load_measured(path)
            assert peak < most_memory(data)
            if usable(model):
                use(model)
            survivors += model is not None
    return survivors


@pytest.fixture(autouse=True)
def everything_is_imported(tmp_path):
    for path in PATHS:
        use(extranets.load(path))


def test_blind_damage_is_always_found(tmp_path):
    assert fuzz(blind, 300, tmp_path / "model.xnet", seed=0) == 0


def test_repaired_files_are_refused_or_work(tmp_path):
    assert 0 < fuzz(repaired, 300, tmp_path / "model.xnet", seed=1) < 200


@pytest.mark.slow
def test_blind_damage_is_found_ten_thousand_times(tmp_path):
    assert fuzz(blind, 10_000, tmp_path / "model.xnet", seed=2) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_fifteen_thousand_repaired_files_are_refused_or_work(tmp_path, seed):
    assert fuzz(repaired, 5_000, tmp_path / "model.xnet", seed) > 0
