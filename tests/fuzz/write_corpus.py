"""Writes the corpus that fuzzing starts from, a few files of each kind: python -m tests.fuzz.write_corpus"""

from __future__ import annotations

import json
from pathlib import Path

from tests.model_file.forging import take_apart
from tests.model_file.write_samples import TODAY

CORPUS = Path(__file__).parent / "corpus"
SAMPLES = ("pbp", "table", "mean_variance")
TREES = (
    '{"tuple":[1,"a",null]}', '{"dict":[["a",1],["b",{"float":"nan"}]]}', '{"bytes":"00ff"}', '{"scalar":["F64","0000000000000000"]}',
    '{"object":["Architecture",{"n_inputs":2,"hidden":{"tuple":[3]},"n_outputs":1,"n_heads":1}]}', "[[],{},true,-1.5]",
)  # fmt: skip
TABLES = (
    b"a,b\n1,2\n3,4\n", b'a;b\r\n"1,5";"x\n""y"""\r\n', b"\xef\xbb\xbfname\tvalue\n\t1\nx\t\n", "größe,ort\n1,Köln\n".encode("cp1252"),
    "a,b\n1,2\n".encode("utf-16"), b"sep=;\na;b\n1;2\n", b"a\n\n1\n\n", b"a,b\n1\n", b"sep=\xe9\n\xff\xff\xff",
)  # fmt: skip


def main() -> None:
    for kind in ("container", "codec", "csv"):
        (CORPUS / kind).mkdir(parents=True, exist_ok=True)
    for name in SAMPLES:
        data = (TODAY / f"{name}.xnet").read_bytes()
        (CORPUS / "container" / name).write_bytes(data)
        (CORPUS / "codec" / name).write_text(json.dumps(take_apart(data).stored["parameters"]))
    for number, tree in enumerate(TREES):
        (CORPUS / "codec" / f"tree{number}").write_text(tree)
    for number, table in enumerate(TABLES):
        (CORPUS / "csv" / f"table{number}").write_bytes(table)


if __name__ == "__main__":
    main()
