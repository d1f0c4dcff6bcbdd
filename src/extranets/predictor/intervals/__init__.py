"""One file per construction. Each turns the members' spread and the noise into the variances of a prediction.

A new one is named here; an estimator that offers it names it among its ``intervals``.
"""

from extranets.predictor.intervals.bootstrap_averaged import BootstrapAveraged
from extranets.predictor.intervals.bootstrap_bias_corrected import BootstrapBiasCorrected
from extranets.predictor.intervals.bootstrap_normal import BootstrapNormal
from extranets.predictor.intervals.bootstrap_percentile import BootstrapPercentile
from extranets.predictor.intervals.calibrated import Calibrated
from extranets.predictor.intervals.cv_plus import CvPlus
from extranets.predictor.intervals.delta import Delta
from extranets.predictor.intervals.jackknife_plus import JackknifePlus
from extranets.predictor.intervals.paper import Paper
from extranets.predictor.intervals.total import Total
from extranets.predictor.part import Interval

KINDS: tuple[type[Interval], ...] = (
    Calibrated,
    Paper,
    Total,
    CvPlus,
    BootstrapAveraged,
    BootstrapNormal,
    BootstrapBiasCorrected,
    BootstrapPercentile,
    JackknifePlus,
    Delta,
)

INTERVALS: dict[str, type[Interval]] = {kind.name: kind for kind in KINDS}

__all__ = [
    "INTERVALS",
    "KINDS",
    "BootstrapAveraged",
    "BootstrapBiasCorrected",
    "BootstrapNormal",
    "BootstrapPercentile",
    "Calibrated",
    "CvPlus",
    "Delta",
    "JackknifePlus",
    "Paper",
    "Total",
]
