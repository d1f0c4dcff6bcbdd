"""Write the stored samples of the current format version: python -m tests.model_file.write_samples

Samples that are there stay as they are: old ones prove that old files stay loadable.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from extranets.model_file.container import VERSION
from tests.model_file import tiny

SAMPLES = Path(__file__).parent / "samples"


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in (name for name in tiny.ESTIMATORS if not (folder / f"{name}.xnet").exists()):
        model = tiny.fitted(name)
        X = np.random.default_rng(1).normal(size=(3, 2)).round(3)
        model.save(folder / f"{name}.xnet", about={"X": X.tolist(), "expected": tiny.predictions(model, X)})


if __name__ == "__main__":
    write(SAMPLES / f"v{VERSION}")
