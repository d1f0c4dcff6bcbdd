"""Bytes: a valid safetensors file, written completely or not at all, and refused when anything in it is wrong."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from extranets.model_file import ModelFileError, container
from tests.model_file.forging import START, sign

ARRAYS = {
    "flags": np.array([True, False, True]),
    "weights": np.array([[1.5, -0.0], [np.nan, np.inf]], dtype=np.float32),
    "empty": np.empty((3, 0), dtype=np.int32),
    "point": np.array(7, dtype=np.uint16),
    "doubles": np.arange(6.0).reshape(2, 3).T,  # not contiguous
    **{str(np.dtype(kind)): np.array([0, 1, 100]).astype(kind) for kind in container.CODES},
}


@pytest.fixture
def path(tmp_path):
    container.write(tmp_path / "model.xnet", '{"a": 1}', ARRAYS)
    return tmp_path / "model.xnet"


def header_of(**changes):
    """The text of a header with one array of four bytes, changed."""
    metadata = {"format": "extranets", "sha256": "0" * 64, "version": "1", "model": "{}"} | changes.pop("metadata", {})
    entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} | changes
    return json.dumps({"__metadata__": metadata, "a": entry}, separators=(",", ":")).encode()


def refused(tmp_path, data, message):
    (tmp_path / "bad.xnet").write_bytes(data)
    with pytest.raises(ModelFileError, match=message):
        container.read(tmp_path / "bad.xnet")


# -- what is written ---------------------------------------------------------------------------------------------------


def test_arrays_come_back_with_all_their_bits(path):
    header, arrays = container.read(path)
    assert header.model == '{"a": 1}' and header.version == 1 and arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].tobytes() == array.tobytes() and arrays[name].shape == array.shape
        assert arrays[name].dtype == array.dtype
        assert arrays[name].flags.writeable and arrays[name].flags.aligned and arrays[name].flags.c_contiguous


def test_the_safetensors_package_reads_it(path):
    arrays = safetensors.numpy.load_file(path)
    assert arrays.keys() == ARRAYS.keys()
    assert all(arrays[name].tobytes() == array.tobytes() for name, array in ARRAYS.items())
    with safetensors.safe_open(path, framework="np") as file:
        assert file.metadata()["format"] == "extranets" and file.metadata()["version"] == "1"


def test_the_same_contents_make_the_same_bytes(path, tmp_path):
    container.write(tmp_path / "again.xnet", '{"a": 1}', ARRAYS)
    assert path.read_bytes() == (tmp_path / "again.xnet").read_bytes()


def test_the_header_can_be_read_alone(path):
    places = container.read_header(path).places
    assert places["weights"].shape == (2, 2) and places["weights"].n_bytes == 16


@pytest.mark.parametrize("allowed", [len(ARRAYS), len(ARRAYS) - 1])
def test_as_many_arrays_as_allowed_are_written_and_read(allowed, path, monkeypatch):
    monkeypatch.setattr(container, "MOST_ARRAYS", allowed)
    if allowed == len(ARRAYS):
        container.write(path, "{}", ARRAYS)
        assert container.read(path)[1].keys() == ARRAYS.keys()
    else:
        with pytest.raises(ModelFileError, match="more than"):
            container.read(path)
        with pytest.raises(ValueError, match="too intricate"):
            container.write(path, "{}", ARRAYS)


def test_too_many_arrays_or_too_long_a_header_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="too intricate"):
        container.write(tmp_path / "a", "{}", {str(i): np.zeros(0) for i in range(container.MOST_ARRAYS + 1)})
    with pytest.raises(ValueError, match="too intricate"):
        container.write(tmp_path / "a", " " * container.MOST_HEADER, {})
    assert not list(tmp_path.iterdir())


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_flipped_bit_is_found_wherever_it_is(tmp_path):
    container.write(tmp_path / "small", '{"a": 1}', {"flags": ARRAYS["flags"]})
    data = (tmp_path / "small").read_bytes()
    for position in range(0, 8 * len(data), 5):  # in every byte, another bit each time
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        refused(tmp_path, flipped, ".")


def test_every_truncation_is_found(path, tmp_path):
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        refused(tmp_path, data[:length], "truncated|empty")
    refused(tmp_path, data + b"\0", "too long")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"abc", "not an extranets model"),
        (b"x,y\n1,2\n3,4\n" * 20, "not an extranets model"),
        (b"\x80\x04\x95" + b"\0" * 200, "not an extranets model"),
        (safetensors.numpy.save({"a": np.zeros(3)}), "another safetensors file"),
        (safetensors.numpy.save({"a": np.zeros(3)}, {"format": "extranets"}), "another safetensors file"),
        (b"\0" * 100, "not an extranets model"),
    ],
)
def test_files_of_another_kind_are_refused(data, message, tmp_path):
    refused(tmp_path, data, message)


def test_folders_and_pipes_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="is a folder"):
        container.read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not an ordinary file"):
        container.read(tmp_path / "pipe")  # and does not wait for a writer
    with pytest.raises(FileNotFoundError):
        container.read(tmp_path / "missing")


def test_the_forged_header_is_a_valid_one(tmp_path):
    """So that the cases below fail for the reason they name."""
    (tmp_path / "good").write_bytes(sign(header_of(), b"\0\0\x80\x3f"))
    assert container.read(tmp_path / "good")[1]["a"].tolist() == [1.0]


@pytest.mark.parametrize("version", ["2", "0", "", "1.0", "99999999999999999999999"])
def test_other_versions_are_refused(version, tmp_path):
    refused(tmp_path, sign(header_of(metadata={"version": version}), b"\0" * 4), "format version .* newer extranets")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "F16"}, "unknown type"),
        ({"dtype": "O"}, "unknown type"),
        ({"dtype": ["F32"]}, "unknown type"),
        ({"dtype": "F64"}, "does not stand where"),
        ({"shape": [2]}, "does not stand where"),
        ({"shape": [-1]}, "no valid shape"),
        ({"shape": [1.0]}, "no valid shape"),
        ({"shape": [True]}, "no valid shape"),
        ({"shape": 1}, "no valid shape"),
        ({"shape": [1] * 9}, "no valid shape"),
        ({"shape": [2**40]}, "larger than the file"),
        ({"shape": [2**62, 2**62]}, "larger than the file"),
        ({"shape": [0, 2**62], "data_offsets": [0, 0]}, "larger than the file"),
        ({"data_offsets": [0, 8]}, "does not stand where"),
        ({"data_offsets": [-4, 0]}, "does not stand where"),
        ({"data_offsets": [1, 5]}, "does not stand where"),
        ({"data_offsets": None}, "does not stand where"),
        ({"shape": [0], "data_offsets": [0, 0]}, "too long"),
        ({"extra": 1}, "malformed"),
        ({"metadata": {"model": 5}}, "metadata"),
        ({"metadata": {"extra": "x"}}, "metadata"),
        ({"dtype": "BOOL", "shape": [4]}, "neither true nor false"),
    ],
)
def test_headers_with_wrong_contents_are_refused(changes, message, tmp_path):
    refused(tmp_path, sign(header_of(**changes), b"\x02\0\0\0"), message)


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (b'","version":"1","model":"{}"},"a":1,"a":2}', "a key twice"),
        (b'","version":"1","model":"{}"},"a":NaN}', "NaN"),
        (b'","version":"1","model":"{}"},"a":1e999}', "too large"),
        (b'","version":"1","model":"{}"},"a":' + b"9" * 5000 + b"}", "too large"),
        (b'","version":"1","model":"{}"},"a":0.' + b"9" * 5000 + b"}", "too large"),
        (b'","version":"1","model":"{}"},"a":18446744073709551616}', "too large"),
        (b'","version":"1","model":"{}"},"a":' + b"[" * 100_000, "nested too deeply"),
        (b'","version":"1","model":"{}"},"a":' + b"[" + b"{}," * 1_000_000 + b"0]}", "more than 1,000,000 values"),
        (b'","version":"1","model":"{}"}', "not valid JSON"),
        (b'","version":"1","model":"{}"},"\xff":1}', "not text"),
        (b'","version":"1","model":"{}"},"a":7}', "malformed"),
    ],
)
def test_dangerous_json_is_refused(tail, message, tmp_path):
    refused(tmp_path, sign(START + b"0" * 64 + tail), message)


def test_a_header_beyond_the_limit_is_refused_unread(tmp_path):
    header = header_of()
    longest = header + b" " * (container.MOST_HEADER - len(header))
    (tmp_path / "good").write_bytes(sign(longest, b"\0" * 4))
    assert container.read(tmp_path / "good")[0].model == "{}"
    refused(tmp_path, sign(longest + b" ", b"\0" * 4), "not an extranets model")
