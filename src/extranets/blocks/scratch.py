"""A scratch file of numbers, in rows that are read again in any order. It has no name: whatever ends the process removes it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing_extensions import Self


class ScratchError(OSError):
    """The scratch folder cannot take the rows."""

    exit_code = 3  # of the command line


class Scratch:
    """Columns as float32 and targets as float64, in two files without names.

    Parameters
    ----------
    folder : path, optional
        Where the files are; the system's folder for temporary files if not given.
    n_columns, n_outputs : int
    n_rows : int, optional
        If that is known, a folder without room for them is refused at once.
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, n_columns: int, n_outputs: int, n_rows: int | None = None
    ) -> None:
        self.folder = tempfile.gettempdir() if folder is None else os.fspath(folder)
        self.n_columns, self.n_outputs, self.n_rows = n_columns, n_outputs, 0
        if n_rows is not None:
            self._check_room(n_rows * (4 * n_columns + 8 * n_outputs))
        self._files: list[IO[bytes]] = []
        try:
            self._files += [tempfile.TemporaryFile(dir=self.folder) for _ in range(2)]  # noqa: SIM115  close() does
        except OSError as error:
            self.close()
            raise ScratchError(f"The scratch folder {self.folder} cannot be used ({error}). {_ADVICE}") from None

    def _check_room(self, n_bytes: int) -> None:
        try:
            free = shutil.disk_usage(self.folder).free
        except OSError:
            return  # making the files will tell
        if free < n_bytes:
            raise ScratchError(
                f"The scratch folder {self.folder} has {free / 1e9:.1f} GB of room, and the table needs {n_bytes / 1e9:.1f} GB. {_ADVICE}"
            )

    def append(self, X: npt.NDArray[np.float32], y: npt.NDArray[np.float64]) -> None:
        """Further rows. Shape: ``(n, n_columns)``, ``(n, n_outputs)``."""
        try:
            for file, values, kind in zip(self._files, (X, y), (np.float32, np.float64), strict=True):
                file.seek(0, os.SEEK_END)
                file.write(np.ascontiguousarray(values, dtype=kind).data)
                file.flush()  # so that a full disk is noticed here
        except OSError as error:
            raise ScratchError(
                f"The scratch folder {self.folder} cannot take row {self.n_rows + len(X):,} of the table ({error.strerror}); "
                f"it takes {4 * self.n_columns + 8 * self.n_outputs} bytes for each row. {_ADVICE}"
            ) from None
        self.n_rows += len(X)

    def columns(self, begin: int, end: int) -> npt.NDArray[np.float32]:
        """Shape: -> ``(end - begin, n_columns)``."""
        return self._read(0, begin, end, self.n_columns, np.float32)

    def targets(self, begin: int, end: int) -> npt.NDArray[np.float64]:
        """Shape: -> ``(end - begin, n_outputs)``."""
        return self._read(1, begin, end, self.n_outputs, np.float64)

    def _read(self, which: int, begin: int, end: int, width: int, kind: Any) -> npt.NDArray[Any]:
        out = np.empty((end - begin, width), dtype=kind)
        file = self._files[which]
        file.seek(begin * width * out.itemsize)
        if cast(Any, file).readinto(out.data.cast("B")) != out.nbytes:
            raise ScratchError(f"The scratch file in {self.folder} ends before row {end:,}.")
        return out

    def close(self) -> None:
        """Remove the files."""
        for file in self._files:
            with contextlib.suppress(OSError):  # what could not be written is not wanted any more
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_ADVICE = "Give another folder: scratch=FOLDER (--scratch FOLDER)."
