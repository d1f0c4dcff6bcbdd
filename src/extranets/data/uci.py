"""The ten regression data sets of the empirical study, read from local files. Nothing is downloaded unless it is asked for.

The files are laid out as in the public benchmark: for each data set a folder ``<data_dir>/<folder>/data`` with

- ``data.txt.gz`` or ``data.txt``: the table, columns separated by blanks or commas, no header;
- ``index_features.txt`` and ``index_target.txt``: which columns are inputs and which is the target, from 0;
- ``index_train_i.txt``, ``index_test_i.txt`` and ``n_splits.txt``: the rows of each split, from 0 (optional, because
  :func:`splits` makes the same ones).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array
from extranets.data._text import check_finite, read_indices, read_table

ENVIRONMENT_VARIABLE = "EXTRANETS_DATA"
CACHE_VARIABLE = "EXTRANETS_CACHE"
TRAIN_FRACTION = 0.9
SPLIT_SEED = 1

Rows = npt.NDArray[np.int64]
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a data set before its file is opened.

    Attributes
    ----------
    name : str
        Short name, as in :data:`DATASETS`.
    folder : str
        Folder name in the benchmark's layout.
    rows, features : int
        Expected size of the table; :func:`load` refuses any other.
    n_splits : int
        Number of train/test splits in the study.
    n_train : int or None
        If set, there is one split: the first ``n_train`` rows train, the rest test. If None, splits are random.
    target_column : int or None
        If set, the index files may be missing: then this column is the target and all others are inputs.
    files : tuple of str
        File names to look for, in this order.
    """

    name: str
    folder: str
    rows: int
    features: int
    n_splits: int = 20
    n_train: int | None = None
    target_column: int | None = None
    files: tuple[str, ...] = ("data.txt.gz", "data.txt")

    def splits(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield the (train, test) row numbers of each split of the study.

        Examples
        --------
        >>> train, test = next(DATASETS["year"].splits())
        >>> len(train), len(test)
        (463715, 51630)
        """
        if self.n_train is None:
            yield from splits(self.rows, self.n_splits)
        else:
            order = np.arange(self.rows)
            yield order[: self.n_train], order[self.n_train :]


@dataclass(frozen=True, eq=False)
class Table:
    """A data set in memory: ``X (rows, features)`` and ``y (rows,)``, both float64, in the file's units and order."""

    name: str
    X: Array
    y: Array


_YEAR_FILES = ("data.txt.gz", "data.txt", "YearPredictionMSD.txt.gz", "YearPredictionMSD.txt")

#: The ten data sets by short name, in the order of the paper's Table 3.
DATASETS: Mapping[str, DatasetInfo] = MappingProxyType(
    {
        info.name: info
        for info in (
            DatasetInfo("boston", "bostonHousing", rows=506, features=13),
            DatasetInfo("concrete", "concrete", rows=1030, features=8),
            DatasetInfo("energy", "energy", rows=768, features=8),
            DatasetInfo("kin8nm", "kin8nm", rows=8192, features=8),
            DatasetInfo("naval", "naval-propulsion-plant", rows=11934, features=16),
            DatasetInfo("power", "power-plant", rows=9568, features=4),
            DatasetInfo("protein", "protein-tertiary-structure", rows=45730, features=9, n_splits=5),
            DatasetInfo("wine", "wine-quality-red", rows=1599, features=11),
            DatasetInfo("yacht", "yacht", rows=308, features=6),
            # Fixed split: the songs of one artist must not stand on both sides.
            DatasetInfo(
                "year",
                "year-prediction-msd",
                rows=515345,
                features=90,
                n_splits=1,
                n_train=463715,
                target_column=0,
                files=_YEAR_FILES,
            ),
        )
    }
)


def data_dir(path: PathLike | None = None) -> Path:
    """Find the folder that holds the data sets.

    Parameters
    ----------
    path : path-like or None, default=None
        The folder. If None, the environment variable ``EXTRANETS_DATA`` names it.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        If there is neither an argument nor the environment variable.
    FileNotFoundError
        If the folder does not exist.

    Examples
    --------
    >>> data_dir(".").is_dir()
    True
    """
    chosen, source = (path, "data_dir") if path is not None else (os.environ.get(ENVIRONMENT_VARIABLE), "")
    if not chosen:
        raise ValueError(
            f"No data folder is set. Pass data_dir=..., or set the environment variable {ENVIRONMENT_VARIABLE} "
            f"to the folder that holds {DATASETS['boston'].folder}/data, {DATASETS['concrete'].folder}/data and so on."
        )
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"The data folder {folder} ({source or ENVIRONMENT_VARIABLE}) does not exist.")
    return folder


