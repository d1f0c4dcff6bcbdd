"""Names of columns as files give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extranets.tables.errors import Source


def clean_names(names: Sequence[Any], source: Source) -> list[str]:
    """Names without blanks around them. A column without a name is called after its position: ``unnamed_3``.

    Examples
    --------
    >>> clean_names(["", " area ", "rent"], Source("flats.csv"))
    ['unnamed_1', 'area', 'rent']
    """
    texts = ["" if name is None else str(name).strip() for name in names]
    cleaned = [text or f"unnamed_{position}" for position, text in enumerate(texts, start=1)]
    positions: dict[str, list[int]] = {}
    for position, name in enumerate(cleaned, start=1):
        positions.setdefault(name, []).append(position)
    twice = {name: places for name, places in positions.items() if len(places) > 1}
    if twice:
        found = "; ".join(f"{name!r} (columns {', '.join(map(str, places))})" for name, places in twice.items())
        raise source.error(f"the header names a column more than once: {found}. Rename all but one.")
    return cleaned
