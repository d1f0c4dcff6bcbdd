"""Stochastic passes: one network, thinned at random again and again while it predicts."""

from __future__ import annotations

from dataclasses import dataclass

from extranets.engine.options import check_keep


@dataclass(frozen=True)
class Passes:
    """Forward passes with inverted dropout on hidden units and inputs.

    Pass ``p`` uses member ``p mod n_members`` and one mask for all rows, drawn from the stream of ``p``. So a pass has the
    same mask in every call, and more passes keep the earlier ones.

    Attributes
    ----------
    n_passes : int
        How many; at least one.
    dropout_keep : float
        Keep probability of the hidden units, above 0 and at most 1.
    input_keep : float
        The same for the inputs.
    seed : int
        Of the masks.

    Examples
    --------
    >>> Passes(100, dropout_keep=0.9)
    Passes(n_passes=100, dropout_keep=0.9, input_keep=1.0, seed=0)
    """

    n_passes: int
    dropout_keep: float = 1.0
    input_keep: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_passes < 1:
            raise ValueError(f"n_passes must be at least 1, got {self.n_passes}")
        check_keep(self.dropout_keep, self.input_keep)
