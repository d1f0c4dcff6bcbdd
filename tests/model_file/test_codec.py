"""Trees: every value comes back with its type and all its bits, and anything else is refused."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extranets.model_file import ModelFileError, registry, require, storable, strict_json
from extranets.model_file.codec import MOST_DEPTH, Decoder, Encoder
from extranets.model_file.typed import check_types, fits


@storable("test.Pair")
@dataclass(frozen=True)
class Pair:
    left: np.ndarray[tuple, np.dtype[np.float32]]
    right: int | None
    added: str = "later"

    def _check_stored(self):
        require(self.left.ndim == 1, "left has more than one axis")


@storable("test.Temperature")
class Temperature:
    """A class with a stored form of its own."""

    def __init__(self, kelvin):
        self.kelvin = kelvin

    def _to_stored(self):
        return {"celsius": self.kelvin - 273}

    @classmethod
    def _from_stored(cls, stored):
        check_types(stored, {"celsius": int})
        return cls(stored["celsius"] + 273)


def through_json(value):
    encoder = Encoder()
    text = strict_json.dumps(encoder.encode(value, "value"))
    decoder = Decoder(encoder.arrays, registry.rebuild)
    return decoder.decode(strict_json.loads(text))


def decode(tree, **arrays):
    return Decoder(arrays, registry.rebuild).decode(tree)


def same(a, b):
    """Equal in type and in bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return same(list(a), list(b)) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats().filter(lambda x: not math.isnan(x))  # NaNs come back as NaN, but not with the same bits
    | st.text()
    | st.binary()
    | st.floats(width=32).map(np.float32)
    | st.integers(-128, 127).map(np.int8)
    | st.booleans().map(np.bool_)
)
KEYS = st.text() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False)
TREES = st.recursive(
    SCALARS,
    lambda t: st.lists(t) | st.lists(t).map(tuple) | st.dictionaries(KEYS, t, max_size=4),
    max_leaves=20,
)


def test_an_alias_of_a_type_is_resolved():
    """NumPy 2.5 makes ``NDArray`` by the statement ``type``, if Python has that."""
    alias = pytest.importorskip("typing_extensions").TypeAliasType
    number = TypeVar("number", bound=np.generic)
    arrays = alias("arrays", np.ndarray[tuple[Any, ...], np.dtype[number]], type_params=(number,))
    single, double = np.zeros(2, dtype=np.float32), np.zeros(2)
    assert fits(single, arrays[np.float32]) and not fits(double, arrays[np.float32])
    assert fits([single], list[arrays[np.float32]]) and not fits([double], list[arrays[np.float32]])
    assert fits(None, arrays[np.float32] | None) and not fits(double, arrays[np.float32] | None)


@given(TREES)
def test_every_tree_comes_back(tree):
    assert same(through_json(tree), tree)


@pytest.mark.parametrize(
    "value",
    [
        -0.0,
        math.inf,
        -math.inf,
        5e-324,
        2**64 - 1,
        np.float64("nan"),
        np.array([np.nan, -0.0]),
        np.array(3, dtype=np.uint8),
        np.empty((0, 2), dtype=bool),
        {1: "int", "1": "text", 2.5: None},
        {0.9: np.arange(3), 0.8: [(), {}, []]},
        {1: np.zeros(1), "1": np.ones(1)},
    ],
)
def test_values_that_json_would_change_come_back(value):
    assert same(through_json(value), value)


def test_nan_comes_back_and_big_endian_arrays_come_back_native():
    assert math.isnan(through_json(math.nan))
    again = through_json(np.arange(3, dtype=">i4"))
    assert again.tolist() == [0, 1, 2] and again.dtype == np.dtype("<i4")


def test_an_array_that_is_met_twice_is_stored_once():
    array = np.arange(3.0)
    encoder = Encoder()
    encoder.encode([array, {"again": array}, array.copy()], "x")
    assert list(encoder.arrays) == ["x.0", "x.2"]
    first, second = through_json([array, array])
    assert first is second


def test_objects_nest_and_check_themselves():
    value = [Temperature(300), {"pair": Pair(np.ones(2, np.float32), None)}]
    again = through_json(value)
    assert again[0].kelvin == 300 and same(again[1]["pair"].left, value[1]["pair"].left)
    with pytest.raises(ValueError, match="more than one axis"):
        Encoder().encode(Pair(np.ones((2, 2), np.float32), None), "x")
    with pytest.raises(ValueError, match="x cannot be stored: left is a float64 array"):
        Encoder().encode(Pair(np.ones(2), None), "x")


