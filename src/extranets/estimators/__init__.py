"""scikit-learn estimators."""

from extranets.estimators.bootstrap_nets import BootstrapNetsRegressor
from extranets.estimators.extra_nets import ExtraNetsRegressor

__all__ = ["BootstrapNetsRegressor", "ExtraNetsRegressor"]
