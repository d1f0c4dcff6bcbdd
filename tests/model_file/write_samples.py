"""Write the stored samples of what fits make today: python -m tests.model_file.write_samples [cuda]

Existing samples are kept: they prove that old files stay loadable. With ``cuda`` a GPU trains them and computes the expected
predictions: they prove that a machine without a GPU can use them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tests.model_file import tiny

SAMPLES = Path(__file__).parent / "samples"
OLD = SAMPLES / "v1"  # from before a fit made a `Predictor`; nothing can write such files any more
TODAY = SAMPLES / "v1_predictor"


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in tiny.ESTIMATORS:
        _write(folder / f"{name}.xnet", name)


def write_from_gpu(folder):
    for name in sorted(tiny.ON_GPU):
        _write(folder / f"{name}_cuda.xnet", name, device="cuda")


def _write(path, name, **changes):
    if not path.exists():
        model = tiny.fitted(name, **changes)
        X = np.random.default_rng(1).normal(size=(3, 2)).round(3)
        model.save(path, about={"X": X.tolist(), "expected": tiny.predictions(model, X)})


if __name__ == "__main__":
    (write_from_gpu if sys.argv[1:] == ["cuda"] else write)(TODAY)
