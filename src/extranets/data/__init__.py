"""Where the rows come from: two simulated processes and the ten benchmark tables, read from local files.

``extranets.data.download`` fetches benchmark tables; nothing else here uses the network.
"""

from __future__ import annotations

from extranets.data.loading import load
from extranets.data.processes import Simulated, linear_process, nonlinear_process
from extranets.data.rents import simulated_rents
from extranets.data.uci import (
    DATASETS,
    DatasetInfo,
    Table,
    available,
    cache_dir,
    data_dir,
    splits,
    stored_split,
    stored_splits,
)

__all__ = [
    "DATASETS",
    "DatasetInfo",
    "Simulated",
    "Table",
    "available",
    "cache_dir",
    "data_dir",
    "linear_process",
    "load",
    "nonlinear_process",
    "simulated_rents",
    "splits",
    "stored_split",
    "stored_splits",
]
