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

    @property
    def learned(self):
        return dict(self.stored["learned"]["dict"])

    def set_learned(self, name, tree):
        self.stored["learned"]["dict"] = list(map(list, (self.learned | {name: tree}).items()))

    def fields(self, path):
        """Fields of the object at this path through the learned attributes, such as ``_fitted.ensemble.members``."""
        first, *rest = path.split(".")
        fields = self.learned[first]["object"][1]
        for name in rest:
            fields = fields[name]["object"][1]
        return fields

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
