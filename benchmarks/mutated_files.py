"""Damages model files at random and counts what comes of it: ``python -m benchmarks.mutated_files``.

    python -m benchmarks.mutated_files --files 100000 --out mutated.jsonl

Three kinds of damage, to the stored samples of every estimator and of `TableRegressor`: bytes at random (``blind``), values and arrays
at random with the digest corrected (``signed``), and one of the known attacks, perhaps with more damage on top (``attack``). Every file
is loaded, and every model that comes out predicts in every way. A file is refused with a `ModelFileError`, or its model works or says
what is wrong with it. Anything else is a failure: another exception, a crash, more memory than in proportion to the file, more than
ten seconds, predictions that are not finite. The files that failed are kept beside the output, and the exit status is 1.

Blocks of 2,000 files run in processes of their own; the same command again goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 2000
SLOW = 10.0  # seconds
GIVEN_UP = 7200  # seconds for a block
FAILURES = ("exception", "memory", "slow", "crash")
KINDS = ("blind", "signed", "attack")


def mutated(seed: int, index: int) -> tuple[str, str, bytes | None]:
    """Kind of damage, name of the sample and the bytes of one file; None if they are those of the sample."""
    from tests.model_file import attacks, mutations
    from tests.model_file.forging import put_together
    from tests.model_file.write_samples import OLD, TODAY

    rng = np.random.default_rng([seed, index])
    paths = [*sorted(OLD.glob("*.xnet")), *sorted(TODAY.glob("*.xnet"))]
    first, second = (paths[i] for i in rng.integers(0, len(paths), 2))
    kind = str(rng.choice(KINDS))
    original, other = first.read_bytes(), second.read_bytes()
    if kind == "attack":
        name, change, _ = attacks.CASES[rng.integers(len(attacks.CASES))]
        parts = attacks.parts_of(name)
        change(parts)
        data = put_together(parts)
        return kind, name, mutations.repaired(data, other, rng) if rng.random() < 0.5 else data
    damage = mutations.blind if kind == "blind" else mutations.repaired
    data = damage(original, other, rng)
    return kind, first.stem, None if data in (original, other) else data


def outcome(path: Path, data: bytes) -> str:
    """What comes of a file with these bytes."""
    from tests.model_file.using import load_measured, most_memory, usable, use

    path.write_bytes(data)
    begin = time.monotonic()
    model, peak = load_measured(path)
    refusals = use(model) if usable(model) else []
    if peak >= most_memory(data):
        return "memory"
    if time.monotonic() - begin > SLOW:
        return "slow"
    if model is None:
        return "refused on loading"
    return "refused in use" if refusals else "works" if usable(model) else "another class"


def import_everything() -> None:
    """Use every sample once, so that no import counts as memory of a file."""
    import extranets
    from tests.model_file.using import use
    from tests.model_file.write_samples import OLD, TODAY

    for path in (*OLD.glob("*.xnet"), *TODAY.glob("*.xnet")):
        use(extranets.load(path))


def do_block(seed: int, indices: range, kept: Path) -> dict[str, Any]:
    """Counts of a block of files. The file in work lies in ``kept`` under the name of the block, should the process die."""
    counts: Counter[str] = Counter()
    failures, path = [], kept / f"{seed}-{indices.start}.xnet"
    warnings.simplefilter("ignore")  # absurd weights overflow
    import_everything()
    for index in indices:
        kind, sample, data = mutated(seed, index)
        if data is None:
            counts[f"{kind}|{sample}|unchanged"] += 1
            continue
        try:
            found = outcome(path, data)
        except Exception:
            found = "exception"
            failures.append({"index": index, "error": traceback.format_exc(limit=-4)})
        if found in FAILURES:
            (kept / f"{seed}-{index}-{found}.xnet").write_bytes(data)
        counts[f"{kind}|{sample}|{found}"] += 1
    path.unlink(missing_ok=True)
    return {"seed": seed, "begin": indices.start, "counts": counts, "failures": failures}


def run_block(seed: int, indices: range, kept: Path) -> dict[str, Any]:
    """The same in a process of its own, whose death is counted."""
    arguments = ["--seed", str(seed), "--block", str(indices.start), str(indices.stop), "--kept", str(kept)]
    command = [sys.executable, "-m", "benchmarks.mutated_files", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIVEN_UP)
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(command, -9, "", "the block took too long")
    if done.returncode == 0:
        return dict(json.loads(done.stdout))
    return {
        "seed": seed,
        "begin": indices.start,
        "counts": {"block|block|crash": len(indices)},
        "failures": [{"index": indices.start, "error": f"exit status {done.returncode}: {done.stderr[-2000:]}"}],
    }


def recorded(out: Path) -> Iterator[dict[str, Any]]:
    """Whole lines of the output; the last may have been cut off."""
    for line in out.read_text().splitlines() if out.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def run(out: Path, files: int, seed: int) -> None:
    done = {record["begin"] for record in recorded(out) if record["seed"] == seed}
    kept = out.with_suffix(".failed")
    kept.mkdir(parents=True, exist_ok=True)
    begin, n_before = time.monotonic(), len(done)
    with out.open("a") as file:
        file.write("\n" if out.stat().st_size and not out.read_text().endswith("\n") else "")
        for start in range(0, files, BLOCK):
            if start in done:
                continue
            record = run_block(seed, range(start, min(start + BLOCK, files)), kept)
            file.write(json.dumps(record) + "\n")
            file.flush()
            done.add(start)
            each = (time.monotonic() - begin) / (len(done) - n_before)
            left = (-(-files // BLOCK) - len(done)) * each / 60
            print(f"\r{len(done) * BLOCK:,} files, about {left:.0f} minutes left ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def report(records: list[dict[str, Any]]) -> int:
    """Print the counts by outcome and the failures; the number of the latter."""
    counts: Counter[tuple[str, str]] = Counter()
    samples: Counter[str] = Counter()
    for record in records:
        for key, n in record["counts"].items():
            kind, sample, found = key.split("|")
            counts[kind, found] += n
            samples[sample] += n
    kinds = [kind for kind in (*KINDS, "block") if any(key[0] == kind for key in counts)]
    outcomes = sorted({found for _, found in counts}, key=lambda found: -sum(counts[kind, found] for kind in kinds))
    print(f"{sum(counts.values()):,} files from {len(samples)} samples")
    print(f"| outcome | {' | '.join(kinds)} |\n|---|{'---|' * len(kinds)}")
    for found in outcomes:
        print(f"| {found} | {' | '.join(f'{counts[kind, found]:,}' for kind in kinds)} |")
    for record in records:
        for failure in record["failures"]:
            print(f"\nseed {record['seed']}, file {failure['index']}:\n{failure['error']}")
    return sum(n for (_, found), n in counts.items() if found in FAILURES)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("mutated_files.jsonl"))
    parser.add_argument("--block", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--kept", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.block:
        json.dump(do_block(given.seed, range(*given.block), given.kept), sys.stdout)
        return 0
    run(given.out, given.files, given.seed)
    return int(report([record for record in recorded(given.out) if record["seed"] == given.seed]) > 0)


if __name__ == "__main__":
    sys.exit(main())
