"""Random damage to model files: blind, or with the digest corrected afterwards."""

from __future__ import annotations

import copy
import json

import numpy as np

from tests.model_file.forging import put_together, take_apart

ODD_VALUES = [
    None, True, False, 0, 1, -1, 2, 3, 7, 63, 64, 255, 2**31 - 1, 2**31, -(2**63), 2**64 - 1, 0.0, -0.0, 0.5, 1e-300, 1e300, "", "a",
    "nan", "F32", "total", "ExtraNetsRegressor", "Ensemble", "../../etc/passwd", [], {}, [[]], {"tuple": []}, {"dict": []},
    {"float": "nan"}, {"float": "inf"}, {"bytes": "00"}, {"scalar": ["I8", "7f"]}, {"scalar": ["F64", "00" * 8]},
    {"object": ["Architecture", {"n_inputs": 2, "hidden": {"tuple": [3]}, "n_outputs": 1, "n_heads": 1}]},
]  # fmt: skip

# -- blind: the digest must detect it ------------------------------------------------------------------------------------


def flip_bits(data, other, rng):
    out = bytearray(data)
    for position in rng.integers(0, 8 * len(data), rng.integers(1, 9)):
        out[position // 8] ^= 1 << position % 8
    return bytes(out)


def truncate(data, other, rng):
    return data[: rng.integers(0, len(data))]


def insert(data, other, rng):
    at = rng.integers(0, len(data) + 1)
    return data[:at] + rng.bytes(rng.integers(1, 64)) + data[at:]


def delete(data, other, rng):
    begin = rng.integers(0, len(data))
    return data[:begin] + data[begin + rng.integers(1, 64) :]


def splice(data, other, rng):
    return data[: rng.integers(0, len(data))] + other[rng.integers(0, len(other)) :]


def overwrite(data, other, rng):
    begin = rng.integers(0, len(data))
    return data[:begin] + rng.bytes(min(rng.integers(1, 64), len(data) - begin)) + data[begin + 64 :]


BLIND = [flip_bits, truncate, insert, delete, splice, overwrite]

# -- with a repaired digest: refused, or a model that works --------------------------------------------------------------


def places(tree):
    """Every place in a tree of JSON, as (container, key)."""
    keys = tree.keys() if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in list(keys):
        yield tree, key
        yield from places(tree[key])


def pick(items, rng):
    return items[rng.integers(0, len(items))]


def copy_of(tree):
    return json.loads(json.dumps(tree))


def odd_value(values, rng):
    """A copy: what is changed in it later must not be in other files, too."""
    return copy.deepcopy(pick(values, rng))


def change_value(parts, other, rng):
    container, key = pick(list(places(parts.model)), rng)
    value = container[key]
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    container[key] = value + pick([-1, 1, 0.5], rng) if numeric and rng.random() < 0.5 else odd_value(ODD_VALUES, rng)


def drop_value(parts, other, rng):
    container, key = pick(list(places(parts.model)), rng)
    del container[key]


def move_value(parts, other, rng):
    """A part of this tree, or of another model's, in the place of another part."""
    container, key = pick(list(places(parts.model)), rng)
    source, name = pick(list(places(pick([parts.model, other.model], rng))), rng)
    container[key] = copy_of(source[name])


def move_part(parts, other, rng):
    """An object of another model, with its arrays, in the place of an object."""
    own = [place for place in places(parts.model) if is_object(place)]
    if not own:  # an earlier mutation left none
        return
    container, key = pick(own, rng)
    source, name = pick([place for place in places(other.model) if is_object(place)], rng)
    container[key] = copy_of(source[name])
    for holder, kind in places({"part": container[key]}):
        array = holder[kind]
        if kind == "array" and isinstance(array, str) and array in other.table:
            parts.set_array(array, other.array(array))


def is_object(place):
    container, key = place
    return isinstance(container[key], dict) and "object" in container[key]


def odd_number(parts, other, rng):
    """One entry of an array that is not what it should be, or all of them."""
    name = pick(list(parts.table), rng)
    array = parts.array(name)
    odd = [0, 1, -1, 2, 255, 2**31 - 1]
    if array.dtype.kind == "f":
        odd += [np.nan, np.inf, -np.inf, 1e-300, 1e300, 1e30, 0.5]
    with np.errstate(over="ignore"):
        value = np.array(pick(odd, rng)).astype(array.dtype)
    flat = array.reshape(-1)
    flat[slice(None) if rng.random() < 0.3 or not len(flat) else rng.integers(len(flat))] = value
    parts.set_array(name, array)


def rename_key(parts, other, rng):
    container, key = pick([place for place in places(parts.model) if isinstance(place[0], dict)], rng)
    container[pick(["predict", "__class__", "tuple", "dict", "object", "array", "hidden"], rng)] = container.pop(key)


def change_table(parts, other, rng):
    container, key = pick(list(places(parts.table)), rng)
    container[key] = odd_value([*ODD_VALUES, *range(12)], rng)


def reshape_array(parts, other, rng):
    """Another shape or type of as many bytes."""
    entry = parts.table[pick(list(parts.table), rng)]
    size = entry["data_offsets"][1] - entry["data_offsets"][0]
    code, item = pick([("F64", 8), ("F32", 4), ("I32", 4), ("U32", 4), ("I64", 8), ("U8", 1), ("BOOL", 1)], rng)
    entry["dtype"] = code
    entry["shape"] = pick([[size // item], [1, size // item], [size // item, 1], entry["shape"][::-1]], rng)


def swap_arrays(parts, other, rng):
    one, two = pick(list(parts.table), rng), pick(list(parts.table), rng)
    first, second = parts.array(one), parts.array(two)
    parts.set_array(one, second)
    parts.set_array(two, first)


def cut_array(parts, other, rng):
    name = pick(list(parts.table), rng)
    array = parts.array(name)
    changed = (
        pick([array[:0], array[:1], array[1:], array.ravel(), array[None], array.T], rng) if array.ndim else array[None]
    )
    parts.set_array(name, changed.copy())


def change_bytes(parts, other, rng):
    body = bytearray(parts.body)
    for position in rng.integers(0, 8 * len(body), rng.integers(1, 5)):
        body[position // 8] ^= 1 << position % 8
    parts.body = bytes(body)


CONTENTS = [
    change_value, change_value, drop_value, move_value, move_part, rename_key, odd_number, swap_arrays, cut_array, change_bytes,
]  # fmt: skip
TABLE = [change_table, reshape_array]


def blind(data, other, rng):
    return pick(BLIND, rng)(data, other, rng)


def repaired(data, other, rng):
    parts, others = take_apart(data), take_apart(other)
    for _ in range(rng.integers(1, 3)):
        pick(CONTENTS, rng)(parts, others, rng)
    if rng.random() < 0.2:
        pick(TABLE, rng)(parts, others, rng)  # last: afterwards the table of arrays may make no sense
    return put_together(parts)
