"""Regression with ensembles of thinned neural networks and honest prediction intervals."""

from extranets import _interrupt  # noqa: F401, I001  before all that takes long
from importlib.metadata import version

from extranets.engine.build import build_info
from extranets.estimators import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    MeanVarianceRegressor,
    PBPRegressor,
    StackedNetsRegressor,
    VariationalRegressor,
)
from extranets.model_file import ModelFileError, load
from extranets.predictor.novelty import NoveltyWarning
from extranets.tuning import tune

__version__ = version("extranets")

__all__ = [
    "BootstrapNetsRegressor",
    "DeepEnsembleRegressor",
    "DeltaMethodRegressor",
    "ExtraNetsRegressor",
    "MCDropoutRegressor",
    "MeanVarianceRegressor",
    "ModelFileError",
    "NoveltyWarning",
    "PBPRegressor",
    "StackedNetsRegressor",
    "VariationalRegressor",
    "build_info",
    "load",
    "tune",
]
