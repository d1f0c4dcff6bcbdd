"""Take model files apart and put them together again with a correct digest, as an attacker would."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

START = b'{"__metadata__":{"format":"extranets","sha256":"'


@dataclass
class Parts:
    """The metadata without the model, the table of arrays, the model as a tree, and the arrays' bytes."""

    metadata: dict
    table: dict
    model: dict
    body: bytes

    @property
    def stored(self):
        return self.model["stored"]

    def get(self, path):
        """The tree at the end of this way through fields, dicts and lists: ``model.source.ensemble``."""
        tree = self.stored
        for name in path.split("."):
            entries = _entries(tree)
            tree = entries[int(name) if isinstance(entries, list) else name]
        return tree

    def put(self, path, tree):
        """Another tree at the end of the way; None of a dict's entries need be there yet."""
        way, _, name = path.rpartition(".")
        parent = self.get(way) if way else self.stored
        entries = _entries(parent)
        entries[int(name) if isinstance(entries, list) else name] = tree
        if "dict" in parent:
            parent["dict"] = list(map(list, entries.items()))

    def drop(self, path):
        way, _, name = path.rpartition(".")
        parent = self.get(way) if way else self.stored
        entries = _entries(parent)
        del entries[name]
        if "dict" in parent:
            parent["dict"] = list(map(list, entries.items()))

    def array(self, name):
        begin, end = self.table[name]["data_offsets"]
        dtype = {"F": "f", "I": "i", "U": "u", "B": "?"}[self.table[name]["dtype"][0]]
        size = "" if dtype == "?" else str(int(self.table[name]["dtype"][1:]) // 8)
        return np.frombuffer(self.body[begin:end], dtype=f"{dtype}{size}").reshape(self.table[name]["shape"]).copy()

    def set_array(self, name, array):
        """Replace an array. The new one may have another shape or type."""
        arrays = {key: self.array(key) for key in self.table}
        arrays[name] = array
        self.body, begin = b"", 0
        for key, values in arrays.items():
            code = "BOOL" if values.dtype == bool else f"{values.dtype.kind.upper()}{8 * values.dtype.itemsize}"
            end = begin + values.nbytes
            self.table[key] = {"dtype": code, "shape": list(values.shape), "data_offsets": [begin, end]}
            self.body, begin = self.body + values.tobytes(), end


def _entries(tree):
    """What a tree holds, by name or position. Those of a dict are a copy."""
    if isinstance(tree, dict) and "object" in tree:
        return tree["object"][1]
    return dict(tree["dict"]) if isinstance(tree, dict) and "dict" in tree else tree


def take_apart(data):
    length = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + length])
    metadata = table.pop("__metadata__")
    return Parts(metadata, table, json.loads(metadata.pop("model")), data[8 + length :])


def put_together(parts):
    metadata = {**parts.metadata, "sha256": "0" * 64, "model": json.dumps(parts.model)}
    return sign(json.dumps({"__metadata__": metadata, **parts.table}, separators=(",", ":")).encode(), parts.body)


def sign(header, body=b""):
    """A file with this header, into which the digest is written."""
    data = len(header).to_bytes(8, "little") + header + body
    digest = hashlib.sha256(data).hexdigest().encode()
    begin = 8 + len(START)
    return data[:begin] + digest + data[begin + 64 :]


# -- changes, as functions of the parts --------------------------------------------------------------------------------


def array(name, change):
    """Puts ``change(array)`` in the place of an array."""
    return lambda parts: parts.set_array(name, change(parts.array(name)))


def put(path, tree):
    return lambda parts: parts.put(path, tree)


def drop(path):
    return lambda parts: parts.drop(path)


def with_value(value):
    """Sets the first entry of an array."""

    def change(values):
        values.flat[0] = value
        return values

    return change


def all_of(*changes):
    def change(parts):
        for one in changes:
            one(parts)

    return change


def graft(other, path, to=None):
    """Puts a part of another file, with its arrays, in the place of this one's, or elsewhere."""

    def change(parts):
        parts.put(to or path, json.loads(json.dumps(other.get(path))))
        for name in other.table:
            if name.startswith(path):
                parts.set_array(name, other.array(name))

    return change
