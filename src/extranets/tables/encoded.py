"""From the columns of a table in memory to the numbers that a regressor takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas
from sklearn.utils.validation import check_array, check_consistent_length

from extranets._sklearn import check_weight
from extranets.parting import Parting
from extranets.tables.encoding import column_transformer, number_features
from extranets.tables.levels import LevelEffects, learn_levels
from extranets.tables.notes import Notes
from extranets.tables.schema import Schema

MOST_BLOCK_ROWS = 65_536


def learn_encoding(
    schema: Schema, frame: pandas.DataFrame, y: Any, sample_weight: Any, parting: Parting | None
) -> tuple[dict[str, LevelEffects], Any, pandas.DataFrame]:
    """What is learned from the target, the transformer for new rows, and the encoded training rows."""
    many = schema.learned
    if not many:
        transformer = column_transformer(schema)
        return {}, transformer, encode(schema, transformer, frame, Notes(), strict=False)
    rest = [column for column in schema.columns if column.name not in {one.name for one in many}]
    others = pandas.DataFrame(index=frame.index)
    if rest:
        others = encode(schema.part(rest), column_transformer(schema.part(rest)), frame, Notes(), strict=False)
    target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    check_consistent_length(frame, target)
    weight = check_weight(sample_weight, target)
    table = schema.part(many).read(frame)
    levels, found = learn_levels(many, table, others, number_features(schema), target, weight, parting)
    transformer = column_transformer(schema, levels)
    encoded = pandas.DataFrame(np.hstack([others.to_numpy(), found]), frame.index, transformer.get_feature_names_out())
    encoded.attrs.update(frame.attrs)
    return levels, transformer, encoded


def encode(schema: Schema, transformer: Any, frame: pandas.DataFrame, notes: Notes, strict: bool) -> pandas.DataFrame:
    """Block by block, so that only the result is wide."""
    names = transformer.get_feature_names_out()
    encoded = np.empty((len(frame), len(names)))
    begin = 0
    for block in blocks_of(frame, MOST_BLOCK_ROWS):
        encoded[begin : begin + len(block)] = transformer.transform(schema.read(block, notes, strict=strict))
        begin += len(block)
    found = pandas.DataFrame(encoded, index=frame.index, columns=names, copy=False)
    found.attrs.update(frame.attrs)
    return found


def blocks_of(frame: pandas.DataFrame, n_rows: int) -> Iterator[pandas.DataFrame]:
    for begin in range(0, len(frame), n_rows):
        yield frame.iloc[begin : begin + n_rows]
