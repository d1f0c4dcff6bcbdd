"""Random operations on a folder of models, some of them killed: nothing may be lost, damaged or changed.

The driver knows at every moment what each file may hold. A process fits a model, tells the driver what it will predict, and saves it;
killed at any moment, it leaves the old model or the new one. The same holds for files of predictions and for studies, which must end
with the same bits after any number of kills. What is chosen depends on the seed alone; when a kill comes depends on the machine, too.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import time
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import extranets
from benchmarks.memory import megabytes
from benchmarks.soak import work
from extranets.tables import TableRegressor

PATIENCE = 300.0  # seconds for any task
WEIGHTS = {"save": 8, "load": 8, "grow": 3, "predict": 3, "study": 2, "damage": 3, "turncoat": 2}


class Lost(AssertionError):
    """Something is not what it must be."""


class Soak:
    """One run. ``known`` holds, for each file, the seed and kind of its model and what it answers."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.known: dict[Path, tuple[str, int, int, bytes]] = {}
        self.seconds: dict[str, float] = {}
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["benchmarks.soak.work"])
        folder.mkdir(parents=True)
        self._prepare_tables()

    def _prepare_tables(self) -> None:
        """A table, its model, and predictions and study records of processes that nobody disturbs."""
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"width": rng.normal(size=3000), "height": rng.normal(size=3000)})
        self.table, self.table_model = self.folder / "table.csv", self.folder / "table.xnet"
        frame.to_csv(self.table, index=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = TableRegressor(extranets.ExtraNetsRegressor(2, **work.SMALL, random_state=0))
            model.fit(frame[:100], frame["width"][:100]).save(self.table_model)
        predictions = self.folder / "undisturbed.csv"
        self.run("predict", self.table_model, self.table, predictions)
        self.predictions = predictions.read_bytes()
        self.run("study", self.folder / "undisturbed")
        self.records = records(self.folder / "undisturbed")

    # -- processes ---------------------------------------------------------------------------------------------------------

    def run(self, task: str, *arguments: Any, may_die: bool = False) -> list[Any]:
        """Do a task in a process, or begin it and end it somehow. What the process sent; "saved" comes last."""
        end = self.random.choice(["", "", "kill", "kill", "interrupt", "fsync", "replace"]) if may_die else ""
        deadly, calls = (end, self.random.randint(1, 3)) if end in ("fsync", "replace") else ("", 0)
        ours, theirs = self.context.Pipe(duplex=False)
        child = self.context.Process(target=work.start, args=(task, theirs, deadly, calls, arguments))
        begin = time.monotonic()
        child.start()
        theirs.close()
        if end in ("kill", "interrupt"):
            child.join(self.random.uniform(0, 1.2 * self.seconds.get(task, 0.1)))
            send(child, signal.SIGKILL if end == "kill" else signal.SIGINT)
        child.join(PATIENCE)
        if child.is_alive():
            child.kill()
            raise Lost(f"{task} {arguments} still ran after {PATIENCE} s")
        sent = received(ours)
        if child.exitcode == 0:
            self.seconds[task] = time.monotonic() - begin
        elif not end:
            raise Lost(f"{task} {arguments} ended with {child.exitcode}")
        self.counts[f"{task}: {'whole' if child.exitcode == 0 else 'ended by ' + end}"] += 1
        return sent

    # -- operations --------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        kind, seed = self.random.choice(list(work.KINDS)), self.random.randrange(10**6)
        path = self.folder / f"model{self.random.randrange(8)}.xnet"
        sent = self.run("save", path, kind, seed, may_die=True)
        self.settle(path, sent, (kind, seed, 2))

    def settle(self, path: Path, sent: list[Any], description: tuple[str, int, int]) -> None:
        """After a save: the file holds the new model if the process said so, else the new one or what it held before."""
        if not path.exists():
            if path in self.known or sent[1:] == ["saved"]:
                raise Lost(f"{path} is gone")
            return
        allowed = [(*description, sent[0])] if sent else []
        if sent[1:] != ["saved"] and path in self.known:
            allowed.append(self.known[path])
        found = work.answer(extranets.load(path))
        states = [state for state in allowed if state[3] == found]
        if not states:
            raise Lost(f"{path} is neither the old model nor {description}")
        self.known[path] = states[0]

    def load(self) -> None:
        if self.known:
            path = self.random.choice(list(self.known))
            self.counts["load: whole"] += 1
            if work.answer(extranets.load(path)) != self.known[path][3]:
                raise Lost(f"{path} predicts other bits than before")

    def grow(self) -> None:
        """More networks for a stored model: those of one fit with as many."""
        paths = [path for path, known in self.known.items() if known[0] == "extra_nets" and known[2] < 12]
        if paths:
            path = self.random.choice(paths)
            kind, seed, n_networks, _ = self.known[path]
            n_networks += self.random.randint(1, 3)
            sent = self.run("grow", path, n_networks, seed, may_die=True)
            if sent and sent[0] != work.answer(work.fitted(kind, seed, n_estimators=n_networks)):
                raise Lost(f"{path} with {n_networks} networks is not a fit with as many")
            self.settle(path, sent, (kind, seed, n_networks))

    def predict(self) -> None:
        output = self.folder / f"predictions{self.random.randrange(3)}.csv"
        there = output.exists()
        self.run("predict", self.table_model, self.table, output, may_die=True)
        if (there and not output.exists()) or (output.exists() and output.read_bytes() != self.predictions):
            raise Lost(f"{output} is not whole")
        if self.random.random() < 0.5:
            output.unlink(missing_ok=True)

    def study(self) -> None:
        """Kill it until it ends."""
        folder = self.folder / "study"
        n_done = 0
        while not (folder / "DONE").exists():
            self.run("study", folder, may_die=True)
            done = records(folder)
            if len(done) < n_done or any(self.records[name] != text for name, text in done.items()):
                raise Lost(f"{folder} has lost or changed a unit")
            n_done = len(done)
        if n_done != len(self.records):
            raise Lost(f"{folder} is done with {n_done} units")
        shutil.rmtree(folder)

    def damage(self) -> None:
        """A flipped bit, or a file that was cut off, is always found."""
        if self.known:
            data = bytearray(self.random.choice(list(self.known)).read_bytes())
            position = self.random.randrange(8 * len(data))
            data[position // 8] ^= 1 << position % 8
            path = self.folder / "damaged"
            path.write_bytes(data if self.random.random() < 0.5 else data[: position // 8])
            try:
                extranets.load(path)
            except extranets.ModelFileError:
                self.counts["damage: refused"] += 1
            else:
                raise Lost(f"{path} is damaged and was read")

    def turncoat(self) -> None:
        """A save that cannot be, for its folder is missing, changes nothing."""
        if self.known:
            path = self.random.choice(list(self.known))
            try:
                extranets.load(path).save(self.folder / "nowhere" / "model.xnet")
            except FileNotFoundError:
                self.counts["save without a folder: refused"] += 1
            else:
                raise Lost("a file was written to a folder that is not there")

    # -- the whole ---------------------------------------------------------------------------------------------------------

    def go_on(self, minutes: float, progress: Any) -> dict[str, Any]:
        begin, first, told = time.monotonic(), 0.0, 0.0
        names = list(WEIGHTS)
        while (passed := time.monotonic() - begin) < 60 * minutes:
            getattr(self, self.random.choices(names, [WEIGHTS[name] for name in names])[0])()
            self.counts["operations"] += 1
            first = first or (megabytes("VmRSS") if self.counts["operations"] == 200 else 0.0)
            if passed - told > 60:
                told = passed
                progress({"minutes": round(passed / 60, 1), **self.counts, "MB": round(megabytes("VmRSS"))})
        for path in self.known:
            if work.answer(extranets.load(path)) != self.known[path][3]:
                raise Lost(f"{path} predicts other bits than before")
        leftovers = len(list(self.folder.rglob(".*.tmp")))
        return {
            "minutes": round((time.monotonic() - begin) / 60, 1),
            "counts": dict(sorted(self.counts.items())),
            "MB after 200 operations": round(first, 1),
            "MB at the end": round(megabytes("VmRSS"), 1),
            "temporary files left by kills": leftovers,
        }


def send(child: Any, number: int) -> None:
    """To a process that may end by itself at this moment."""
    if child.is_alive():
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)


def received(pipe: Any) -> list[Any]:
    """All that was sent before the other end closed."""
    found = []
    try:
        while pipe.poll(0):
            found.append(pipe.recv())
    except EOFError:
        pass
    pipe.close()
    return found


def records(folder: Path) -> dict[str, str]:
    return {
        path.name: json.dumps(json.loads(path.read_text())["records"]) for path in sorted(folder.glob("units/*.json"))
    }
