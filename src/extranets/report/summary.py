"""From predictions to the numbers and sentences of a report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from extranets import plots
from extranets._extras import require
from extranets.evaluation import Predictions
from extranets.evaluation import scores as all_scores
from extranets.plots.display import PredictionsDisplay, check_targets
from extranets.report.headline import Card, Finding, cards, findings
from extranets.report.sample import Level, Sample, levels_of, sample_of
from extranets.uncertainty.predictive import SMALLEST_STD

FIGURES: dict[str, type[PredictionsDisplay]] = {
    "intervals": plots.PredictionIntervalDisplay,
    "calibration": plots.CalibrationDisplay,
    "width_and_error": plots.CoverageByWidthDisplay,
    "features": plots.WidthByFeatureDisplay,
    "over_time": plots.CoverageOverTimeDisplay,
    "by_group": plots.CoverageByGroupDisplay,
    "novelty": plots.NoveltyDisplay,
    "regions": plots.RegionsDisplay,
    "residuals": plots.ResidualsDisplay,
    "members": plots.MembersDisplay,
    "correlation": plots.CorrelationDisplay,
    "learning": plots.LearningCurveDisplay,
}


@dataclass(eq=False)
class Summary:
    """All that a report of predictions shows, ready for JSON.

    Attributes
    ----------
    title, target : str
    about : dict
        The model and the table in words: a text for each name, or a list of them.
    n : int
        Rows.
    coverage : float
        Nominal coverage of the headline and of all figures that show one level.
    distribution : str
        Shape of the predictive distribution in words.
    cards, findings : the headline and the verdicts
    scores : dict of str to float
    levels : observed coverage at all levels
    position : int
        Of ``coverage`` among the levels.
    sample : the rows of the coverage slider
    figures : dict of str to Display
    absent : dict of str to str
        Figures that could not be made, and why.
    """

    title: str
    target: str
    about: dict[str, str | list[str]]
    n: int
    coverage: float
    distribution: str
    cards: list[Card]
    findings: list[Finding]
    scores: dict[str, float]
    levels: list[Level]
    position: int
    sample: Sample
    figures: dict[str, plots.Display]
    absent: dict[str, str]


def summarise(predictions: Predictions, coverage: float = 0.9) -> Summary:
    """Everything a report shows of predictions with known targets.

    Parameters
    ----------
    predictions : extranets.evaluation.Predictions
        At least one row. A million rows make the page no larger.
    coverage : float, default=0.9
        Nominal coverage of the headline; one of the predictions' levels.

    Returns
    -------
    Summary
    """
    require("A report", "report", "pandas", "matplotlib", "jinja2")
    p = predictions
    if not len(p):
        raise ValueError("A report needs at least one row with a known target; got none.")
    check_targets(p)
    # Densities need a variance above zero. With a tiny one, the distance of a target may be too large for a float.
    with np.errstate(over="ignore"):
        scores = all_scores(replace(p, aleatoric=np.maximum(p.aleatoric, SMALLEST_STD)), coverage)
    levels = levels_of(p)
    position = int(np.argmin(np.abs(p.levels - coverage)))
    figures, absent = _figures(p, coverage)
    return Summary(
        title=f"Predictions of {p.target}",
        target=p.target,
        about=_texts(p.about),
        n=len(p),
        coverage=coverage,
        distribution=p.distribution,
        cards=cards(p, levels[position], scores),
        findings=findings(figures),
        scores=scores,
        levels=levels,
        position=position,
        sample=sample_of(p),
        figures=figures,
        absent=absent,
    )


def _figures(predictions: Predictions, coverage: float) -> tuple[dict[str, plots.Display], dict[str, str]]:
    figures: dict[str, plots.Display] = {}
    absent: dict[str, str] = {}
    for name, display in FIGURES.items():
        try:
            figures[name] = display.of(predictions, coverage)
        except plots.NothingToShow as reason:
            absent[name] = str(reason)
    return figures, absent


def _texts(about: dict[str, Any]) -> dict[str, str | list[str]]:
    return {
        str(key): [str(line) for line in value] if isinstance(value, list) else str(value)
        for key, value in about.items()
        if value is not None
    }
