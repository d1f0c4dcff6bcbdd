"""The two kinds of arrays of numbers: one name for each, everywhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]  # what users see, and all statistics
Float32 = npt.NDArray[np.float32]  # what networks read and write
