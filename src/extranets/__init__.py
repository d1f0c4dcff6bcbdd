"""Regression with ensembles of thinned neural networks and honest prediction intervals."""

from extranets import _interrupt  # noqa: F401  before all that takes long
from extranets.engine.build import build_info
from extranets.estimators import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    MeanVarianceRegressor,
    PBPRegressor,
    VariationalRegressor,
)
from extranets.model_file import ModelFileError, load
from extranets.tuning import tune

__version__ = "0.1.0"

__all__ = [
    "BootstrapNetsRegressor",
    "DeepEnsembleRegressor",
    "DeltaMethodRegressor",
    "ExtraNetsRegressor",
    "MCDropoutRegressor",
    "MeanVarianceRegressor",
    "ModelFileError",
    "PBPRegressor",
    "VariationalRegressor",
    "build_info",
    "load",
    "tune",
]
