"""Trainings in pieces that may be done anywhere, in any order, and put together again.

No member depends on which others are trained with it, so the result does not depend on the pieces, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.engine.native import TrainingDiverged, diverged_members
from extranets.engine.options import Trained, Training
from extranets.networks import Ensemble

Members = npt.NDArray[np.intp]  # places of members in their training


@dataclass(frozen=True)
class Piece:
    """Some members of one training. Shape: members ``(m,)``, their places among those of the training."""

    training: int
    members: Members

    def of(self, trainings: Sequence[Training]) -> Training:
        """The training of these members alone."""
        whole = trainings[self.training]
        data = whole.data.of_members(self.members)
        return Training(whole.members[self.members], data, whole.options, whole.seed)


Shard = Sequence[Piece]  # what is done in one go


def multiply_adds(training: Training) -> Array:
    """About how many a member needs: forward, backward and the gradients of the weights. Shape: ``(n_members,)``."""
    rows = len(training.data.X) * training.options.n_epochs * training.options.n_starts
    return np.multiply(3.0 * rows, training.members.sizes, dtype=np.float64)


def whole(trainings: Sequence[Training]) -> list[Piece]:
    """All members of all of them."""
    return [Piece(number, np.arange(len(training.members))) for number, training in enumerate(trainings)]


def cut(trainings: Sequence[Training], wanted: Sequence[Piece], most: float) -> list[Shard]:
    """Into shards of about so many multiply-adds or fewer, in order; one member at least. The shards with the most work are first."""
    shards: list[list[Piece]] = []
    amounts: list[float] = []
    for piece in wanted:
        if not len(piece.members):  # of a training without members
            shards.append([piece])
            amounts.append(0.0)
        for member, amount in zip(piece.members, multiply_adds(trainings[piece.training])[piece.members], strict=True):
            if not shards or amounts[-1] + amount > most:
                shards.append([])
                amounts.append(0.0)
            shards[-1].append(Piece(piece.training, np.array([member])))
            amounts[-1] += amount
    order = np.argsort(-np.array(amounts), kind="stable")
    return [merged(shards[i]) for i in order]


def merged(pieces: Iterable[Piece]) -> Shard:
    """One piece for each training."""
    members: dict[int, list[Members]] = {}
    for piece in pieces:
        members.setdefault(piece.training, []).append(piece.members)
    return [Piece(training, np.concatenate(some)) for training, some in members.items()]


class Assembly:
    """The results so far of several trainings."""

    def __init__(self, trainings: Sequence[Training]) -> None:
        self.trainings = trainings
        self.parts: list[list[tuple[Members, Trained]]] = [[] for _ in trainings]
        self.lost: list[list[int]] = [[] for _ in trainings]  # ids of members that diverged

    def add(self, piece: Piece, found: Trained | TrainingDiverged) -> None:
        """The result of one piece."""
        if isinstance(found, TrainingDiverged):
            self.lost[piece.training] += found.members
        else:
            self.parts[piece.training].append((piece.members, found))

    def results(self) -> list[Trained | TrainingDiverged]:
        """What :func:`extranets.engine.train_all` gives."""
        return [self._result(number) for number in range(len(self.trainings))]

    def _result(self, number: int) -> Trained | TrainingDiverged:
        training = self.trainings[number]
        if self.lost[number]:
            ids = [int(i) for i in training.members.ids if i in self.lost[number]]
            return diverged_members(training.members, ids, training.options)
        places = np.concatenate([members for members, _ in self.parts[number]])
        order = np.argsort(places)
        found = [trained for _, trained in self.parts[number]]

        def rows(name: str) -> npt.NDArray:
            return np.concatenate([getattr(each, name) for each in found])[order]

        blocks = [block for each in found for block in blocks_of(each.ensemble)]
        parameters = np.concatenate([np.empty(0, dtype=np.float32), *(blocks[i] for i in order)])
        names = ("loss_curve", "train_loss", "train_r2", "validation_loss", "n_epochs", "n_attempts", "collapsed")
        return Trained(Ensemble(training.members, parameters), **{name: rows(name) for name in names})


def blocks_of(ensemble: Ensemble) -> list[npt.NDArray[np.float32]]:
    """Each member's parameters."""
    return np.split(ensemble.parameters, ensemble.members.offsets[1:-1])
