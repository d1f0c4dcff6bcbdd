"""Figures that the methods' authors and others published for the UCI splits. One hidden layer of 50 units (100 for protein).

Each is as printed: the last digit is rounded, so a figure of 0.01 may have been anything from 0.005 to 0.015.

- "VI", "PBP": Hernandez-Lobato & Adams (2015), Tables 1 and 2.
- "MC dropout": Gal & Ghahramani (2016), Table 1; "MC dropout, 10x epochs": the update in the readme of their code. "MC dropout, tuned": Mukhoti et al. (2018), hyper-parameters from a grid.
- "MC dropout, two layers": the updated results that the code of Gal & Ghahramani prints for two hidden layers and 500 times 40
  epochs.
- "Paper, T = 70": the extra-neural networks of the paper that this package is about. "Best": the smallest in the literature.
- "Deep ensemble": Lakshminarayanan et al. (2017), Table 1; its log-likelihoods are printed with the opposite sign.
"""

from __future__ import annotations

SETS = ("boston", "concrete", "energy", "kin8nm", "naval", "power", "protein", "wine", "yacht")


def _row(figures: str) -> dict[str, str]:
    return dict(zip(SETS, figures.split(), strict=True))


# As text, so that the number of printed digits is known.
RMSE = {
    "VI": _row("4.32 7.19 2.65 0.10 0.01 4.33 4.84 0.65 6.89"),
    "PBP": _row("3.01 5.67 1.80 0.10 0.01 4.12 4.73 0.64 1.02"),
    "MC dropout": _row("2.97 5.23 1.66 0.10 0.01 4.02 4.36 0.62 1.11"),
    "MC dropout, tuned": _row("2.90 4.82 0.54 0.079 0.0007 4.01 4.27 0.62 0.67"),
    "MC dropout, two layers": _row("2.80 4.50 0.47 0.080 0.0009 3.63 3.62 0.60 0.66"),
    "Deep ensemble": _row("3.28 6.03 2.09 0.09 0.00 4.11 4.71 0.64 1.58"),
    "Paper, T = 70": _row("2.80 5.26 0.59 0.08 0.01 4.12 4.32 0.63 0.72"),
    "Best": _row("2.65 4.15 0.42 0.07 0.0007 3.63 3.62 0.60 0.48"),
}

LOG_LIKELIHOOD = {
    "VI": _row("-2.90 -3.39 -2.39 0.90 3.73 -2.89 -2.99 -0.98 -3.43"),
    "PBP": _row("-2.57 -3.16 -2.04 0.90 3.73 -2.84 -2.97 -0.97 -1.63"),
    "MC dropout": _row("-2.46 -3.04 -1.99 0.95 3.80 -2.80 -2.89 -0.93 -1.55"),
    "MC dropout, 10x epochs": _row("-2.39 -2.94 -1.72 0.97 3.92 -2.79 -2.87 -0.92 -1.38"),
    "Deep ensemble": _row("-2.41 -3.06 -1.38 1.20 5.63 -2.79 -2.83 -0.94 -1.18"),
}
