"""Our figures beside the paper's printed ones, with a verdict on each.

- *reproduced*: the printed figure is one that our run could have given. Table 1 is one data set, so its figures are compared with
  our data sets one by one: at least 5 % of them must be as extreme as the printed figure, on both sides together. All others
  must differ by less than two standard errors of the difference and the rounding of the printed figure.
- *better*: it could not, and ours is a smaller error, or a share outside intervals that is nearer to its level.
- *contradicts*: neither.

Verdicts are not independent: figures for T = 30, 50 and 70 are of the same networks, the larger ensembles holding the smaller
ones, and all of the paper's figures of a process are of one data set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from extranets.data.uci import DATASETS
from extranets.studies._summaries import FEWEST, share_as_extreme
from extranets.studies.correlation import CorrelationStudy
from extranets.studies.printed import PLACES, half_unit, printed
from extranets.studies.simulation import SimulationStudy, key_of
from extranets.studies.tables import Figure
from extranets.studies.uci import UciStudy

Record = dict[str, Any]

ERRORS = ("mape", "mspe", "rmse")  # smaller is better
LEVELS = {"non_coverage_01": 0.01, "non_coverage_05": 0.05, "non_coverage_10": 0.10}  # nearer is better
EXTREME = 0.05  # least share of our data sets that must be as extreme as a printed figure
TEST_ROWS = 300  # of the correlation exercise
COLUMNS = {
    "place": "in the paper",
    "what": "what",
    "measure": "measure",
    "printed": "printed",
    "ours": "ours",
    "difference": "difference in s.e.",
    "as_extreme": "data sets as extreme",
    "verdict": "verdict",
    "note": "note",
}
# Columns of Table 3 that the paper took from others, and how ours differ from what it took.
OTHERS = {
    "VI": "our defaults, with reparameterised gradients; printed: Graves's gradients",
    "PBP": "our defaults",
    "MC dropout": "our defaults",
    "Deep ensemble": "our defaults",
}
EPOCHS = 40  # of Table 3
PRINTED = (SimulationStudy.name, CorrelationStudy.name, UciStudy.name)  # studies that the paper has tables of


def compare(study: Any, records: list[Record]) -> list[Record]:
    """One row for every printed figure that this run has a figure for.

    Parameters
    ----------
    study : a study, as :meth:`extranets.studies.runs.Run.study` makes it again
    records : list of dict
        Those of the units that are done.
    """
    makers: dict[type, Callable[[Any, list[Record]], list[Record]]] = {
        SimulationStudy: simulation,
        CorrelationStudy: correlation,
        UciStudy: uci,
    }
    return makers[type(study)](study, records) if type(study) in makers else []


def simulation(study: SimulationStudy, records: list[Record]) -> list[Record]:
    """The paper simulated one data set, so its figure has the standard deviation of one; ours is a mean over many."""
    ours = {key_of(row): row for row in study.summarise(records)}
    out = []
    for line in printed("simulation"):
        key = (line["process"], line["method"], float(line["p"]) if line["p"] else None, int(line["T"]))
        if key in ours:
            out.append(of_one_data_set(line, ours[key], [r for r in records if key_of(r) == key], settings_of(study)))
    return out


def of_one_data_set(line: dict[str, str], row: Record, own: list[Record], note: str) -> Record:
    measure, number = line["measure"], float(line["printed"])
    share = share_as_extreme(number, half_unit(line["printed"]), [record[measure] for record in own])
    error = row[f"{measure}_se"]
    of_one = None if error is None else error * math.sqrt(row["replications"] + 1)
    if share is None:
        note = joined(note, f"{row['replications']} data sets; a verdict needs {FEWEST}")
    what = f"{row['process']}, {row['method']}" + (f", p = {row['p']:g}" if row["p"] else "") + f", T = {row['T']}"
    return {
        **compared("simulation", what, measure, line["printed"], Figure(row[measure], error), of_one),
        "as_extreme": share,
        "verdict": None if share is None else verdict(measure, number, row[measure], share >= EXTREME),
        "note": note,
    }


def settings_of(study: SimulationStudy) -> str:
    """What of the run is not as in the paper; empty if all is."""
    return joined(
        f"noise from {study.noise} rows" if study.noise != "test" else "",
        f"correlation: {study.correlation}" if study.correlation != "upper" else "",
        f"best of {study.starts} starts" if study.starts != 1 else "",
    )


def uci(study: UciStudy, records: list[Record]) -> list[Record]:
    """Both figures are means over the same splits."""
    ours = {(row["dataset"], row["column"]): row for row in study.summarise(records)}
    out = []
    for line in printed("uci"):
        row = ours.get((line["dataset"], line["column"]))
        if row is not None and row["rmse"] is not None:
            value = Figure(row["rmse"], row["rmse_se"])
            theirs = float(line["standard_error"]) if line["standard_error"] else None
            known = None if value.error is None or theirs is None else math.hypot(value.error, theirs)
            made = compared("uci", f"{line['dataset']}, {line['column']}", "rmse", line["printed"], value, known)
            out.append(made | {"note": splits_of(study, row)})
    return out


def splits_of(study: UciStudy, row: Record) -> str:
    """What of a row of Table 3 is not as in the paper."""
    n_splits, column = DATASETS[row["dataset"]].n_splits, row["column"]
    ours = column not in OTHERS
    return joined(
        f"{row['n_splits']} of {n_splits} splits" if row["n_splits"] < n_splits else "",
        OTHERS.get(column, ""),
        f"learning rate {study.rate:g}" if ours and study.rate != UciStudy.rate else "",
        f"{study.epochs} epochs instead of {EPOCHS}" if ours and study.epochs != EPOCHS else "",
    )


def correlation(study: CorrelationStudy, records: list[Record]) -> list[Record]:
    """The averages over pairs of learners, and the mean of each column of the learners' table.

    Learners whose rows are resampled separately have independent means. A correlation over n rows then has the standard
    deviation 1 / sqrt(n - 1), and its absolute value 0.6 of that. For an average over pairs, this is divided by the
    root of the number of pairs.
    """
    rows = study.summarise(records)
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
    note = joined(
        f"{study.B} resamples instead of 100" if study.B != 100 else "",
        f"{study.T} learners instead of 30" if study.T != 30 else "",
    )
    out = [
        compared(
            "correlation", "rows resampled for each learner", line["measure"], line["printed"],
            Figure(average[line["measure"]], None), errors[line["measure"]],
        )
        for line in printed("correlation")
    ]  # fmt: skip
    out += learners([row for row in rows if row["kind"] == "learner" and row["version"] == "separate"])
    return [row | {"note": note} for row in out]


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


def compared(table: str, what: str, measure: str, number: str, ours: Figure, error: float | None) -> Record:
    """One row, with a verdict if the standard error of the difference is known."""
    value, theirs = ours.value or 0.0, float(number)
    known = error is not None and error > 0
    agrees = abs(value - theirs) <= 2 * (error or 0.0) + half_unit(number)
    return {
        "place": PLACES[table],
        "what": what,
        "measure": measure,
        "printed": theirs,
        "ours": ours,
        "difference": (value - theirs) / error if known and error else None,
        "as_extreme": None,
        "verdict": verdict(measure, theirs, value, agrees) if known else None,
        "note": "",
    }


def verdict(measure: str, number: float, ours: float, agrees: bool) -> str:
    """Which of the module's three verdicts a figure gets. A correlation has no better and no worse.

    Examples
    --------
    >>> verdict("mspe", 3.82, 11.4, agrees=False), verdict("rmse", 0.59, 0.49, agrees=False)
    ('contradicts', 'better')
    >>> verdict("non_coverage_10", 0.02, 0.09, agrees=False), verdict("average_correlation", 0.01, 0.0, agrees=False)
    ('better', 'contradicts')
    """
    if agrees:
        return "reproduced"
    level = LEVELS.get(measure)
    nearer = abs(ours - level) < abs(number - level) if level is not None else measure in ERRORS and ours < number
    return "better" if nearer else "contradicts"


def joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))
