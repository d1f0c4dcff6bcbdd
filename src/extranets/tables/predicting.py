"""Predictions as a table: what ``extranets predict`` writes, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas

from extranets.tables.notes import Notes
from extranets.tables.novelty import note_outside, novelty_of
from extranets.tables.predictions import naming_rows
from extranets.tables.regressor import TableRegressor


class NameTakenError(ValueError):
    """A column that is to be kept has the name of a column of predictions."""


def prediction_blocks(
    model: TableRegressor,
    blocks: Iterable[pandas.DataFrame],
    levels: Sequence[float],
    *,
    keep: Sequence[str] = (),
    components: bool = False,
    members: bool = False,
    novelty: bool = False,
    notes: Notes | None = None,
) -> Iterator[pandas.DataFrame]:
    """Predict block after block, so that a table may be larger than memory.

    Parameters
    ----------
    model : fitted to one target
    blocks : data frames with the columns of training; of ``model.block_rows`` rows, say
    levels : coverages of the intervals
    keep : columns of the table that are written before the predictions
    components : whether to add ``epistemic_sd`` and ``aleatoric_sd``
    members : whether to add the prediction of every network, as ``member_0``, ...
    novelty : whether to add how far rows are from those of training: see :meth:`TableRegressor.predict_novelty`
    notes : collects new categories, new gaps and values outside of training; without it every block warns of its own

    Yields
    ------
    DataFrame with the index of the block
        Columns: those that are kept, then ``prediction``, ``sd``, ``lower_90``, ``upper_90``, ...

    Raises
    ------
    NameTakenError
        If a column that is to be kept is called like one of predictions.

    Examples
    --------
    >>> from extranets import ExtraNetsRegressor
    >>> from extranets.data import simulated_rents
    >>> flats = simulated_rents(100, random_state=0)
    >>> model = TableRegressor(ExtraNetsRegressor(3, max_iter=20, random_state=0), kinds={"flat": "ignore"})
    >>> model = model.fit(flats.drop(columns="rent"), flats["rent"])
    >>> (predicted,) = prediction_blocks(model, [flats], [0.8], keep=["flat"])
    >>> predicted.columns.tolist()
    ['flat', 'prediction', 'sd', 'lower_80', 'upper_80']
    """
    for block in blocks:
        own = Notes() if notes is None else notes
        encoded = model.encode(block, own)
        with naming_rows(encoded):
            note_outside(model.schema_, model.regressor_, encoded, own)
            found = _columns(model.regressor_, encoded, levels, components, members, model.beside(block))
            if novelty:
                found["novelty"] = novelty_of(model.schema_, model.regressor_, encoded)
        if notes is None:
            own.warn()
        for position, name in enumerate(keep):
            if name in found.columns[position:]:
                raise NameTakenError(f"{name} is the name of a column that is written; rename it in the table.")
            found.insert(position, name, block[name])
        yield found


def _columns(
    network: Any,
    X: pandas.DataFrame,
    levels: Sequence[float],
    components: bool,
    members: bool,
    beside: dict[str, Any],
) -> Any:
    """A data frame of the predictions alone."""
    parts = network.predict_components(X)
    found = network.predict_interval(X, levels, as_frame=True, **beside)
    found.insert(1, "sd", parts.std)
    if components:
        found["epistemic_sd"], found["aleatoric_sd"] = parts.epistemic**0.5, parts.aleatoric**0.5
    if members:
        for number, values in enumerate(network.predict_members(X)):
            found[f"member_{number}"] = values
    return found
