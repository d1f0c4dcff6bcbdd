"""With which rows a new row is compared: each tail on its own or both together, the rows of its group, each with its weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.model_file import require, storable
from extranets.parting import group_names
from extranets.uncertainty.conformal import Tails, check_weights

NAMED_GROUPS = 5

Integers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Beside:
    """What is known about rows beside their features: the group of each, and its weight. Shape: weights ``(n,)``."""

    groups: list[str] | None = None
    weights: Array | None = None

    @classmethod
    def of(cls, groups: Any, weights: Any, n_rows: int) -> Beside:
        """What users give, checked. Shapes: ``(n_rows,)``."""
        names = None if groups is None else group_names(groups, n_rows)
        if weights is None:
            return cls(names)
        own = check_weights("weights", weights)
        if len(own) != n_rows:
            raise ValueError(f"weights must have one number for each of the {n_rows} rows; got {len(own)}.")
        return cls(names, own)

    def part(self, rows: slice) -> Beside:
        if self.groups is None and self.weights is None:
            return self
        groups, weights = self.groups, self.weights
        return Beside(None if groups is None else groups[rows], None if weights is None else weights[rows])


NOTHING = Beside()


class Portion(NamedTuple):
    """New rows, and the known rows that they are compared with. Shapes: weights ``(n_known,)``, own ``(n_new,)``, or None."""

    new: slice | Integers
    known: slice | Integers
    weights: Array | None
    own: Array | None
    group: int = 0

    @property
    def weighing(self) -> dict[str, Array | None]:
        """As functions of `uncertainty` take it."""
        return {"weights": self.weights, "new_weights": self.own}


@storable("Strata")
@dataclass(frozen=True)
class Strata:
    """Of known rows. Shapes: group_of_row, weights ``(n,)``; ``names`` are those of the groups, by number."""

    tails: str
    group_of_row: Integers | None = None
    names: list[str] | None = None
    weights: Array | None = None

    @classmethod
    def of(cls, tails: str, groups: Any, weights: Any, n_rows: int) -> Strata:
        """What users give, checked."""
        if tails not in ("joint", "separate"):
            raise ValueError(f"tails must be 'separate' or 'joint'; got {tails!r}.")
        beside = Beside.of(groups, weights, n_rows)
        if beside.weights is not None:
            check_weights("weights", beside.weights, n_rows)
        if beside.groups is None:
            return cls(tails, weights=beside.weights)
        names, number = np.unique(beside.groups, return_inverse=True)
        return cls(tails, number.astype(np.intp), names.tolist(), beside.weights)

    @property
    def as_tails(self) -> Tails:
        found: Literal["joint", "separate"] = "joint" if self.tails == "joint" else "separate"
        return found

    @property
    def plain(self) -> bool:
        """Whether all new rows are compared with all known ones alike."""
        return not self.asks_for

    @property
    def asks_for(self) -> tuple[str, ...]:
        """What must be known about new rows: some of "groups" and "weights"."""
        known = {"groups": self.names, "weights": self.weights}
        return tuple(name for name, values in known.items() if values is not None)

    def check_new(self, beside: Beside) -> None:
        """Refuse, by a ``ValueError``, new rows about which too little is known, or more than was asked for."""
        for name, given in vars(beside).items():
            if (name in self.asks_for) != (given is not None):
                raise ValueError(
                    f"{name} of the new rows are needed, for intervals were made with {name}; pass {name}=."
                    if given is None
                    else f"{name} were given for new rows only; conformalize with {name}, too, or leave them out."
                )

    def portions(self, beside: Beside) -> Iterator[Portion]:
        """Every group of new rows with the rows of the same group. Rows of unknown groups are compared with none."""
        if self.group_of_row is None or self.names is None or beside.groups is None:
            yield Portion(slice(None), slice(None), self.weights, beside.weights)
            return
        numbers = self.numbers(beside.groups)
        for number in np.unique(numbers).tolist():
            new, known = np.flatnonzero(numbers == number), np.flatnonzero(self.group_of_row == number)
            weights = None if self.weights is None else self.weights[known]
            yield Portion(new, known, weights, None if beside.weights is None else beside.weights[new], number)

    def numbers(self, groups: Sequence[str]) -> Integers:
        """Of groups; -1 for one that is not known. Shape: ``(n,)``."""
        known = {name: number for number, name in enumerate(self.names or [])}
        return np.array([known.get(name, -1) for name in groups], dtype=np.intp)

    def rows_of(self, number: int) -> Integers:
        """The known rows of a group."""
        assert self.group_of_row is not None  # for mypy
        return np.flatnonzero(self.group_of_row == number)

    def too_few(self, infinite: npt.NDArray[np.bool_], beside: Beside, n_rows: int) -> str:
        """In words: which rows are too few where bounds are infinite. Shape: infinite ``(n,)``, or ``(1,)`` for all rows."""
        too_few = "are too few" if self.weights is None else "weigh too little beside the heaviest new ones"
        if beside.groups is None or self.names is None or self.group_of_row is None:
            return f"{n_rows} rows {too_few}"
        found = sorted({name for name, each in zip(beside.groups, infinite, strict=True) if each})
        named = ", ".join(repr(name) for name in found[:NAMED_GROUPS]) + (", ..." if len(found) > NAMED_GROUPS else "")
        fewest = min(int((self.group_of_row == number).sum()) for number in self.numbers(found))
        return f"The rows of {'group' if len(found) == 1 else 'groups'} {named} (at least {fewest}) {too_few}"

    def check_stored(self, n_rows: int) -> None:
        """Refuse, by ``ValueError``, what does not go with so many rows."""
        for name in ("group_of_row", "weights"):
            values = getattr(self, name)
            require(values is None or values.shape == (n_rows,), f"{name} does not fit the rows")

    def _check_stored(self) -> None:
        require(self.tails in ("joint", "separate"), "tails of an unknown kind")
        require((self.names is None) == (self.group_of_row is None), "groups without names, or names without groups")
        if self.names is not None and self.group_of_row is not None:
            require(len(set(self.names)) == len(self.names) >= 1, "names of groups are missing or not unique")
            require(self.group_of_row.ndim == 1, "group_of_row has the wrong shape")
            there = (self.group_of_row >= 0) & (self.group_of_row < len(self.names))
            require(bool(there.all()), "group_of_row points at groups that are not there")
        if self.weights is not None:
            check_weights("weights", self.weights, len(self.weights))
