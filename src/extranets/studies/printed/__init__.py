"""The paper's printed tables as data: Table 1 (simulation), Table 2 with Section 5.3 (correlation), Table 3 (uci)."""

from __future__ import annotations

import csv
from importlib.resources import files

PLACES = {
    "simulation": "Table 1",
    "correlation": "Section 5.3",
    "correlation_learners": "Table 2",
    "uci": "Table 3",
}


def printed(table: str) -> list[dict[str, str]]:
    """The rows of a printed table, every cell as it is printed.

    Examples
    --------
    >>> printed("uci")[4]["dataset"], printed("uci")[4]["column"], printed("uci")[4]["printed"]
    ('boston', 'extra-nets T=70', '2.80')
    """
    text = files(__package__).joinpath(f"{table}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def half_unit(number: str) -> float:
    """Half a unit of the last printed digit: what rounding may have taken away.

    Examples
    --------
    >>> half_unit("0.08")
    0.005
    """
    return 0.5 * 10.0 ** -len(number.partition(".")[2])
