"""JSON that holds no surprises: no duplicate keys, no NaN, no huge numbers, no half letters, no bombs."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from extranets.model_file.errors import ModelFileError

MOST_VALUES = 1_000_000  # a value of one or two characters can take Python a hundred bytes
INTEGERS = range(-(2**63), 2**64)
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # a half of a letter beyond 16 bits, as ASCII writes it


def dumps(value: Any) -> str:
    """Compact ASCII. The same value always gives the same text."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    if _n_values(text) > MOST_VALUES:
        raise ValueError(
            f"The model is too intricate for a file: beside arrays it has more than {MOST_VALUES:,} values."
        )
    if not _is_unicode(value, text):
        raise ValueError("A text holds half of a letter (a lone surrogate), which is not valid Unicode.")
    return text


def loads(text: str) -> Any:
    if _n_values(text) > MOST_VALUES:
        raise ModelFileError(f"its header has more than {MOST_VALUES:,} values")
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ModelFileError("its header is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ModelFileError(f"its header is not valid JSON ({error})") from None
    if not _is_unicode(value, text):
        raise ModelFileError("its header holds half of a letter (a lone surrogate), which is not valid Unicode")
    return value


def _n_values(text: str) -> int:
    """At least as many as the text holds."""
    return sum(text.count(sign) for sign in ",[{")


def _is_unicode(value: Any, text: str) -> bool:
    """Whether all texts of the value, which ``text`` holds in ASCII, can be printed and written to files."""
    if SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("its header holds a key twice")
    return found


def _integer(text: str) -> int:
    # The length comes first: reading a number of a million digits takes long.
    if len(text) > 20 or int(text) not in INTEGERS:
        raise ModelFileError(f"its header holds an integer that is too large ({text[:20]}...)")
    return int(text)


def _float(text: str) -> float:
    value = float(text) if len(text) < 40 else math.inf
    if not math.isfinite(value):
        raise ModelFileError(f"its header holds a number that is too large ({text[:20]})")
    return value


def _refuse_constant(text: str) -> None:
    raise ModelFileError(f"its header holds {text}, which is not JSON")
