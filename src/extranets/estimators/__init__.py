"""scikit-learn estimators."""

from extranets.estimators.base import NetsRegressor
from extranets.estimators.bootstrap_nets import BootstrapNetsRegressor
from extranets.estimators.deep_ensemble import DeepEnsembleRegressor
from extranets.estimators.delta_method import DeltaMethodRegressor
from extranets.estimators.extra_nets import ExtraNetsRegressor
from extranets.estimators.mc_dropout import MCDropoutRegressor
from extranets.estimators.mean_variance import MeanVarianceRegressor
from extranets.estimators.pbp import PBPRegressor
from extranets.estimators.stacked_nets import StackedNetsRegressor
from extranets.estimators.variational import VariationalRegressor

# Names for command lines and tables.
METHODS: dict[str, type[NetsRegressor]] = {
    "stack": StackedNetsRegressor,
    "extra-nets": ExtraNetsRegressor,
    "bootstrap": BootstrapNetsRegressor,
    "mc-dropout": MCDropoutRegressor,
    "deep-ensemble": DeepEnsembleRegressor,
    "mean-variance": MeanVarianceRegressor,
    "delta": DeltaMethodRegressor,
    "variational": VariationalRegressor,
    "pbp": PBPRegressor,
}

__all__ = [
    "BootstrapNetsRegressor",
    "DeepEnsembleRegressor",
    "DeltaMethodRegressor",
    "ExtraNetsRegressor",
    "MCDropoutRegressor",
    "MeanVarianceRegressor",
    "PBPRegressor",
    "StackedNetsRegressor",
    "VariationalRegressor",
]