def test_a_field_that_an_old_file_lacks_takes_its_default():
    assert decode({"object": ["test.Pair", {"left": {"array": "left"}, "right": 1}]}, left=LEFT).added == "later"


def test_a_subclass_is_another_class():
    class Warm(Temperature):
        pass

    with pytest.raises(TypeError, match=r"x is of .*Warm"):
        Encoder().encode(Warm(300), "x")


@pytest.mark.parametrize(
    "value", [{1, 2}, object(), 1j, lambda: 0, np.array(["a"]), np.array([object()]), {(1,): 2}, {None: 1}]
)
def test_what_cannot_be_stored_is_refused_by_name(value):
    with pytest.raises(TypeError, match=r"here\.0"):
        Encoder().encode([value], "here")


def test_huge_integers_and_endless_trees_cannot_be_stored():
    with pytest.raises(ValueError, match="64 bits"):
        Encoder().encode(2**64, "x")
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested too deeply"):
        Encoder().encode(endless, "x")


LEFT = np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({}, "0 kinds"),
        ({"tuple": [], "dict": []}, "2 kinds"),
        ({"tuple": 1}, "does not hold a list"),
        ({"dict": [[1]]}, "does not hold pairs"),
        ({"dict": [[1, 2], [1, 3]]}, "twice"),
        ({"dict": [[[1], 2]]}, "neither text nor number"),
        ({"dict": [[{"array": "left"}, 2]]}, "neither text nor number"),
        ({"array": "missing"}, "cannot be read"),
        ({"array": ["left"]}, "cannot be read"),
        ({"float": "1.0"}, "cannot be read"),
        ({"float": {}}, "cannot be read"),
        ({"bytes": "0g"}, "bytes that are not written in hex"),
        ({"scalar": ["F64", "00"]}, "with wrong bytes"),
        ({"scalar": ["BOOL", "02"]}, "with wrong bytes"),
        ({"scalar": ["O", "00"]}, "unknown type"),
        ({"scalar": [["F64"], "00"]}, "unknown type"),
        ({"scalar": ["F64"]}, "cannot be read"),
        ({"code": "import os"}, "cannot be read"),
        ({"object": ["os.system", {"command": "true"}]}, "unknown class"),
        ({"object": ["test.Pair"]}, "no class"),
        ({"object": [["test.Pair"], {}]}, "no class"),
        ({"object": ["test.Pair", []]}, "no fields"),
        ({"object": ["test.Pair", {}]}, "missing entries"),
        ({"object": ["test.Pair", {"left": {"array": "left"}, "right": 1, "__class__": 2}]}, "unknown entries"),
        ({"object": ["test.Pair", {"left": {"array": "left"}, "right": "1"}]}, "right is a str"),
        ({"object": ["test.Pair", {"left": {"array": "left"}, "right": True}]}, "right is a bool"),
        ({"object": ["test.Pair", {"left": {"array": "wide"}, "right": 1}]}, "left is a float64 array"),
        ({"object": ["test.Pair", {"left": {"array": "square"}, "right": 1}]}, "more than one axis"),
        ({"object": ["test.Temperature", {"celsius": "warm"}]}, "celsius is a str"),
    ],
)
def test_malformed_trees_are_refused(tree, message):
    with pytest.raises(ModelFileError, match=message):
        decode(tree, left=LEFT, wide=LEFT.astype(float), square=LEFT.reshape(2, 1))


@pytest.mark.parametrize("around", [lambda tree: [tree], lambda tree: (tree,), lambda tree: {"key": tree}])
def test_depth_is_limited_on_both_ways(around):
    tree, more = 0, [0]
    for _ in range(MOST_DEPTH):
        tree, more = around(tree), around(more)
    written = Encoder().encode(tree, "x")
    assert decode(written) == tree
    with pytest.raises(ModelFileError, match="nested too deeply"):
        decode([written])
    with pytest.raises(ValueError, match="nested too deeply"):
        Encoder().encode(more, "x")


