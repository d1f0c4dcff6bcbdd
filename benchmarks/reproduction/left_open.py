"""What the paper leaves open: what could explain its point errors, and what its masks do."""

from __future__ import annotations

from benchmarks.reproduction.files import Row, figure, markdown, number, only, rows_of
from extranets.plots.growth import PLAIN
from extranets.studies.decorrelation import VARIANTS
from extranets.studies.hypotheses import HYPOTHESES
from extranets.studies.printed import printed

KINDS = [
    (process, method) for process in ("nonlinear", "linear") for method in ("extra-nets", "bootstrap", "MC dropout")
]
SHORT = {
    (line["process"], line["method"]): f"{float(line['printed']):.1f}"
    for line in printed("simulation")
    if line["T"] == "30" and line["measure"] == "mspe" and line["p"] in ("", "0.995")
}


def explanation(name: str) -> dict[tuple[str, str], Row]:
    """A hypothesis's rows by process and method."""
    return {(row["process"], row["method"]): row for row in rows_of("hypotheses.csv") if row["hypothesis"] == name}


def explained_cell(row: Row | None) -> str:
    sets = explanation("as-read")[KINDS[0]]["replications"]
    if row is None or row["replications"] != sets:
        return f"networks are left on {0 if row is None else row['replications']} of {sets} sets"
    return f"{figure(row, 'mspe', 1)} ({row['explained']})"


def hypotheses_table() -> str:
    lines = []
    for name, each in HYPOTHESES.items():
        found = explanation(name)
        cells = [explained_cell(found.get(kind)) for kind in KINDS]
        lines.append([each.what, *cells, number(found["nonlinear", "MC dropout"], "target_mean", 0)])
    heads = [f"{process}: {method}, {SHORT[process, method]}" for process, method in KINDS]
    return markdown("perhaps | " + " | ".join(heads) + " | mean of y", lines)


def explained(name: str, process: str | None = None) -> int:
    """How many of the paper's point errors are not extreme under a hypothesis: of 18 for each process."""
    return sum(int(row["explained"]) for (of, _), row in explanation(name).items() if process in (None, of))


def sentences_of_hypotheses() -> list[str]:
    best, linear = max(HYPOTHESES, key=explained), max(HYPOTHESES, key=lambda name: explained(name, "linear"))
    nonlinear = max(HYPOTHESES, key=lambda name: explained(name, "nonlinear"))
    reached = [
        name
        for name in HYPOTHESES
        if float(explanation(name).get(("nonlinear", "extra-nets"), {"as_small": "0"})["as_small"]) > 0
    ]
    kept = explanation("means-kept")
    eight, usual = explanation("starts-8")["nonlinear", "MC dropout"], explanation("as-read")["nonlinear", "MC dropout"]
    return [
        f"As we read the paper, {explained('as-read', 'nonlinear')} of the 18 nonlinear point errors and "
        f"{explained('as-read', 'linear')} of the 18 linear ones are reproduced on these 40 data sets.",
        f"One change explains at most {explained(nonlinear, 'nonlinear')} of the nonlinear ones (that {HYPOTHESES[nonlinear].what}), at "
        f"most {explained(linear, 'linear')} of the linear ones (that {HYPOTHESES[linear].what}), and at most {explained(best)} of all 36 "
        f"(that {HYPOTHESES[best].what}).",
        f"Under {len(reached)} of the {len(HYPOTHESES) - 1} changes some data set has a nonlinear error of extra-nets as small as the "
        "printed 3.8.",
        f"Inputs that keep their means explain {explained('means-kept', 'nonlinear')} of the nonlinear errors, but then y has the mean "
        f"{number(kept['nonlinear', 'extra-nets'], 'target_mean', 0)} where Table 2 prints 71.7, and the linear error of extra-nets is "
        f"{number(kept['linear', 'extra-nets'], 'mspe', 1)}, printed 1.7.",
        f"The best of eight starts explains {explained('starts-8')} of 36, but the paper speaks of one random initialisation of each "
        f"network, and then the printed 19.9 of MC dropout would come from an unusually bad data set: the mean is {number(eight, 'mspe', 1)} "
        f"instead of {number(usual, 'mspe', 1)}.",
        f"One seed for all networks explains the nonlinear errors, since those of a single network vary so much, but only "
        f"{explained('same-seed', 'linear')} of the 18 linear ones, and Table 2 prints networks whose means differ.",
        f"C as the lower triangle explains {explained('lower-triangle', 'linear')} of the linear errors, but then the nonlinear error of "
        f"extra-nets is {number(explanation('lower-triangle')['nonlinear', 'extra-nets'], 'mspe', 0)} and y has the mean "
        f"{number(explanation('lower-triangle')['nonlinear', 'extra-nets'], 'target_mean', 0)}.",
        "A change of units would multiply all errors of a process alike: the printed error of MC dropout is "
        f"{19.8904 / 3.8232:.1f} times that of extra-nets, ours {float(usual['mspe']) / float(explanation('as-read')['nonlinear', 'extra-nets']['mspe']):.1f} times.",
    ]


def of_decorrelation(data: str, variant: str, T: str = "200") -> Row:
    return only(rows_of("decorrelation.csv"), data=data, variant=variant, T=T)


