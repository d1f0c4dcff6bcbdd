"""A folder in which trained networks are kept as they are done, so that a fit that was stopped goes on where it was.

A network is found again by a digest of all that it depends on: its mask, the rows, the options, the seed and the instruction set.
So a folder never gives a network that the fit would not have trained itself, and the result is the same to the last bit.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import extranets.engine._native as _native
from extranets import _atomic
from extranets._warnings import warn_user
from extranets.engine.native import TrainingDiverged
from extranets.engine.options import Trained, Training
from extranets.engine.shards import Assembly, Piece, Shard, blocks_of
from extranets.networks import Ensemble, Members

FORMAT = b"extranets networks, 1"  # a part of every digest
SUFFIX = ".networks"
OF_MEMBERS = [each.name for each in fields(Trained) if each.name not in ("ensemble", "loss_curve")]

_active: ContextVar[Checkpoint | None] = ContextVar("extranets_checkpoint", default=None)


class Checkpoint:
    """Networks in a folder, which is made where it is missing.

    Raises
    ------
    OSError
        If the folder cannot be made or written to.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"checkpoint must be a folder, and {self.folder} is a file.")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._known: dict[bytes, tuple[_File, int]] = {}  # in which file a network is, and in which place
        self._digests: list[list[bytes]] = []  # of the trainings that were given last
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            self._known.update(_read(path))

    @staticmethod
    def active() -> Checkpoint | None:
        """That of the fit that is going on."""
        return _active.get()

    def take_known(self, trainings: Sequence[Training], device: str) -> tuple[Assembly, list[Piece]]:
        """What the folder holds of these trainings, and what is still to be trained."""
        assembly, wanted = Assembly(trainings), []
        self._digests = [digests(training, device) for training in trainings]
        for number, names in enumerate(self._digests):
            known = np.array([name in self._known for name in names], dtype=bool)
            for place in np.flatnonzero(known).tolist():
                file, row = self._known[names[place]]
                assembly.add(
                    Piece(number, np.array([place])), file.network(row, trainings[number].members[place : place + 1])
                )
            if not len(known) or not known.all():
                wanted.append(Piece(number, np.flatnonzero(~known)))
        return assembly, wanted

    def keep(self, shard: Shard, found: Sequence[Trained | TrainingDiverged]) -> None:
        """Write what a shard of the trainings given last has found. What diverged is tried again another time."""
        pairs = [
            (piece, one)
            for piece, one in zip(shard, found, strict=True)
            if isinstance(one, Trained) and len(piece.members)
        ]
        if not pairs:
            return
        names = [self._digests[piece.training][place] for piece, _ in pairs for place in piece.members]
        content = BytesIO()
        arrays: dict[str, Any] = _arrays(pairs)
        np.savez(content, digests=np.array([np.frombuffer(name, np.uint8) for name in names]), **arrays)
        _atomic.write(self.folder / f"{names[0].hex()}{SUFFIX}", [content.getbuffer()])


@contextmanager
def keeping(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Networks that are trained within the block are kept in a folder, and those that it holds already are not trained again.

    None changes nothing.
    """
    if folder is None:
        yield
        return
    token = _active.set(Checkpoint(folder))
    try:
        yield
    finally:
        _active.reset(token)


# -- digests -----------------------------------------------------------------------------------------------------------


def digests(training: Training, device: str) -> list[bytes]:
    """One for each member, of all that its training depends on."""
    common = hashlib.blake2b(FORMAT, digest_size=32)
    data, members = training.data, training.members
    where = device if device != "cpu" else _native.active_variant()
    for part in (where, members.architecture, training.options, training.seed):
        _update(common, part)
    for name in ("X", "y", "weight", "counts", "adversarial"):
        _update(common, getattr(data, name))
    found = []
    for place in range(len(members)):
        digest = common.copy()
        sample = -1 if data.count_rows is None else int(data.count_rows[place])
        for part in (int(members.ids[place]), members.masks[place], sample):
            _update(digest, part)
        found.append(digest.digest())
    return found


def _update(digest: Any, value: Any) -> None:
    """Numbers, texts, arrays, and what is made of them."""
    if is_dataclass(value):
        for each in fields(value):
            _update(digest, getattr(value, each.name))
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str} {value.shape};".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, tuple | list):
        digest.update(f"{len(value)} of;".encode())
        for each in value:
            _update(digest, each)
    else:
        digest.update(f"{type(value).__name__} {value!r};".encode())


# -- files -------------------------------------------------------------------------------------------------------------


def _arrays(pairs: Sequence[tuple[Piece, Trained]]) -> dict[str, npt.NDArray]:
    """What is written, with an entry for each network."""
    found = [trained for _, trained in pairs]
    parameters = [block for each in found for block in blocks_of(each.ensemble)]
    curves = [curve for each in found for curve in each.loss_curve]
    return {
        "parameters": np.concatenate(parameters),
        "parameters_ends": np.cumsum([len(each) for each in parameters]),
        "curves": np.concatenate(curves),
        "curves_ends": np.cumsum([len(each) for each in curves]),
        **{name: np.concatenate([getattr(each, name) for each in found]) for name in OF_MEMBERS},
    }


class _File:
    """What a file holds."""

    def __init__(self, path: Path) -> None:
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        self.digests = [row.tobytes() for row in arrays["digests"]]
        self.parameters, self.curves = (
            np.split(arrays[name], arrays[f"{name}_ends"][:-1]) for name in ("parameters", "curves")
        )
        self.of_members = {name: arrays[name] for name in OF_MEMBERS}

    def network(self, row: int, member: Members) -> Trained:
        """One network. Its digest says that it belongs to this member."""
        values = {name: values[[row]] for name, values in self.of_members.items()}
        return Trained(Ensemble(member, self.parameters[row]), self.curves[row][None], **values)


def _read(path: Path) -> dict[bytes, tuple[_File, int]]:
    """Where to find the networks of a file, by their digests; of a damaged one nothing, with a warning."""
    try:
        file = _File(path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        warn_user(f"{path} is damaged ({error}); its networks are trained again.")
        return {}
    return {digest: (file, row) for row, digest in enumerate(file.digests)}
