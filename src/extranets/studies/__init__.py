"""The paper's three studies, in resumable runs."""

from __future__ import annotations

from typing import Any


def registry() -> dict[str, Any]:
    """The studies by name, for :meth:`extranets.studies.runs.Run.study`."""
    from extranets.studies.correlation import CorrelationStudy
    from extranets.studies.simulation import SimulationStudy
    from extranets.studies.uci import UciStudy

    return {study.name: study for study in (SimulationStudy, CorrelationStudy, UciStudy)}
