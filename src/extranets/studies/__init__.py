"""The paper's three studies, and studies of what it leaves open, in resumable runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from extranets.studies.runs import Run


def registry() -> dict[str, Any]:
    """The studies by name, for :meth:`extranets.studies.runs.Run.study`."""
    from extranets.studies.correlation import CorrelationStudy
    from extranets.studies.decorrelation import DecorrelationStudy
    from extranets.studies.hypotheses import HypothesesStudy
    from extranets.studies.simulation import SimulationStudy
    from extranets.studies.uci import UciStudy

    studies = (SimulationStudy, CorrelationStudy, UciStudy, HypothesesStudy, DecorrelationStudy)
    return {study.name: study for study in studies}


def summary(run: Run) -> list[dict[str, Any]]:
    """The rows of a run's table, of the units that are done; with the mean seconds of a fit, where the study clocks them."""
    from extranets.studies.uci import with_seconds

    rows = run.study(registry()).summarise(run.records)
    return with_seconds(rows, run.timings) if run.name == "uci" else rows
