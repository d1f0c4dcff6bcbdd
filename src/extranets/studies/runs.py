"""Resumable runs. A run is a folder that loses nothing but the units in flight, whatever ends the process.

- ``run.json``: the study's name, configuration and units; versions, machine and start.
- ``units/<unit>.json``: records and timings of one finished unit. Floats are written by ``repr``, so that they are read
  back bit by bit; NaN and infinities are written as ``NaN`` and ``Infinity``, as Python's ``json`` does.
- ``DONE``: exists when all units are done.

Every file is written under a temporary name and renamed, so it is complete or absent. Several processes may work in one folder:
they may do a unit twice, with the same result, but do not harm each other.
"""

from __future__ import annotations

import json
import os
import platform
import random
import re
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Protocol

import joblib
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from extranets.engine.build import build_info
from extranets.engine.clusters import named_cluster
from extranets.studies._files import Record, UnitResult, read_unit, remove_old_temporaries, save_unit, write
from extranets.studies._workers import Progress, UnitFailed, finished, reporter, sent

__all__ = ["FolderError", "Record", "Run", "RunInterrupted", "Study", "UnitFailed", "UnitResult", "load", "run"]

PACKAGES = ("extranets", "numpy", "scipy", "scikit-learn")
UNIT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,150}")


class Study(Protocol):
    """A frozen, picklable dataclass; its fields are its configuration, in JSON's types."""

    name: ClassVar[str]

    def units(self) -> list[str]:
        """Names of independent units of work, fit for file names, always in the same order."""

    def run(self, unit: str) -> UnitResult:
        """A pure function of configuration and unit, on one thread."""


class FolderError(ValueError):
    """The folder is not a run, or it holds another one."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C. Finished units are kept: ``done`` of ``total``."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"Interrupted: {done} of {total} units are done and kept. Run the same again to go on.")
        self.done, self.total = done, total


@dataclass(frozen=True)
class Run:
    """A run as it is stored on disk.

    Attributes
    ----------
    folder : pathlib.Path
    name : str
        The study's name.
    configuration : dict
        The study's fields, in JSON's types (tuples are lists).
    units : list of str
        All units, in the study's order.
    results : dict of str to UnitResult
        The finished ones, in the same order.
    origin : dict
        ``versions``, ``machine`` and ``started`` of the first start.
    """

    folder: Path
    name: str
    configuration: dict[str, Any]
    units: list[str]
    results: dict[str, UnitResult]
    origin: dict[str, Any]

    @property
    def records(self) -> list[Record]:
        """The records of all finished units, in the study's order."""
        return [record for result in self.results.values() for record in result.records]

    @property
    def timings(self) -> dict[str, dict[str, float]]:
        """Seconds by unit and name."""
        return {unit: result.timings for unit, result in self.results.items()}

    @property
    def done(self) -> bool:
        return len(self.results) == len(self.units)

    def study(self, registry: Mapping[str, Callable[..., Any]]) -> Any:
        """Make the study again. ``registry`` maps names to classes; lists of the configuration are given as tuples."""
        if self.name not in registry:
            raise FolderError(f"{self.folder} is a run of {self.name!r}; the known studies are {', '.join(registry)}.")
        try:
            return registry[self.name](**{key: _as_tuples(value) for key, value in self.configuration.items()})
        except TypeError as error:
            made_by = self.origin.get("versions", {}).get("extranets")
            raise FolderError(
                f"{self.folder}, made by extranets {made_by}, does not fit this version: {error}"
            ) from error


def run(study: Study, folder: str | os.PathLike[str], jobs: int = -1, progress: bool | Progress = True) -> list[Record]:
    """Do every unit that is not in the folder yet, by processes of this machine; or, within ``with joblib.parallel_config(backend=...)``,
    by the workers of that backend (``"dask"``, ``"ray"``, ``"loky"``). The records are the same.

    Parameters
    ----------
    study : Study
    folder : path-like
        Made if it does not exist.
    jobs : int, default=-1
        Processes, as in joblib: -1 means one for every core. Each works on one thread. With 1 the units are done in this process.
    progress : bool or callable, default=True
        A bar on standard error if there is anything to do, or a callable that takes the numbers of units done and of all.

    Returns
    -------
    list of dict
        The records of all units, in the study's order.

    Raises
    ------
    FolderError
        If the folder holds another study, or the same with another configuration.
    UnitFailed
        If a unit raises an exception. The first one stops the run.
    RunInterrupted
        At Ctrl-C.

    Examples
    --------
    >>> import tempfile
    >>> @dataclass(frozen=True)
    ... class Squares:
    ...     name: ClassVar[str] = "squares"
    ...     n: int = 3
    ...
    ...     def units(self):
    ...         return [f"number-{i}" for i in range(self.n)]
    ...
    ...     def run(self, unit):
    ...         return UnitResult([{"unit": unit, "square": int(unit[7:]) ** 2}], {"total": 0.0})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     records = run(Squares(), folder, jobs=1, progress=False)
    ...     again = load(folder)
    >>> records[2], again.records == records, again.done
    ({'unit': 'number-2', 'square': 4}, True, True)
    """
    folder = Path(folder)
    units = _checked_units(study.units())
    found = _opened(study, folder, units)
    remove_old_temporaries(folder)
    n_workers = joblib.effective_n_jobs(jobs)
    todo = [unit for unit in units if unit not in found.results]
    if todo:
        (folder / "DONE").unlink(missing_ok=True)
        found = _completed(study, found, todo, min(n_workers, len(todo)), progress)
    if not found.done:
        raise FolderError(f"Files of finished units have vanished from {folder} meanwhile. Run the same again.")
    if not (folder / "DONE").exists():
        write(folder / "DONE", f"{len(units)} units, {_now()}\n")
    return found.records


