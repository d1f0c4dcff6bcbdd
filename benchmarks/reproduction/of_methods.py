"""docs/methods.md: every method beside its published figures."""

from __future__ import annotations

from typing import Any

from benchmarks import methods
from benchmarks.reproduction.files import stored


def stored_methods() -> dict[str, Any]:
    known = stored("methods.json")
    return {name: known[name] for name in methods.METHODS if name in known}


def tables_of_methods() -> list[str]:
    blocks = methods.documented(stored_methods()).split("\n## ")
    *tables, last = (block.partition("\n")[2].strip() for block in blocks[1:])
    return [*tables, *last.rsplit("\n\n", 1)]


def mean_rmse(method: str, dataset: str) -> float:
    splits = stored_methods()[method][dataset]
    return float(sum(split[0] for split in splits) / len(splits))


def sentences() -> list[str]:
    ours, graves, short = ("VI", "VI, Graves", "VI, Graves, 40 epochs")
    return [
        f"On yacht the reparameterised estimator has an RMSE of {mean_rmse(ours, 'yacht'):.2f} where 6.89 is printed; Graves's has "
        f"{mean_rmse(graves, 'yacht'):.2f} after 400 epochs and {mean_rmse(short, 'yacht'):.2f} after the published 40.",
        f"On energy it is the estimator: {mean_rmse(ours, 'energy'):.2f} reparameterised, {mean_rmse(graves, 'energy'):.2f} with "
        f"Graves's gradients, {mean_rmse(short, 'energy'):.2f} after 40 epochs, printed 2.65.",
    ]


def errors() -> list[str]:
    return tables_of_methods()[:1]


def likelihoods() -> list[str]:
    return tables_of_methods()[1:2]


def all_scores() -> list[str]:
    return tables_of_methods()[2:]
