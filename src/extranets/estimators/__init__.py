"""scikit-learn estimators."""

from extranets.estimators.extra_nets import ExtraNetsRegressor

__all__ = ["ExtraNetsRegressor"]
