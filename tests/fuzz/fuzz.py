"""Coverage-guided fuzzing with atheris: ``python tests/fuzz/fuzz.py container|codec|csv [libFuzzer's options]``.

    python tests/fuzz/fuzz.py csv tests/fuzz/corpus/csv -max_total_time=1800

The bytes that atheris invents are a model file (container), the JSON of a model (codec), or a CSV file (csv). Only the refusals that
are promised may come out: `ModelFileError` and `TableError`. Anything else ends the run, and the bytes are kept. ``make fuzz`` runs
all three for half an hour each, on copies of the corpus. ``write_corpus.py`` writes the corpus.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["extranets.model_file", "extranets.tables"]):
    import extranets
    from extranets.model_file import container, read_info, registry, strict_json
    from extranets.model_file.codec import Decoder, Encoder
    from extranets.tables import TableError
    from extranets.tables.delimited import DelimitedText
    from extranets.tables.errors import Source
    from extranets.tables.streams import look

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.model_file.forging import START, sign

SCRATCH = Path(tempfile.gettempdir()) / f"fuzz-{os.getpid()}.xnet"
SHORTEST = 8 + len(START) + 64


def container_of(data: bytes) -> None:
    """The bytes as they are, and again with a digest that fits."""
    files = [data]
    if len(data) > SHORTEST:
        length = int.from_bytes(data[:8], "little") % len(data)
        files.append(sign(data[8 : 8 + length], data[8 + length :]))
    for file in files:
        SCRATCH.write_bytes(file)
        for use in (container.read, container.read_header, read_info, extranets.load):
            with suppress(extranets.ModelFileError):
                use(SCRATCH)


def codec_of(data: bytes) -> None:
    """JSON to values; values that come out go back to the same JSON."""
    try:
        tree = strict_json.loads(data.decode("utf-8", errors="replace"))
        value = Decoder({}, registry.rebuild).decode(tree)
    except extranets.ModelFileError:
        return
    try:
        again = Encoder().encode(value, "value")
    except (TypeError, ValueError):
        return
    assert repr(Decoder({}, registry.rebuild).decode(again)) == repr(value)


def csv_of(data: bytes) -> None:
    """Every row has a value for every name, and all rows are counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = DelimitedText(look(io.BytesIO(data)), Source("fuzz.csv"), None, None)
            for batch in text.batches():
                assert batch.schema.names == text.names
                batch.to_pandas()
        except TableError:
            pass


TARGETS = {"container": container_of, "codec": codec_of, "csv": csv_of}

if __name__ == "__main__":
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
