"""What a network and an ensemble of them are: shapes, Bernoulli masks, and stacked parameters."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from extranets._arrays import Float32
from extranets._random import Purpose, uniforms
from extranets.encodings import Encoding
from extranets.model_file import require, storable

MOST_LAYERS = 63  # hidden ones: the engine's tables have a fixed size
MOST_UNITS = 2**31 - 1  # of a layer: the engine counts in 32 bits


@storable("Architecture")
@dataclass(frozen=True)
class Architecture:
    """The original network, before thinning.

    ``n_heads`` is what the network puts out: ``n_outputs`` means, and as many log-variances under the Gaussian loss.
    ``n_inputs`` counts the columns of the table; the first layer also reads what ``encoding`` makes of them.
    """

    n_inputs: int
    hidden: tuple[int, ...]
    n_outputs: int
    n_heads: int
    encoding: Encoding | None = None

    @property
    def learns_noise(self) -> bool:
        return self.n_heads > self.n_outputs

    @property
    def n_first(self) -> int:
        """Inputs of the first layer: the table's columns, and what the encoding adds."""
        return self.n_inputs + (0 if self.encoding is None else int(self.encoding.n_entries.sum()))

    def layer_sizes(self, widths: npt.ArrayLike) -> list[tuple[int, int]]:
        """``(inputs, outputs)`` of each layer of a member that kept ``widths`` units."""
        sizes = [self.n_first, *np.asarray(widths, dtype=int).tolist(), self.n_heads]
        return list(itertools.pairwise(sizes))

    def n_parameters(self, widths: npt.ArrayLike) -> int:
        return sum(n_in * n_out + n_out for n_in, n_out in self.layer_sizes(widths))

    def _check_stored(self) -> None:
        ends = (self.n_inputs, self.n_outputs, self.n_heads)
        require(all(type(size) is int for size in ends), "numbers of inputs, outputs and heads must be plain integers")
        require(
            all(1 <= size <= MOST_UNITS for size in (*ends, *self.hidden)), "a layer without units, or with too many"
        )
        require(len(self.hidden) <= MOST_LAYERS, f"more than {MOST_LAYERS} hidden layers")
        if self.encoding is not None and len(self.encoding.columns):
            require(self.encoding.columns[-1] < self.n_inputs, "the encoding names columns that are not there")
        require(self.n_heads in (self.n_outputs, 2 * self.n_outputs), "n_heads is neither n_outputs nor twice that")


@storable("Members")
@dataclass(frozen=True)
class Members:
    """Which members there are and which hidden units each of them kept.

    A masked unit is removed, not multiplied by zero: a member is fully described by its widths, and a smaller keep
    probability means less work.

    Shapes: ``ids (m,)``, ``widths (m, n_hidden_layers)``, ``masks (m, n_hidden_units)``.
    """

    architecture: Architecture
    ids: npt.NDArray[np.uint32]
    widths: npt.NDArray[np.int32]
    masks: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of parameters of each member. Shape: ``(m,)``."""
        a = self.architecture
        first, last = (np.full((len(self), 1), n, dtype=np.int64) for n in (a.n_first, a.n_heads))
        units = np.hstack([first, self.widths, last])
        return ((units[:, :-1] + 1) * units[:, 1:]).sum(axis=1)

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each member's parameters begin in the stacked array; one entry more than members."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def n_parameters(self) -> int:
        """Number of parameters of all members together."""
        return sum(self.sizes.tolist())

    def __getitem__(self, rows: slice | npt.NDArray[np.generic]) -> Members:
        return Members(self.architecture, self.ids[rows], self.widths[rows], self.masks[rows])

    def __add__(self, other: Members) -> Members:
        return Members(
            self.architecture,
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.widths, other.widths]),
            np.concatenate([self.masks, other.masks]),
        )

    def _check_stored(self) -> None:
        n, hidden = len(self), self.architecture.hidden
        require(self.ids.shape == (n,) and n >= 1, "ids must have one axis and an entry")
        require(self.widths.shape == (n, len(hidden)), "widths do not fit the architecture")
        n_units = sum(int(size) for size in hidden)  # NumPy's small integers would overflow
        require(self.masks.shape == (n, n_units), "masks do not fit the architecture")
        require((self.widths == kept_units(self.masks, hidden)).all(), "widths do not fit the masks")
        require((self.widths >= 1).all(), "a hidden layer without units")


@storable("Ensemble")
@dataclass(frozen=True)
class Ensemble:
    """Trained members. ``parameters`` holds, member after member and layer after layer, weights in C order, then biases."""

    members: Members
    parameters: Float32

    def __len__(self) -> int:
        return len(self.members)

    @property
    def parameters_per_output(self) -> float:
        """How many parameters a member has for each output, on average."""
        return len(self.parameters) / len(self) / self.members.architecture.n_outputs

    def __getitem__(self, rows: slice) -> Ensemble:
        start, stop, _ = rows.indices(len(self))
        offsets = self.members.offsets
        return Ensemble(self.members[start:stop], self.parameters[offsets[start] : offsets[stop]])

    def __add__(self, other: Ensemble) -> Ensemble:
        return Ensemble(self.members + other.members, np.concatenate([self.parameters, other.parameters]))

    def _check_stored(self) -> None:
        require(self.parameters.shape == (self.members.n_parameters,), "parameters do not fit the members' widths")
        require(np.isfinite(self.parameters).all(), "parameters are not finite")


def kept_units(masks: npt.NDArray[np.bool_], hidden: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """Units that each mask leaves in each hidden layer. Shape: ``(m, n_hidden_units)`` -> ``(m, n_hidden_layers)``."""
    widths = np.empty((len(masks), len(hidden)), dtype=np.int32)
    borders = np.cumsum([0, *hidden]).tolist()
    for layer, (begin, end) in enumerate(itertools.pairwise(borders)):
        widths[:, layer] = masks[:, begin:end].sum(axis=1)
    return widths


MAX_MASK_DRAWS = 1000


def draw_members(
    architecture: Architecture, keep_prob: float, seed: int, ids: npt.ArrayLike, *, null: str = "redraw"
) -> Members:
    """Draw one fixed Bernoulli mask per member.

    A mask that leaves a hidden layer without units makes a network that ignores its input (a null member). With
    ``null="redraw"`` such masks are drawn again; with ``"drop"`` the members are left out.

    Shape: ids ``(m,)``.
    """
    ids = np.asarray(ids, dtype=np.uint32)
    n_units = sum(architecture.hidden)
    masks = np.empty((len(ids), n_units), dtype=bool)
    widths = np.empty((len(ids), len(architecture.hidden)), dtype=np.int32)
    todo = np.arange(len(ids))
    for attempt in range(MAX_MASK_DRAWS):
        masks[todo] = uniforms(seed, ids[todo], Purpose.MASK, n_units, attempt=attempt) < keep_prob
        widths[todo] = kept_units(masks[todo], architecture.hidden)
        todo = np.flatnonzero((widths == 0).any(axis=1))
        if len(todo) == 0 or null == "drop":
            break
    else:
        raise ValueError(
            f"keep_prob={keep_prob} removes all units of a hidden layer in nearly every mask of a network with "
            f"hidden_layer_sizes={architecture.hidden}; use a larger keep_prob or wider layers."
        )
    alive = (widths > 0).all(axis=1)
    return Members(architecture, ids[alive], widths[alive], masks[alive])
