"""Our figures beside the paper's printed ones, with their difference in standard errors and a verdict.

- *reproduced*: they differ by less than two standard errors of the difference (and the rounding of the printed figure).
- *better*: ours is smaller than an error that the paper prints, or nearer to its level than a share that the paper prints.
- *contradicts*: none of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from extranets.studies.printed import PLACES, half_unit, printed
from extranets.studies.tables import Figure

Record = dict[str, Any]

LEVELS = {"non_coverage_01": 0.01, "non_coverage_05": 0.05, "non_coverage_10": 0.10}
TEST_ROWS = 300  # of the correlation exercise
COLUMNS = {
    "place": "in the paper",
    "what": "what",
    "measure": "measure",
    "printed": "printed",
    "ours": "ours",
    "difference": "difference in s.e.",
    "verdict": "verdict",
}


def compare(study: str, rows: list[Record]) -> list[Record]:
    """One row for every printed figure that this run has a figure for.

    Parameters
    ----------
    study : {"simulation", "correlation", "uci"}
    rows : list of dict
        What the study's ``summarise`` gives.
    """
    makers: dict[str, Callable[[list[Record]], list[Record]]] = {
        "simulation": simulation,
        "correlation": correlation,
        "uci": uci,
    }
    return makers[study](rows)


def simulation(rows: list[Record]) -> list[Record]:
    """The paper simulated one data set, so its figure has the standard deviation of one; ours is a mean over many."""
    ours = {(row["process"], row["method"], row["p"], row["T"]): row for row in rows}
    out = []
    for line in printed("simulation"):
        key = (line["process"], line["method"], float(line["p"]) if line["p"] else None, int(line["T"]))
        row = ours.get(key)
        if row is not None:
            error = row[f"{line['measure']}_se"]
            of_difference = None if error is None else error * math.sqrt(row["replications"] + 1)
            what = f"{key[0]}, {key[1]}" + (f", p = {key[2]:g}" if key[2] else "") + f", T = {key[3]}"
            value = Figure(row[line["measure"]], error)
            out.append(compared("simulation", what, line["measure"], line["printed"], value, of_difference))
    return out


def uci(rows: list[Record]) -> list[Record]:
    """Both figures are means over the same splits."""
    ours = {(row["dataset"], row["column"]): row for row in rows}
    out = []
    for line in printed("uci"):
        row = ours.get((line["dataset"], line["column"]))
        if row is not None and row["rmse"] is not None:
            value = Figure(row["rmse"], row["rmse_se"])
            theirs = float(line["standard_error"]) if line["standard_error"] else None
            known = None if value.error is None or theirs is None else math.hypot(value.error, theirs)
            out.append(compared("uci", f"{line['dataset']}, {line['column']}", "rmse", line["printed"], value, known))
    return out


def correlation(rows: list[Record]) -> list[Record]:
    """The averages over pairs of learners, and the mean of each column of the learners' table.

    Learners whose rows are resampled separately have independent means. A correlation over n rows then has the standard
    deviation 1 / sqrt(n - 1), and its absolute value 0.6 of that. For an average over pairs, this is divided by the
    root of the number of pairs.
    """
    average = {row["version"]: row for row in rows if row["kind"] == "average"}.get("separate")
    if average is None:
        return []
    pairs = average["n_learners"] * (average["n_learners"] - 1) / 2
    one = math.sqrt(2 / (TEST_ROWS - 1) / pairs)  # both figures are draws
    spread = average["sd"] ** 2 * 100  # of a prediction: a bootstrap mean is over B = 100 of them
    errors = {
        "average_correlation": one,
        "average_absolute_correlation": math.sqrt(1 - 2 / math.pi) * one,
        "average_covariance": spread * math.sqrt(2 / 99 / pairs / TEST_ROWS),
    }
    out = [
        compared(
            "correlation", "rows resampled for each learner", line["measure"], line["printed"],
            Figure(average[line["measure"]], None), errors[line["measure"]], target=0.0,
        )
        for line in printed("correlation")
    ]  # fmt: skip
    return out + learners([row for row in rows if row["kind"] == "learner" and row["version"] == "separate"])


def learners(rows: list[Record]) -> list[Record]:
    """Means of the columns over learners; they come from another data set than the paper's, so no error is given."""
    lines = printed("correlation_learners")
    out = []
    for column, measure in [("observed_mean", "mean_prediction"), *((c, c) for c in ("sd", "kurtosis", "skewness"))]:
        theirs = sum(float(line[column]) for line in lines) / len(lines)
        value = sum(row[measure] for row in rows) / len(rows)
        what = "mean over learners"
        out.append(compared("correlation_learners", what, measure, f"{theirs:.4f}", Figure(value, None), None))
    return out


def compared(
    table: str, what: str, measure: str, number: str, ours: Figure, error: float | None, target: float | None = None
) -> Record:
    """One row. ``error`` is the standard error of the difference; ``target`` what the figure should be near to."""
    row = {"place": PLACES[table], "what": what, "measure": measure, "printed": float(number), "ours": ours}
    difference = (ours.value or 0.0) - float(number)
    known = error is not None and error > 0
    return row | {
        "difference": difference / error if known and error else None,
        "verdict": verdict(measure, float(number), difference, error, half_unit(number), target) if known else None,
    }


def verdict(
    measure: str, number: float, difference: float, error: float | None, rounding: float, target: float | None
) -> str:
    """Which of the module's three verdicts a figure gets.

    Examples
    --------
    >>> verdict("mspe", 3.82, 7.6, 1.5, 0.00005, None), verdict("rmse", 0.59, -0.1, 0.02, 0.005, None)
    ('contradicts', 'better')
    >>> verdict("non_coverage_10", 0.02, 0.07, 0.01, 0.005, None)
    'better'
    """
    if abs(difference) <= 2 * (error or 0.0) + rounding:
        return "reproduced"
    target = LEVELS.get(measure, target)
    if target is None:
        return "better" if difference < 0 else "contradicts"
    return "better" if abs(number + difference - target) < abs(number - target) else "contradicts"
