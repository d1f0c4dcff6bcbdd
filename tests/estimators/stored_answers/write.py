"""Store what cases answer on this machine.

    python -m tests.estimators.stored_answers.write                    all of them
    python -m tests.estimators.stored_answers.write extra dropout      these; the others stay as they were stored
    python -m tests.estimators.stored_answers.write models extra       also rewrite the models' files

Run it only where answers are meant to change; the commit that changes them says why. The models' files stay as they are unless
``models`` is given: they prove that files of earlier versions still predict the same. Where a fit of today answers otherwise than its
file, what the file answers stays in an entry of its own, "NAME of its file".
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import scipy

from extranets.engine import _native
from tests.estimators.stored_answers import cases

FOLDER = Path(__file__).parent
LARGEST_FILE = 12_000  # bytes: networks of the noise are larger
OF_FILE = " of its file"
ALL_THE_SAME = ("extra_default", "extra_calibrated")  # two with networks of the noise are kept


def machine():
    """What the last bits depend on besides the package's own code."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line or "stepping" in line]
    return {
        "variant": _native.active_variant(),
        "cpu": " ".join(names[:2]) or platform.processor(),
        "compiler": _native.compiler(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def write(anew):
    """One array of all numbers, and in JSON what stands where. ``anew`` names the cases that are fitted again."""
    stored_settings, stored = read()[1:]
    places, settings, numbers = {}, {}, []
    for name in [*cases.MODELS, *(name for name in stored if name.endswith(OF_FILE))]:
        if name in anew:
            model = cases.fitted(name)
            settings[name], answers = cases.settings(model), cases.answers(name, model)
        else:
            settings[name], answers = stored_settings[name], stored[name]
        places[name] = {what: values.shape for what, values in answers.items()}
        numbers += [values.ravel() for values in answers.values()]
    about = json.dumps({"machine": machine(), "settings": settings, "places": places})
    np.savez_compressed(FOLDER / "answers.npz", about=np.array(about), numbers=np.concatenate(numbers))


def read():
    """What was stored: the machine, settings by case, and answers by case."""
    with np.load(FOLDER / "answers.npz") as file:
        about, numbers = json.loads(str(file["about"])), file["numbers"]
    answers, begin = {}, 0
    for name, shapes in about["places"].items():
        answers[name] = {}
        for what, shape in shapes.items():
            size = int(np.prod(shape))
            answers[name][what] = numbers[begin : begin + size].reshape(shape)
            begin += size
    return about["machine"], about["settings"], answers


def write_models(anew):
    """The models that are named, where they are small; the files of others stay."""
    path = FOLDER / "models.zip"
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with tempfile.TemporaryDirectory() as folder:
        for name in anew:
            model = Path(folder) / f"{name}.xnet"
            cases.fitted(name).save(model)
            if model.stat().st_size <= LARGEST_FILE or name in ALL_THE_SAME:
                files[model.name] = model.read_bytes()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


if __name__ == "__main__":
    named = [name for name in sys.argv[1:] if name != "models"] or list(cases.MODELS)
    write(named)
    if "models" in sys.argv[1:]:
        write_models(named)