def cache_dir(path: PathLike | None = None) -> Path:
    """The folder of downloaded data sets, which need not exist.

    Parameters
    ----------
    path : path-like or None, default=None
        The folder. If None, the environment variable ``EXTRANETS_CACHE`` names it; without that it is ``~/.cache/extranets``.

    Examples
    --------
    >>> cache_dir("downloads").name
    'downloads'
    """
    return Path(path or os.environ.get(CACHE_VARIABLE) or "~/.cache/extranets").expanduser()


def available(data_dir: PathLike | None = None) -> tuple[str, ...]:
    """Names of the data sets that :func:`load` finds without a download, in the order of :data:`DATASETS`.

    Parameters
    ----------
    data_dir : path-like or None, default=None
        As in :func:`load`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as empty:
    ...     available(empty)
    ()
    """
    return tuple(name for name, info in DATASETS.items() if _find(info, data_dir) is not None)


def load(name: str | DatasetInfo, data_dir: PathLike | None = None, *, download: bool = False) -> Table:
    """Read one data set.

    Parameters
    ----------
    name : str or DatasetInfo
        A short name of :data:`DATASETS`, or the description of a data set of your own in the same layout.
    data_dir : path-like or None, default=None
        Where the data sets are. If None: the folder of :func:`data_dir` or, for sets that are not there, :func:`cache_dir`.
    download : bool, default=False
        Fetch a set that is not found into :func:`cache_dir`; see :func:`extranets.data.download.download`.

    Returns
    -------
    Table
        ``X (rows, features)`` and ``y (rows,)``, float64.

    Raises
    ------
    ValueError
        If the name is unknown, or the file has the wrong shape or a value that is not a finite number.
    FileNotFoundError
        If a file is missing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as root:
    ...     folder = Path(root, "mine", "data")
    ...     folder.mkdir(parents=True)
    ...     _ = Path(folder, "data.txt").write_text("1 2 3\\n4 5 6\\n")
    ...     table = load(DatasetInfo("mine", "mine", rows=2, features=2, target_column=2), root)
    >>> table.X
    array([[1., 2.],
           [4., 5.]])
    >>> table.y
    array([3., 6.])
    """
    info = _info(name)
    if download and _find(info, data_dir) is None:
        from extranets.data.download import download as fetch  # here, because it imports this module

        data_dir = fetch(info.name)
    folder = _folder(info, data_dir)
    path = _data_file(info, folder)
    values = read_table(path)
    if len(values) != info.rows:
        raise ValueError(f"{path}: {len(values)} rows, but {info.name} has {info.rows}")
    features, target = _columns(info, folder, n_columns=values.shape[1])
    check_finite(path, values, [*features, target])
    return Table(info.name, X=np.ascontiguousarray(values[:, features]), y=values[:, target].copy())


def splits(n_rows: int, n_splits: int) -> Iterator[tuple[Rows, Rows]]:
    """Make the benchmark's random splits: 90 % of the rows train, 10 % test.

    One seeded stream gives one permutation after the other, so the first splits do not depend on ``n_splits``.

    Parameters
    ----------
    n_rows : int
        Number of rows of the data set, at least 5; with fewer the test part would be empty.
    n_splits : int
        Number of splits.

    Yields
    ------
    train, test : ndarrays of int64
        Row numbers, in the order of the permutation. Shapes ``(round(0.9 * n_rows),)`` and the rest.

    Examples
    --------
    >>> train, test = next(splits(308, 20))
    >>> len(train), test[:3]
    (277, array([121, 115, 286]))
    """
    n_train = round(TRAIN_FRACTION * n_rows)
    if n_rows < 1 or n_train == n_rows:
        raise ValueError(f"n_rows must be at least 5, got {n_rows!r}")
    rng = np.random.RandomState(SPLIT_SEED)
    for _ in range(n_splits):
        order = rng.choice(n_rows, n_rows, replace=False).astype(np.int64)
        yield order[:n_train], order[n_train:]


