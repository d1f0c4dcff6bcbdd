"""A small run folder of every study."""

from __future__ import annotations

import json
from pathlib import Path

from extranets.studies import runs
from extranets.studies._files import save_unit
from extranets.studies.correlation import CorrelationStudy
from extranets.studies.decorrelation import MEASURES, SIZES, VARIANTS
from extranets.studies.hypotheses import HypothesesStudy
from extranets.studies.runs import UnitResult
from extranets.studies.scores import MEASURES as UCI_MEASURES
from extranets.studies.simulation import SimulationStudy

COMPUTED = {"simulation": SimulationStudy(replications=2), "correlation": CorrelationStudy(B=5, T=8, fresh=2)}


def make(name: str, folder: Path) -> Path:
    """Computed where that takes a second; else written by hand, as the data sets are not part of the package."""
    if name in COMPUTED:
        runs.run(COMPUTED[name], folder, jobs=1, progress=False)
        return folder
    return {"uci": uci, "hypotheses": hypotheses, "decorrelation": decorrelation}[name](folder)


def uci(folder: Path) -> Path:
    """Two splits of one set."""
    units = {
        f"yacht-{split:02d}": [
            {"dataset": "yacht", "split": split, "column": "extra-nets T=5"} | dict.fromkeys(UCI_MEASURES, 1.0 + split)
        ]
        for split in range(2)
    }
    return write("uci", {"datasets": ["yacht"], "columns": ["extra-nets T=5"]}, units, folder, {"extra-nets T=5": 0.25})


def decorrelation(folder: Path) -> Path:
    """One data set, with the same error for all."""
    records = [
        {"data": "linear", "number": 0, "variant": variant, "T": T} | dict.fromkeys(MEASURES, 1.0)
        for variant in VARIANTS
        for T in SIZES
    ]
    return write("decorrelation", {"replications": 1, "datasets": [], "seed": 0}, {"linear-00": records}, folder, {})


def hypotheses(folder: Path) -> Path:
    """One unit of two: an unfinished run."""
    study, done = HypothesesStudy(replications=1), "wider-linear-0000"
    write("hypotheses", {"replications": 1, "seed": 0}, {"as-read-linear-0000": None, done: None}, folder, {})
    save_unit(folder, done, study.run(done))
    return folder


def write(study: str, configuration: dict, units: dict, folder: Path, timings: dict) -> Path:
    """As ``runs.run`` does it; units without records are not done."""
    (folder / "units").mkdir(parents=True)
    about = {"study": study, "configuration": configuration, "units": list(units)}
    (folder / "run.json").write_text(json.dumps(about), encoding="utf-8")
    for unit, records in units.items():
        if records is not None:
            save_unit(folder, unit, UnitResult(records, timings))
    return folder
