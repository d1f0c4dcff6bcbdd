"""scikit-learn estimators."""

from extranets.estimators.bootstrap_nets import BootstrapNetsRegressor
from extranets.estimators.delta_method import DeltaMethodRegressor
from extranets.estimators.extra_nets import ExtraNetsRegressor

__all__ = ["BootstrapNetsRegressor", "DeltaMethodRegressor", "ExtraNetsRegressor"]