def decorrelation_table() -> str:
    """Likeness, and what the mean is worth."""
    lines = []
    for variant in VARIANTS:
        found = [of_decorrelation(name, variant) for name in data_names()]
        lines.append([variant, *(f"{number(row, 'correlation', 3)}; {figure(row, 'ratio', 2)}" for row in found)])
    return markdown("members differ by | " + " | ".join(data_names()), lines)


def spread_table() -> str:
    """Spread over the error of the mean, and that error over the spread divided by T."""
    lines = []
    for variant in VARIANTS:
        shares = [quotient(of_decorrelation(name, variant), "spread", "error") for name in data_names()]
        lines.append([variant, *(f"{share:.2f}; {200 / share:,.0f}" for share in shares)])
    return markdown("members differ by | " + " | ".join(data_names()), lines)


def data_names() -> list[str]:
    return list(dict.fromkeys(row["data"] for row in rows_of("decorrelation.csv")))


def quotient(row: Row, above: str, below: str) -> float:
    return float(row[above]) / float(row[below])


def left(name: str, T: str, variant: str = PLAIN) -> str:
    """What an ensemble leaves of the error of one network with other first weights only, in per cent."""
    one = float(of_decorrelation(name, PLAIN)["member_error"])
    return f"{float(of_decorrelation(name, variant, T)['error']) / one:.0%}".replace("%", " %")


def ratio_of(name: str, variant: str) -> str:
    return figure(of_decorrelation(name, variant), "ratio", 2)


def sentences_of_masks() -> list[str]:
    names = data_names()
    masks = [name for name in VARIANTS if name.startswith("masks")]
    rows = [(of_decorrelation(name, PLAIN), of_decorrelation(name, mask)) for name in names for mask in masks]
    change = max(abs(float(row["correlation"]) - float(plain["correlation"])) for plain, row in rows)
    ratios = [float(row["ratio"]) for _, row in rows]
    claimed = [200 / quotient(row, "spread", "error") for pair in rows[:6] for row in pair]  # the processes come first
    shares = [quotient(row, "spread", "error") for pair in rows[:6] for row in pair]
    return [
        f"With other first weights only, the mean of 200 networks keeps {left('nonlinear', '200')} of the error of one on the nonlinear "
        f"process and {left('linear', '200')} on the linear one, where independent networks without bias would keep 0.5 %; the mean of "
        f"20 keeps {left('nonlinear', '20')} and {left('linear', '20')}.",
        f"Masks change the correlation of two members' errors by at most {change:.3f}, and the error of the mean of 200 networks is "
        f"{min(ratios):.2f} to {max(ratios):.2f} times that with other first weights only.",
        f"On the processes, with and without masks, the squared error of the mean of 200 is {min(claimed):.0f} to {max(claimed):.0f} "
        f"times the spread divided by 200, and {1 / max(shares):.1f} times the spread itself.",
    ]


def sentences_of_others() -> list[str]:
    names = data_names()
    drop = {
        variant: [
            float(of_decorrelation(n, PLAIN)["correlation"]) - float(of_decorrelation(n, variant)["correlation"])
            for n in names
        ]
        for variant in ("rows", "priors")
    }
    rows = [float(of_decorrelation(name, "rows")["ratio"]) for name in names]
    priors = [of_decorrelation(name, "priors") for name in names]
    gained = [row["data"] for row in priors if float(row["ratio"]) + 2 * float(row["ratio_se"]) < 1]
    lost = [row["data"] for row in priors if float(row["ratio"]) - 2 * float(row["ratio_se"]) > 1]
    bins = {name: ratio_of(name, "bins") for name in names}
    more = {name: ratio_of(name, "bins, 50 units") for name in names}
    least_alike = [min(VARIANTS, key=lambda v, n=n: float(of_decorrelation(n, v)["correlation"])) for n in names]
    best = [min(VARIANTS, key=lambda v, n=n: float(of_decorrelation(n, v)["ratio"])) for n in names]
    return [
        f"Networks with all together are the least alike on {least_alike.count('all')} of the {len(names)} tables, and have the best mean on "
        f"{best.count('all')}.",
        f"Rows drawn with replacement lower the correlation by {min(drop['rows']):.3f} to {max(drop['rows']):.3f}, and the error of the "
        f"mean is {min(rows):.2f} to {max(rows):.2f} times as large.",
        f"Priors lower it by {min(drop['priors']):.3f} to {max(drop['priors']):.3f}; beyond two standard errors the mean is better on "
        f"{' and '.join(gained) or 'none of the five'} and worse on {', '.join(lost) or 'none'}.",
        f"Bins at equal cost: {bins['energy']} on energy, {bins['concrete']} on concrete and {bins['boston']} on boston, but "
        f"{bins['nonlinear']} and {bins['linear']} on the processes; with 50 units, {more['energy']}, {more['concrete']} and "
        f"{more['boston']}, but {more['nonlinear']} and {more['linear']}.",
    ]


def hypotheses() -> list[str]:
    return [hypotheses_table(), *sentences_of_hypotheses()]


def decorrelation() -> list[str]:
    return [decorrelation_table(), spread_table(), *sentences_of_masks(), *sentences_of_others()]
