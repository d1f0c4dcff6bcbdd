"""Table 2: the correlation of learners. Table 3: the UCI data sets, with YearPredictionMSD on a simulated table."""

from __future__ import annotations

import re

from benchmarks.published import SETS
from benchmarks.reproduction.files import Row, counted, figure, markdown, number, only, rows_of, stored
from extranets.studies.printed import printed

PAPER_COLUMNS = ("extra-nets T=70", "extra-nets T=5", "extra-nets deep T=70", "extra-nets deep T=5")


def table_2() -> str:
    rows = rows_of("correlation.csv")
    one, joint = (only(rows, kind="average", version=version) for version in ("separate", "joint"))
    difference = float(only(rows_of("correlation_compared.csv"), measure="average_covariance")["difference"])
    rejected = [f"{row['n_rejected']} of {row['n_learners']}" for row in (one, joint)]
    covariance = f"{number(one, 'average_covariance', 2)} ({abs(difference):.1f} standard errors from the paper's)"
    lines = [
        ["average absolute correlation", number(one, "average_absolute_correlation", 4), ".0498", number(joint, "average_absolute_correlation", 4)],
        ["average correlation", number(one, "average_correlation", 4), ".0124", number(joint, "average_correlation", 4)],
        ["average covariance", covariance, ".0093", number(joint, "average_covariance", 0)],
        ["standard deviation of a learner's means", number(one, "sd", 2), "4.62", number(joint, "sd", 2)],
        ["learners with Shapiro-Wilk p < .05", rejected[0], "5 of 28", rejected[1]],
    ]  # fmt: skip
    return markdown(" | rows resampled for each learner | paper | rows resampled for all learners at once", lines)


def true_correlations() -> str:
    lines = []
    for row in (row for row in rows_of("correlation.csv") if row["kind"] == "truth"):
        parts = [figure(row, "variance", 2), figure(row, "covariance", 3), figure(row, "correlation", 3)]
        lines.append([row["process"], *parts, number(row, "variance_ratio", 1)])
    return markdown(
        "process | variance of a learner | covariance c | correlation | variance of the mean over variance / T", lines
    )


def sentences_of_table_2() -> list[str]:
    joint = only(rows_of("correlation.csv"), kind="average", version="joint")
    row = only(rows_of("correlation_compared.csv"), measure="average_correlation")
    return [
        f"Resampled jointly, their correlation is {number(joint, 'average_correlation', 3)}.",
        f"The printed average correlation of .0124 is {abs(float(row['difference'])):.1f} standard errors of the difference from ours",
    ]


def of_uci(dataset: str, column: str = "extra-nets T=70", name: str = "uci.csv") -> Row:
    return only(rows_of(name), dataset=dataset, column=column)


def table_3() -> str:
    paper = {
        (line["dataset"], line["column"]): f" ({line['printed']} ± {line['standard_error']})" for line in printed("uci")
    }
    lines = []
    for dataset in SETS:
        digits = {"naval": 5, "kin8nm": 4}.get(dataset, 3)
        cells = [figure(of_uci(dataset, c), "rmse", digits) + paper.get((dataset, c), "") for c in PAPER_COLUMNS]
        lines.append([dataset, *cells])
    return markdown(" | " + " | ".join(PAPER_COLUMNS), lines)


def training_errors() -> str:
    lines = []
    for dataset in SETS:
        row, digits = of_uci(dataset), {"naval": 5, "kin8nm": 4}.get(dataset, 2)
        parts = [number(row, "train_rmse", digits), number(row, "rmse", digits), number(row, "noise_ratio", 2)]
        lines.append([dataset, *parts, number(row, "coverage", 3), number(row, "coverage_plain", 3)])
    return markdown(" | training RMSE | test RMSE | factor | coverage with the factor | coverage without", lines)


def sentences_of_table_3() -> list[str]:
    yacht = of_uci("yacht", name="uci_yacht_rate_002.csv")
    large, small = (of_uci("protein", f"extra-nets T={n}", "uci_protein_rate_0003.csv") for n in (70, 5))
    low, high = (limit(float(of_uci(d)["coverage"]) for d in SETS) for limit in (min, max))
    plain = [
        min(SETS, key=lambda d: float(of_uci(d)["coverage_plain"])),
        max(SETS, key=lambda d: float(of_uci(d)["coverage_plain"])),
    ]
    worst = [d for d in SETS if float(of_uci(d)["noise_ratio"]) > 1.5]
    ends = [float(of_uci(d)["coverage_plain"]) for d in worst]
    verdicts = [row for row in rows_of("uci_compared.csv") if "deep" not in row["what"]]
    contradicted = [row["what"] for row in verdicts if row["verdict"] == "contradicts"]
    return [
        f"Of the {len(verdicts)} printed figures {counted(verdicts, 'reproduced')} are reproduced, {counted(verdicts, 'better')} are "
        f"larger than ours, and {len(contradicted)} are smaller: {', '.join(contradicted)}.",
        f"with `--rate 0.02` the error is {figure(yacht, 'rmse', 3)}, which agrees with 0.72 ± 0.06",
        f"with `--rate 0.003` the error is {figure(large, 'rmse', 3)} with T = 70 and {figure(small, 'rmse', 3)} with T = 5, at and "
        "below the paper's 4.32 and 4.36",
        f"The 90 % intervals cover {low:.3f} to {high:.3f} with T = 70, because the factor makes good what the networks overfit.",
        f"Without it they cover {float(of_uci(plain[0])['coverage_plain']):.3f} ({plain[0]}) to "
        f"{float(of_uci(plain[1])['coverage_plain']):.3f} ({plain[1]}), and {min(ends):.2f} to {max(ends):.2f} on the sets whose factor is "
        f"above 1.5 ({', '.join(worst)}).",
    ]


def sentences_of_year() -> list[str]:
    computing, clock = seconds_of_year("year.json", "cpu_seconds"), seconds_of_year("year_gpu.json", "seconds")
    return [
        f"On one CPU core, reading takes {computing['read']:.0f} s of computing, fitting 5 networks for 40 epochs to 463,715 rows "
        f"{computing['fit T=5']:.0f} s, and predicting the 51,630 test rows {computing['predict T=5']:.2f} s.",
        f"On one NVIDIA H200, fitting 5 networks takes {clock['fit T=5']:.0f} s on the clock, and 65 more to make 70 "
        f"{clock['fit T=70']:.0f} s; predicting the test rows with all 70 takes {clock['predict T=70']:.2f} s.",
    ]


def seconds_of_year(file: str, which: str) -> dict[str, float]:
    rows = stored(file)["rows"]
    ensembles = {row["what"]: re.search(r"T = (\d+)", row["what"]) for row in rows}
    return {
        row["what"].split()[0] + (f" T={found[1]}" if (found := ensembles[row["what"]]) else ""): row[which]
        for row in rows
    }


def learners() -> list[str]:
    return [table_2(), true_correlations(), *sentences_of_table_2()]


def data_sets() -> list[str]:
    return [table_3(), training_errors(), *sentences_of_table_3()]
