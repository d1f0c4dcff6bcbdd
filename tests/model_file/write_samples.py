"""Write the stored samples of the current format version: python -m tests.model_file.write_samples

Run it once for a new version of the format, and never again for an old one: old samples prove that old files stay loadable.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from extranets.model_file.container import VERSION
from tests.model_file import tiny

SAMPLES = Path(__file__).parent / "samples"


def write(folder):
    folder.mkdir(parents=True)
    for name in tiny.ESTIMATORS:
        model = tiny.fitted(name)
        X = np.random.default_rng(1).normal(size=(3, 2)).round(3)
        model.save(folder / f"{name}.xnet", about={"X": X.tolist(), "expected": tiny.predictions(model, X)})


if __name__ == "__main__":
    write(SAMPLES / f"v{VERSION}")
