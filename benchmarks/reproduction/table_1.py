"""Table 1: the simulation."""

from __future__ import annotations

from benchmarks.reproduction.files import Row, counted, figure, markdown, number, only, rows_of
from extranets.studies.printed import printed

LEVELS = ("non_coverage_01", "non_coverage_05", "non_coverage_10")


def simulated(name: str, method: str, process: str = "nonlinear", p: str = "0.995", T: str = "30") -> Row:
    keep = "" if method == "bootstrap" else p
    return only(rows_of(name), process=process, method=method, p=keep, T=T)


def table_1() -> str:
    cell = {(r["process"], r["method"], r["p"], r["T"], r["measure"]): r["printed"] for r in printed("simulation")}
    lines = []
    for row in (row for row in rows_of("simulation.csv") if row["T"] == "30"):
        key = (row["process"], row["method"], row["p"], "30")
        errors = [f"{figure(row, m, 2)} ({float(cell[(*key, m)]):.2f})" for m in ("mape", "mspe")]
        shares = [f"{figure(row, m, 3)} ({cell[(*key, m)]})" for m in LEVELS]
        lines.append([*key[:3], *errors, *shares])
    return markdown("process | method | p | MAPE | MSPE | outside 99 % | outside 95 % | outside 90 %", lines)


def sized(rows: list[Row], T: int) -> list[Row]:
    return [row for row in rows if row["what"].endswith(f"T = {T}")]


def verdicts_of_table_1() -> list[str]:
    rows = rows_of("simulation_compared.csv")
    near = sum(abs(float(row["difference"])) <= 2 for row in rows)
    each = [counted(sized(rows, T), "reproduced") for T in (30, 50, 70)]
    shares = [row for row in rows if row["measure"].startswith("non_coverage")]
    points = [row for row in rows if row not in shares]
    ensembles = [row for row in points if "MC dropout" not in row["what"]]
    dropout = [row for row in points if "MC dropout" in row["what"]]
    nonlinear = [row for row in ensembles if row["what"].startswith("nonlinear")]
    linear = [row for row in ensembles if row["what"].startswith("linear")]
    distance = [float(row["difference"]) for row in nonlinear]
    smaller = sum(float(row["difference"]) > 0 for row in ensembles)
    return [
        f"Of the {len(rows)} printed figures {counted(rows, 'reproduced')} are reproduced: at least 5 % of our 100 data sets are as "
        f"extreme. ({near} differ by at most two standard deviations of a data set, which is a weaker test: the errors are skewed.)",
        f"For T = 30, 50 and 70 they are {each[0]}, {each[1]} and {each[2]} of {len(rows) // 3}",
        f"Of the {len(shares)} shares outside intervals {counted(shares, 'reproduced')} are reproduced, and of the {len(dropout)} point "
        f"errors of MC dropout {counted(dropout, 'reproduced')}.",
        f"All {counted(nonlinear, 'contradicts')} nonlinear point errors of extra-nets and the bootstrap contradict, by "
        f"{min(distance):.1f} to {max(distance):.1f} standard deviations of a data set, and {counted(linear, 'contradicts')} of the "
        f"{len(linear)} linear ones. The printed error is smaller than our mean in {smaller} of these {len(ensembles)} figures.",
    ]


def errors_of_table_1() -> list[str]:
    nets, boot = (simulated("simulation.csv", method) for method in ("extra-nets", "bootstrap"))
    wins = {
        (process, p): float(simulated("simulation.csv", "extra-nets", process, p)["wins"])
        for process, p in (("nonlinear", "0.995"), ("linear", "0.995"), ("linear", "0.8"))
    }
    eight, rival = (simulated("simulation_starts_8.csv", method) for method in ("extra-nets", "bootstrap"))
    rows = [row for row in rows_of("simulation.csv") if row["process"] == "nonlinear" and row["method"] != "MC dropout"]
    smallest = min(float(row["mspe_min"]) for row in rows if row["method"] == "extra-nets")
    return [
        f"On average over data sets the squared error of extra-nets on the nonlinear process is {number(nets, 'mspe', 1)}, printed "
        f"3.8. None of the {nets['replications']} data sets reaches the printed figures: the smallest error of extra-nets, whatever T, is "
        f"{smallest:.2f}, and that of the bootstrap for T = 30 is {number(boot, 'mspe_min', 2)}, printed 5.42.",
        f"About {number(nets, 'n_dropped', 0)} of 30 networks with 3 and 2 units collapse",
        f"Keeping the best of eight starts by training loss (`--starts 8`, {eight['replications']} data sets) gives "
        f"{figure(eight, 'mspe', 2)}, below the printed figure; extra-nets then have a smaller error than the bootstrap "
        f"({number(rival, 'mspe', 2)}) on {float(eight['wins']):.0%} of the data sets.".replace("%", " %"),
        f"With one start they do not beat the bootstrap: they have the smaller squared error on {wins['nonlinear', '0.995']:.0%} of the "
        f"nonlinear data sets and on {wins['linear', '0.995']:.0%} of the linear ones at p = .995, and on "
        f"{wins['linear', '0.8']:.0%} at p = .8.".replace("%", " %"),
    ]


def coverage_of_table_1() -> list[str]:
    test, train = (simulated(name, "extra-nets") for name in ("simulation.csv", "simulation_noise_train.csv"))
    shares = [" / ".join(f"{1 - float(row[level]):.3f}" for level in LEVELS) for row in (train, test)]
    return [
        f"The residual variance on test rows is {number(test, 'noise_variance', 1)} on average on the nonlinear process, where the "
        "noise itself has 0.49: it absorbs the bias.",
        f"coverage is {shares[0]} at 99 / 95 / 90 % (with test rows {shares[1]}), so the test targets are not needed.",
    ]


def blocks() -> list[str]:
    return [table_1(), *verdicts_of_table_1(), *errors_of_table_1(), *coverage_of_table_1()]
