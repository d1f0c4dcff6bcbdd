"""What is tried: one parameter after the other, each from the best that was found before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Candidate = dict[str, Any]  # parameters that differ from the default's

DEFAULT: Candidate = {}

EFFORTS = {"low": 1.0, "medium": 2.0, "high": 4.0}  # and what they cost, roughly; tables differ by a lot
KEEP_PROBS = (0.75, 0.6, 1.0)
MORE_FOLDS, MOST_FOLDS = 2, 20  # times as many, and no more than so many: a model of each fold predicts
MEMBERS = (2, 4)  # each doubles the size of the model; beyond, hardly anything is gained

# In the order of what they bring for their time. The last ones always bring a little, the others on some tables a lot.
SEARCHED = ("effort", "keep_prob", "n_folds", "members_per_fold")


def values(name: str, default: Mapping[str, Any], n_folds: int, n_rows: int) -> list[Any]:
    """Values of a parameter to try instead of the default's.

    Parameters
    ----------
    default : the default's parameters
    n_folds : what "auto" stands for

    Examples
    --------
    >>> values("n_folds", {"n_folds": "auto"}, n_folds=7, n_rows=1000), values("n_folds", {"n_folds": "auto"}, 7, 7)
    ([14], [])
    """
    if name == "n_folds":
        more = min(MORE_FOLDS * n_folds, MOST_FOLDS, n_rows)
        return [more] if more > n_folds else []
    known = {"effort": ("high",), "keep_prob": KEEP_PROBS, "members_per_fold": MEMBERS}
    return [value for value in known[name] if value != default[name]]


def steps(
    default: Mapping[str, Any], fixed: Mapping[str, Any], n_folds: int, n_rows: int
) -> Iterator[tuple[str, list[Any]]]:
    """Parameters that are not fixed, with the values to try."""
    for name in SEARCHED:
        if name not in fixed:
            yield name, values(name, default, n_folds, n_rows)


def cost(parameters: Mapping[str, Any], n_folds: int) -> float:
    """What a fit takes, in a unit that does not depend on the parameters. A rough figure: it says what is begun at all.

    Parameters
    ----------
    n_folds : what "auto" stands for

    Examples
    --------
    >>> usual = {"effort": "medium", "n_folds": "auto", "members_per_fold": 1}
    >>> cost({**usual, "members_per_fold": 4}, 5) / cost(usual, 5)
    4.0
    """
    folds = n_folds if parameters["n_folds"] == "auto" else parameters["n_folds"]
    return EFFORTS[parameters["effort"]] * float(folds * parameters["members_per_fold"])