@pytest.mark.parametrize("values", [[1, 2, 3], {"a": 1, "b": {"c": 2}}])
def test_no_more_values_are_written_than_are_read(values, monkeypatch):
    text = strict_json.dumps(values)
    monkeypatch.setattr(strict_json, "MOST_VALUES", 3)  # one for each bracket and comma
    assert strict_json.loads(strict_json.dumps(values)) == values
    monkeypatch.setattr(strict_json, "MOST_VALUES", 2)
    with pytest.raises(ModelFileError, match="more than 2 values"):
        strict_json.loads(text)
    with pytest.raises(ValueError, match=r"too intricate for a file.*more than 2 values"):
        strict_json.dumps(values)


def test_depth_counts_in_keys():
    tree = "key"
    for _ in range(10 * MOST_DEPTH):
        tree = {"dict": [[tree, 1]]}
    with pytest.raises(ModelFileError, match="nested too deeply"):
        decode(tree)


def test_a_name_can_be_registered_only_once():
    with pytest.raises(ValueError, match="already"):
        storable("test.Pair")(type("Other", (Temperature,), {}))
    with pytest.raises(TypeError, match="not a dataclass"):
        storable("test.Other")(type("Other", (), {}))


def test_random_states_keep_their_position():
    state = np.random.RandomState(3)
    state.standard_normal(5)  # an odd number: one normal is kept for the next call
    again = through_json(state)
    assert again is not state
    np.testing.assert_array_equal(again.standard_normal(7), state.standard_normal(7))
    with pytest.raises(TypeError, match="PCG64"):
        Encoder().encode(np.random.RandomState(np.random.PCG64(1)), "random_state")


def test_a_random_state_may_be_at_the_beginning_of_its_words():
    state = np.random.RandomState(3)
    kind, key, *_ = state.get_state()
    state.set_state((kind, key, 0, 0, 0.0))
    np.testing.assert_array_equal(through_json(state).standard_normal(7), state.standard_normal(7))


def test_integers_have_64_bits_with_or_without_a_sign():
    for value in (-(2**63), 2**64 - 1):
        assert through_json(value) == value
    for value in (-(2**63) - 1, 2**64):
        with pytest.raises(ValueError, match="more than 64 bits"):
            Encoder().encode(value, "seed")


@pytest.mark.parametrize(
    "change", [{"position": 625}, {"position": -1}, {"has_gauss": 2}, {"key": {"array": "short"}}, {"gauss": None}]
)
def test_malformed_random_states_are_refused(change):
    fields = {"key": {"array": "key"}, "position": 0, "has_gauss": 0, "gauss": 0.0} | change
    with pytest.raises(ModelFileError, match="RandomState"):
        decode({"object": ["RandomState", fields]}, key=np.zeros(624, np.uint32), short=np.zeros(623, np.uint32))


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, int, True),
        (np.int8(1), int, True),
        (1.0, int, False),
        (1, float, True),
        (np.float32(1), float, True),
        ("1", float, False),
        (True, float, False),
        (True, bool, True),
        (1, bool, False),
        ({"a": 1}, dict[str, int], True),
        ({"a": "b"}, dict[str, int], False),
        ({1: 1}, dict[str, int], False),
        ([1, 2], tuple[int, ...], False),
        ((1, "a"), tuple[int, ...], False),
        (b"", bytes, True),
    ],
)
def test_fits_compares_a_value_with_a_type(value, hint, expected):
    assert fits(value, hint) is expected


HALF_LETTERS = ["\ud83d", "\udc00", "a\udfffb", "\ude00\ud83d"]
ESCAPED = ["\\ud800", "\\\\ud800"]  # a backslash and letters, no half of anything


@pytest.mark.parametrize("text", HALF_LETTERS)
@pytest.mark.parametrize("wrapped", [lambda t: t, lambda t: [1, t], lambda t: {"a": [t]}, lambda t: {t: 1}])
def test_half_letters_are_refused_on_saving_and_on_loading(text, wrapped):
    """They would fail where a text is printed or written to a file, long after loading."""
    with pytest.raises(ValueError, match="lone surrogate"):
        strict_json.dumps(wrapped(text))
    with pytest.raises(ModelFileError, match="lone surrogate"):
        strict_json.loads(json.dumps(wrapped(text)))


@pytest.mark.parametrize("text", ["\U0001f600", "Straße", "\ud7ff\ue000", *ESCAPED])
def test_whole_letters_come_back(text):
    assert strict_json.loads(strict_json.dumps([text, {text: 1}])) == [text, {text: 1}]
