"""What predicts: one file per kind of networks and how they make a mean and a spread."""

from extranets.predictor.sources.dropout_passes import DropoutPasses
from extranets.predictor.sources.folds import FoldNetworks
from extranets.predictor.sources.gaussian_weights import GaussianWeights, WeightSamples
from extranets.predictor.sources.linearised import Linearised
from extranets.predictor.sources.networks import Recipe, TrainedNetworks
from extranets.predictor.sources.resampled import Resampled
from extranets.predictor.sources.stack import Stack

__all__ = [
    "DropoutPasses",
    "FoldNetworks",
    "GaussianWeights",
    "Linearised",
    "Recipe",
    "Resampled",
    "Stack",
    "TrainedNetworks",
    "WeightSamples",
]
