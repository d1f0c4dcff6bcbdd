"""Bias-corrected interval (equation "pred2c" of Section 3.2): 2 f(x) - f_bar(x), with the variance of "pred2b".

The resampled networks' mean less the full-sample network estimates the network's bias, which is taken off once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from extranets.model_file import storable
from extranets.predictor.intervals.bootstrap_normal import BootstrapNormal


@storable("BootstrapBiasCorrected")
@dataclass(frozen=True)
class BootstrapBiasCorrected(BootstrapNormal):
    """With the variances of the Normal interval: the spread of the resampled networks stands for that of the corrected one."""

    name: ClassVar[str] = "bias_corrected"
    centre: ClassVar[str] = "corrected"