def stored_splits(name: str | DatasetInfo, data_dir: PathLike | None = None) -> list[tuple[Rows, Rows]]:
    """Read the splits that lie beside the data, to check those of :meth:`DatasetInfo.splits` against.

    Parameters
    ----------
    name : str or DatasetInfo
        As in :func:`load`.
    data_dir : path-like or None, default=None
        As in :func:`load`.

    Returns
    -------
    list of (train, test)
        Row numbers as stored, two int64 arrays for each split.

    Raises
    ------
    FileNotFoundError
        If an index file is missing.
    ValueError
        If the number of splits is not the expected one, or a split does not hold every row exactly once.
    """
    info = _info(name)
    folder = _folder(info, data_dir)
    _check_split_count(info, folder / "n_splits.txt")
    return [_stored_split(info, folder, i) for i in range(info.n_splits)]


def stored_split(name: str | DatasetInfo, index: int, data_dir: PathLike | None = None) -> tuple[Rows, Rows] | None:
    """One of the splits of :func:`stored_splits`, or None if its index files are not there.

    Parameters
    ----------
    name : str or DatasetInfo
    index : int
        Number of the split, from 0.
    data_dir : path-like or None, default=None
        As in :func:`load`.

    Returns
    -------
    (train, test) or None
        Row numbers as stored, two int64 arrays.

    Raises
    ------
    ValueError
        As :func:`stored_splits`.
    """
    info = _info(name)
    folder = _folder(info, data_dir)
    if not any((folder / f"index_{part}_{index}.txt").exists() for part in ("train", "test")):
        return None
    _check_split_count(info, folder / "n_splits.txt")
    return _stored_split(info, folder, index)


def _info(name: str | DatasetInfo) -> DatasetInfo:
    if isinstance(name, DatasetInfo):
        return name
    if name not in DATASETS:
        raise ValueError(f"Unknown data set {name!r}. Known names: {', '.join(DATASETS)}.")
    return DATASETS[name]


def _folder(info: DatasetInfo, root: PathLike | None) -> Path:
    """Where the data set is, or else where it should be."""
    return _find(info, root) or data_dir(root) / info.folder / "data"


def _find(info: DatasetInfo, root: PathLike | None) -> Path | None:
    """The first folder with a data file of this set: below ``root`` or, if that is None, in the usual places."""
    roots = [root] if root is not None else [os.environ.get(ENVIRONMENT_VARIABLE), cache_dir()]
    folders = [Path(place).expanduser() / info.folder / "data" for place in roots if place]
    return next((folder for folder in folders if any((folder / file).is_file() for file in info.files)), None)


def _data_file(info: DatasetInfo, folder: Path) -> Path:
    for file in info.files:
        if (folder / file).is_file():
            return folder / file
    hint = " load(..., download=True) fetches it." if info.name in DATASETS else ""
    raise FileNotFoundError(f"No data file for {info.name}: looked for {', '.join(info.files)} in {folder}.{hint}")


def _columns(info: DatasetInfo, folder: Path, n_columns: int) -> tuple[list[int], int]:
    """The input columns and the target column, checked against what the data set should have."""
    features, target = _named_columns(info, folder, n_columns)
    if len(features) != info.features:
        raise ValueError(f"{folder}: {len(features)} input columns, but {info.name} has {info.features}")
    outside = [c for c in (*features, target) if not 0 <= c < n_columns]
    if outside:
        raise ValueError(f"{folder}: the index files name column {outside[0]}, but the data has {n_columns} columns")
    if target in features:
        raise ValueError(f"{folder}: column {target} is both an input and the target")
    return features, target


def _named_columns(info: DatasetInfo, folder: Path, n_columns: int) -> tuple[list[int], int]:
    features_file, target_file = folder / "index_features.txt", folder / "index_target.txt"
    if info.target_column is not None and not (features_file.exists() or target_file.exists()):
        return [c for c in range(n_columns) if c != info.target_column], info.target_column
    targets = read_indices(target_file).tolist()
    if len(targets) != 1:
        raise ValueError(f"{target_file}: one column number expected, got {len(targets)}")
    return read_indices(features_file).tolist(), targets[0]


def _check_split_count(info: DatasetInfo, path: Path) -> None:
    if path.is_file():
        stored = read_indices(path).tolist()
        if stored != [info.n_splits]:
            raise ValueError(f"{path}: holds {stored}, but {info.name} has {info.n_splits} splits")


def _stored_split(info: DatasetInfo, folder: Path, i: int) -> tuple[Rows, Rows]:
    train = read_indices(folder / f"index_train_{i}.txt")
    test = read_indices(folder / f"index_test_{i}.txt")
    if not np.array_equal(np.sort(np.concatenate([train, test])), np.arange(info.rows)):
        raise ValueError(f"{folder}: split {i} does not hold each of the {info.rows} rows exactly once")
    return train, test
