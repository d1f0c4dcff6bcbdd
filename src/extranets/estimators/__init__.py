"""scikit-learn estimators."""

from extranets.estimators.bootstrap_nets import BootstrapNetsRegressor
from extranets.estimators.deep_ensemble import DeepEnsembleRegressor
from extranets.estimators.delta_method import DeltaMethodRegressor
from extranets.estimators.extra_nets import ExtraNetsRegressor
from extranets.estimators.mc_dropout import MCDropoutRegressor
from extranets.estimators.mean_variance import MeanVarianceRegressor
from extranets.estimators.pbp import PBPRegressor
from extranets.estimators.variational import VariationalRegressor

__all__ = [
    "BootstrapNetsRegressor",
    "DeepEnsembleRegressor",
    "DeltaMethodRegressor",
    "ExtraNetsRegressor",
    "MCDropoutRegressor",
    "MeanVarianceRegressor",
    "PBPRegressor",
    "VariationalRegressor",
]
