"""Data sets of the empirical study, fetched first where that is asked for."""

from __future__ import annotations

from extranets.data.download import download as fetch
from extranets.data.uci import DatasetInfo, PathLike, Table, available, read


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
    if download and isinstance(name, str) and name not in available(data_dir):
        data_dir = fetch(name)
    return read(name, data_dir)