def load(folder: str | os.PathLike[str]) -> Run:
    """Read a run, finished or not. Unit files that cannot be read count as not done.

    Raises
    ------
    FolderError
        If the folder is not a run.
    """
    folder = Path(folder)
    try:
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        name, configuration, units = about.pop("study"), about.pop("configuration"), about.pop("units")
    except FileNotFoundError:
        what = "has no run.json" if folder.is_dir() else "does not exist"
        raise FolderError(f"{folder} is not a run: it {what}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FolderError(f"{folder} is not a run: its run.json cannot be read ({error!r}).") from error
    read = {unit: read_unit(folder, unit) for unit in units}
    results = {unit: result for unit, result in read.items() if result is not None}
    return Run(folder, name, configuration, units, results, about)


# -- the folder --------------------------------------------------------------------------------------------------------


def _opened(study: Study, folder: Path, units: list[str]) -> Run:
    """The run in this folder. It is begun if there is none; another run is refused."""
    (folder / "units").mkdir(parents=True, exist_ok=True)
    # Units are looked for first: another process may be writing run.json, and then units, at this moment.
    has_units = any((folder / "units").glob("*.json"))
    if not (folder / "run.json").exists():
        if has_units:
            raise FolderError(
                f"{folder} holds finished units, but no run.json that says what they belong to. Use another folder."
            )
        write(folder / "run.json", json.dumps(_description(study, units), indent=1))
    found = load(folder)
    _refuse_another(found, study, units)
    _warn_of_another_version(found)
    return found


def _description(study: Study, units: list[str]) -> dict[str, Any]:
    versions = {package: version(package) for package in PACKAGES} | {"python": platform.python_version()}
    machine = build_info() | {"platform": platform.platform(), "architecture": platform.machine()}
    about = {"study": study.name, "configuration": _configuration(study), "versions": versions, "machine": machine}
    return about | {"started": _now(), "units": units}


def _configuration(study: Study) -> dict[str, Any]:
    return asdict(study)  # type: ignore[call-overload]


def _refuse_another(found: Run, study: Study, units: list[str]) -> None:
    old = {"study": found.name, **found.configuration, "units": found.units}
    new = {"study": study.name, **_configuration(study), "units": units}
    lines = [f"  {key}: {a} -> {b}" for key in {**old, **new} for a, b in [_shown(key, old, new)] if a != b]
    if len(lines) > 1:  # different fields explain different units
        lines = [line for line in lines if not line.startswith("  units:")]
    if lines:
        raise FolderError(
            f"{found.folder} holds another run (there -> asked for):\n" + "\n".join(lines) + "\n"
            "Use another folder for the new run, go on with the old settings, or delete the folder to begin again."
        )


def _shown(key: str, old: dict[str, Any], new: dict[str, Any]) -> tuple[str, str]:
    """Both values as JSON text, in which tuples equal lists and NaN equals NaN."""
    a, b = (json.dumps(side[key], sort_keys=True) if key in side else "(absent)" for side in (old, new))
    if key == "units" and a != b:
        return f"{len(old[key])} names", f"{len(new[key])} other names"
    return a, b


def _warn_of_another_version(found: Run) -> None:
    before, now = found.origin.get("versions", {}).get("extranets"), version("extranets")
    if before != now:
        warnings.warn(
            f"{found.folder} was begun with extranets {before}; this is {now}. Units of both may be mixed.",
            stacklevel=4,
        )


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


# -- units -------------------------------------------------------------------------------------------------------------


def _checked_units(units: Sequence[str]) -> list[str]:
    bad = [unit for unit in units if not UNIT_NAME.fullmatch(unit)]
    if bad:
        raise ValueError(
            f"{bad[0]!r} cannot be a unit's name: letters, digits and . _ = + - make file names everywhere."
        )
    if len({unit.lower() for unit in units}) < len(units):
        raise ValueError("Two units have the same name (large and small letters are the same to some file systems).")
    return list(units)


def _completed(study: Study, found: Run, todo: list[str], jobs: int, progress: bool | Progress) -> Run:
    done, total = len(found.results), len(found.units)
    # Every process has its own order, so that two of them share the work. Tables of unfinished runs also fill evenly.
    random.Random(os.getpid()).shuffle(todo)
    try:
        with (
            reporter(progress, study.name, done, total) as report,
            closing(_done(study, found.folder, todo, jobs)) as names,
        ):
            for _ in names:
                done += 1
                report(done, total)
    except KeyboardInterrupt:
        raise RunInterrupted(len(load(found.folder).results), total) from None
    return load(found.folder)


def _done(study: Study, folder: Path, todo: list[str], jobs: int) -> Generator[str, None, None]:
    """The units as they are done and saved: by processes, or by the workers of a backend of joblib that the user has named."""
    cluster = named_cluster()
    if cluster is None:
        yield from finished(partial(_do, study, folder), todo, jobs)
        return
    with closing(sent(partial(_result, study), todo, cluster)) as results:
        for unit, result in results:
            save_unit(folder, unit, result)  # here: workers of other machines may not see the folder
            yield unit


def _do(study: Study, folder: Path, unit: str) -> None:
    """Do one unit, unless another process has done it by now."""
    if read_unit(folder, unit) is None:
        save_unit(folder, unit, _result(study, unit))


def _result(study: Study, unit: str) -> UnitResult:
    # More threads in a linear algebra library would be slower here, and could give other bits.
    with threadpool_limits(1):
        return study.run(unit)


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value
