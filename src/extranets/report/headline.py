"""The report's first lines: a few figures, each with its verdict in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from extranets import metrics
from extranets.evaluation import Predictions
from extranets.plots import Display
from extranets.plots.display import too_few
from extranets.plots.drawing import counted, percent, short
from extranets.report.sample import Level

Tone = Literal["good", "bad", "plain"]

TONES: dict[bool | None, Tone] = {True: "good", False: "bad", None: "plain"}
NEARLY_ALL = 0.9  # of the observed range: intervals so wide are of little use
NO_END = "Some intervals have no end: too few rows were held out for them."
QUESTIONS = {
    "calibration": "Are the levels kept?",
    "width_and_error": "Does the width follow the error?",
    "over_time": "Does coverage last over time?",
    "by_group": "Does coverage hold in every group?",
    "novelty": "Are the rows like those of training?",
    "regions": "Is coverage even over the table?",
    "residuals": "Are the predictions unbiased?",
}


@dataclass(frozen=True)
class Card:
    """A figure and what it means."""

    name: str
    value: str
    verdict: str
    tone: Tone


@dataclass(frozen=True)
class Finding:
    """A sentence on one question. ``tone`` says whether the answer is the desired one."""

    question: str
    answer: str
    tone: Tone


def cards(predictions: Predictions, level: Level, scores: dict[str, float]) -> list[Card]:
    """The headline row."""
    observed = predictions.y
    tail = (1 - level.nominal) / 2
    lowest, highest = (float(q) for q in np.quantile(observed, [tail, 1 - tail]))
    compared = [
        error_card(scores, float(observed.std())),
        width_card(level, highest - lowest),
        score_card(level, metrics.interval_score(observed, lowest, highest, level.nominal)),
    ]
    if too_few(len(observed), level.nominal):
        compared = [unjudged(card, len(observed)) for card in compared]
    error, width, score = compared
    return [error, coverage_card(level), width, score, share_card(scores["epistemic_share"])]


def unjudged(card: Card, n: int) -> Card:
    """A card whose verdict is that the rows are too few for one."""
    if card.verdict == NO_END:
        return card
    rows = "One row is" if n == 1 else f"{counted(n, 'row')} are"
    return replace(card, verdict=f"{rows} too few to tell whether that is much.", tone="plain")


def error_card(scores: dict[str, float], target_std: float) -> Card:
    value, r2 = short(scores["rmse"]), scores["r2"]
    if not np.isfinite(r2):
        return Card("RMSE", value, "All observed targets are the same, so there is nothing to explain.", "plain")
    beside = f"predicting the mean alone gives {short(target_std)}"
    if r2 <= 0:
        return Card("RMSE", value, f"No better than a constant: {beside} (R² = {r2:.2f}).", "bad")
    return Card("RMSE", value, f"Explains {percent(r2)} of the variance; {beside}.", "good")


def coverage_card(level: Level) -> Card:
    name = f"Coverage at {level.nominal_text}"
    limits = f"95 % limits {level.limits_text}"
    if level.verdict in ("too narrow", "too wide"):
        return Card(name, level.observed_text, f"{level.verdict.capitalize()}: {limits}.", "bad")
    if level.verdict != "as promised":
        return Card(name, level.observed_text, f"Nothing against it, but the rows are few: {limits}.", "plain")
    return Card(name, level.observed_text, f"As promised: {limits}.", "good")


def width_card(level: Level, target_range: float) -> Card:
    name = f"Mean width at {level.nominal_text}"
    if np.isinf(level.mean_width):
        return Card(name, level.width_text, NO_END, "bad")
    if target_range == 0:
        return Card(name, level.width_text, "The observed targets do not vary.", "plain")
    ratio = level.mean_width / target_range
    within = f"the range that holds {level.nominal_text} of the observed targets"
    if ratio >= 1:
        return Card(
            name, level.width_text, f"Wider than {within}, {short(target_range)}: the inputs tell little.", "bad"
        )
    part = f"{percent(ratio)} of {within}"
    if level.verdict == "too narrow":
        return Card(name, level.width_text, f"{part}, but too narrow for what they promise.", "plain")
    if ratio >= NEARLY_ALL:
        return Card(name, level.width_text, f"{part}: the inputs tell little.", "plain")
    return Card(name, level.width_text, f"{part}.", "good")


def score_card(level: Level, constant: float) -> Card:
    name, value = "Interval score", short(level.interval_score)
    beside = f"one interval for all rows gives {short(constant)}"
    if level.interval_score < constant:
        return Card(name, value, f"Less is better; {beside}.", "good")
    return Card(name, value, f"Less is better, and {beside}.", "bad")


def share_card(share: float) -> Card:
    what = "of the variance is disagreement between the networks"
    rest = "the larger part is what the model takes for noise" if share < 0.5 else "more data may reduce it"
    return Card("Epistemic share", percent(share), f"{what}; {rest}.", "plain")


def findings(figures: dict[str, Display]) -> list[Finding]:
    """One sentence for each question that the figures answer."""
    return [
        Finding(question, figures[name].words(), TONES[figures[name].as_hoped])
        for name, question in QUESTIONS.items()
        if name in figures
    ]
