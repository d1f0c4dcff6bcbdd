"""Deep networks for tables, from pytabkit. They predict no intervals."""

from __future__ import annotations

import logging

from benchmarks.contest.scikit import Points
from benchmarks.machine import THREADS


def _silence() -> None:
    """Silence the lines about devices, and the advertisements, that each fit prints between ours."""
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def real_mlp(seed: int) -> Points:
    from pytabkit import RealMLP_TD_Regressor

    _silence()
    return Points(RealMLP_TD_Regressor(device=_device(), n_threads=THREADS, random_state=seed))


def tab_m(seed: int) -> Points:
    from pytabkit import TabM_D_Regressor

    _silence()
    return Points(TabM_D_Regressor(device=_device(), n_threads=THREADS, random_state=seed))
