"""How a column writes its numbers: decided once, from all training rows. :mod:`extranets.tables.values` has the rules."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extranets.tables.errors import shown
from extranets.tables.rows import Rows
from extranets.tables.values import COMMA, POINT, POINT_GROUPED, as_arrow, fitting_styles, is_text, parse_numbers

SAMPLE = 200  # values of a column that are looked at
SIGNED = r"^[+-]?[$€£¥]\s*[\d.,]|[\d.,]\s*[$€£¥%]$"
# Thousands with spaces or apostrophes, and the longer minus of typesetters.
GROUPED = r"^[+\-\x{2212}]?\d{1,3}([ '\x{2019}\x{a0}\x{202f}]\d{3})+([.,]\d+)?$|^\x{2212}[\d.,]+$"
SIGNS = r"^([+-]?)[$€£¥]\s*|\s*[$€£¥%]$"


def likely_styles(values: pa.Array) -> list[str]:
    """The style that reads most values, and its rival if there is one. Numbers that are not text count as having a point."""
    return fitting_styles(values) if is_text(values.type) else [POINT]


def settled(rows: Rows, name: str, values: pa.Array, styles: list[str], advice: str) -> str:
    """Which of two styles is meant, where both read all values. Refuses the column if nobody can tell."""
    usual = COMMA if rows.source.semicolons else POINT
    if len(styles) == 1 or styles[0] == usual:
        return styles[0]
    if styles[0] == COMMA and _points_elsewhere(rows, name):
        return POINT_GROUPED
    one, other = (parse_numbers(values, style)[0] for style in styles)
    first = int(np.argmax((one != other) & ~np.isnan(one)))
    example = shown(values[first].as_py())
    raise rows.source.error(f"{example} may be {one[first]:.15g} or {other[first]:.15g}. {advice}", column=name)


def _points_elsewhere(rows: Rows, name: str) -> bool:
    """Whether another column holds text with decimal points."""
    some = Rows(rows.frame.drop(columns=name).head(SAMPLE), rows.na_values)
    texts = [other for other in some.frame.columns if is_text(as_arrow(some.frame[other]).type)]
    return any(_has_points(some.values(other)) for other in texts)


def _has_points(values: pa.Array) -> bool:
    if parse_numbers(values)[1].any():
        return False
    return bool(pc.any(pc.match_substring(values, ".")).as_py())


def signed_example(values: pa.Array) -> str | None:
    """A value such as $5 or 12%, if the first values would be numbers without a sign of currency or percent."""
    if not is_text(values.type):
        return None
    sample = values.drop_null().slice(0, SAMPLE)
    signed = sample.filter(pc.match_substring_regex(sample, SIGNED))
    bare = pc.replace_substring_regex(sample, SIGNS, r"\1")
    bad = parse_numbers(bare, fitting_styles(bare)[0])[1]
    return str(signed[0].as_py()) if len(signed) and not bad.any() else None


def grouped_example(text: pa.Array) -> str | None:
    """A value such as 1'234, or one with a typesetter's minus, if all other values are numbers."""
    sample = text.drop_null().slice(0, SAMPLE)
    dressed = pc.match_substring_regex(sample, GROUPED)
    rest = sample.filter(pc.invert(dressed))
    if not pc.any(dressed).as_py() or parse_numbers(rest, fitting_styles(rest)[0])[1].any():
        return None
    return str(sample.filter(dressed)[0].as_py())
