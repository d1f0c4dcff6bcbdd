"""The studies, their commands and how many pieces of work they are."""

from __future__ import annotations

from benchmarks.published import SETS
from benchmarks.reproduction.files import markdown
from extranets.studies import decorrelation
from extranets.studies.correlation import CorrelationStudy
from extranets.studies.hypotheses import HypothesesStudy
from extranets.studies.simulation import SimulationStudy
from extranets.studies.uci import UciStudy

STUDIES = {
    "Table 1": SimulationStudy(),
    "Table 2 and its figure": CorrelationStudy(),
    "Table 3": UciStudy(datasets=SETS),
    "what could explain Table 1": HypothesesStudy(),
    "what masks do": decorrelation.DecorrelationStudy(datasets=decorrelation.SETS),
}
OPTIONS = {"correlation": " --figure correlation.png"}


def blocks() -> list[str]:
    table = markdown(
        "study | command | units",
        [
            [what, f"`extranets study {s.name} --out runs/{s.name}{OPTIONS.get(s.name, '')}`", f"{len(s.units()):,}"]
            for what, s in STUDIES.items()
        ],
    )
    return [table]
