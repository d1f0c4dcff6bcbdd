"""One record for each data set, split and method, in a file of JSON lines: a run can be stopped, continued, and merged with others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import joblib
from threadpoolctl import threadpool_limits

from benchmarks.contest.forecast import Forecast, scores
from benchmarks.contest.methods import Method
from benchmarks.machine import THREADS
from extranets._arrays import Array
from extranets.data import uci

Record = dict[str, Any]
Score = Callable[[Array, Forecast], dict[str, Any]]
Tell = Callable[[str], object]
LOOK = "look"  # key of the lines that are no records: see benchmarks/ordinary/looks.py


class Task(NamedTuple):
    dataset: str
    split: int
    method: str


class Split(NamedTuple):
    """Shapes: ``(n, d)``, ``(n,)``, ``(m, d)``, ``(m,)``."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


Load = Callable[[str, int], Split]


# -- data --------------------------------------------------------------------------------------------------------------


def uci_split(dataset: str, split: int, data_dir: str | None = None) -> Split:
    """One of the fixed splits. Tables are read once in each process."""
    table = _table(dataset, data_dir)
    train, test = next(islice(uci.DATASETS[dataset].splits(), split, None))
    return Split(table.X[train], table.y[train], table.X[test], table.y[test])


_table = cache(uci.read)


def uci_tasks(datasets: Iterable[str], methods: Iterable[str], n_splits: int | None) -> list[Task]:
    """All methods of a split stand together, so that the records of a stopped run can be compared."""
    return [
        Task(dataset, split, method)
        for dataset in datasets
        for split in range(min(uci.DATASETS[dataset].n_splits, n_splits or uci.DATASETS[dataset].n_splits))
        for method in methods
    ]


# -- the file ----------------------------------------------------------------------------------------------------------


def task_of(record: Record) -> Task:
    return Task(record["dataset"], record["split"], record["method"])


def read(*paths: Path) -> list[Record]:
    """The records of all files. Of two records of the same task, the later one counts. A missing file holds none."""
    found: dict[Task, Record] = {}
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], start=1):
            try:
                record = json.loads(line)
                if LOOK not in record:
                    found[task_of(record)] = record
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{path}, line {number} is not a record ({error!r}). Delete the line; its fit is done again."
                ) from error
    return list(found.values())


def chosen(records: Iterable[Record], tasks: Iterable[Task]) -> list[Record]:
    """The records of the tasks, in the tasks' order."""
    by_task = {task_of(record): record for record in records}
    return [by_task[task] for task in tasks if task in by_task]


def append(path: Path, record: Record) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


# -- the work ----------------------------------------------------------------------------------------------------------


def measure(task: Task, method: Method, data: Split, score: Score = scores) -> Record:
    """Fit and predict once. The library is imported before the clock starts."""
    model = method.make(task.split)
    with threadpool_limits(THREADS):
        begin, busy = time.perf_counter(), time.process_time()
        model.fit(data.X, data.y)
        fitted, busy = time.perf_counter(), time.process_time() - busy
        forecast = model.forecast(data.X_test)
        end = time.perf_counter()
    about = {**task._asdict(), "n_train": len(data.y), "n_test": len(data.y_test), "versions": method.versions}
    seconds = {"fit_seconds": fitted - begin, "predict_seconds": end - fitted, "threads": THREADS}
    seconds["fit_core_seconds"] = busy  # of all threads of this process; on a machine that others use, it says more
    return {**about, **score(data.y_test, forecast), **seconds}


def attempt(task: Task, method: Method, load: Load, score: Score = scores) -> Record:
    """The record, or one that says why there are no scores: one method that fails on one split must not end a run of hours."""
    try:
        return measure(task, method, load(task.dataset, task.split), score)
    except Exception as error:
        return {**task._asdict(), "error": f"{type(error).__name__}: {error}"}


def installed(methods: Mapping[str, Method], tell: Tell) -> dict[str, Method]:
    """The methods whose packages are installed. Tells a line for each method that is skipped."""
    for name, method in methods.items():
        if method.missing:
            tell(f"skipped: {name} ({', '.join(method.missing)} not installed)")
    return {name: method for name, method in methods.items() if not method.missing}


def undone(tasks: Iterable[Task], path: Path) -> list[Task]:
    """The tasks that have no scores in the file yet. Those that failed are among them."""
    done = {task_of(record) for record in read(path) if "error" not in record}
    return [task for task in tasks if task not in done]


def run(
    tasks: Iterable[Task],
    methods: Mapping[str, Method],
    load: Load,
    path: Path,
    jobs: int = 1,
    tell: Tell = print,
    score: Score = scores,
) -> list[Task]:
    """Do the tasks that are not in the file yet, and add a record for each as it is done.

    Returns
    -------
    list of Task
        The tasks that failed. Their records say why, and the next run tries them again.
    """
    todo = undone(tasks, path)
    tell(f"{len(todo)} fits to do")
    failed = []
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    results = parallel(joblib.delayed(attempt)(task, methods[task.method], load, score) for task in todo)
    for number, record in enumerate(results, start=1):
        append(path, record)
        task = task_of(record)
        if "error" in record:
            failed.append(task)
            outcome = f"FAILED, {record['error']}"
        else:
            outcome = f"RMSE {record['rmse']:.4g}, {record['fit_seconds']:.1f} s"
        tell(f"{number}/{len(todo)} {task.dataset} {task.split} {task.method}: {outcome}")
    return failed
