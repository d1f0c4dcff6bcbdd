"""The stack with other settings, on inner splits of the tables that are for choosing.

    python -m benchmarks.stack run --splits 2          add a record for every fit to a file (--out, stack.jsonl)
    python -m benchmarks.stack table stack.jsonl       ranks, and RMSE and seconds beside CatBoost's

The options are those of ``python -m benchmarks.ordinary``, whose tables and mechanism this uses; no test rows are used.
"""

from __future__ import annotations

import sys
from functools import partial

from benchmarks.contest.methods import Method
from benchmarks.contest.ours import REFERENCE
from benchmarks.ordinary import command, methods, ours
from extranets import StackedNetsRegressor

VARIANTS: dict[str, dict[str, object]] = {
    REFERENCE: {},
    "effort low": {"effort": "low"},
    "effort high": {"effort": "high"},
    "5 folds": {"n_folds": 5},
    "10 folds": {"n_folds": 10},
    "2 members": {"members_per_fold": 2},
    "keep 1": {"keep_prob": 1.0},
    "keep 0.75": {"keep_prob": 0.75},
    "constant noise": {"noise_model": "constant"},
    "total": {"interval": "total"},
    "student": {"distribution": "student"},
}


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    variants = {
        name: Method(("extranets",), partial(ours.ours, partial(StackedNetsRegressor, **changed)))
        for name, changed in VARIANTS.items()
    }
    peers = {name: methods.METHODS[name] for name in ("extranets default", "CatBoost", "ridge")}
    given = sys.argv[1:] if arguments is None else arguments
    command.main([*given, "--inner", *([] if "--tables" in given else ["--tables", "choose"])], {**variants, **peers})


if __name__ == "__main__":
    main()
