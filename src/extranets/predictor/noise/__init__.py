"""One file per model of the noise."""

from extranets.predictor.noise.centred import CentredNoise
from extranets.predictor.noise.constant import ConstantNoise
from extranets.predictor.noise.heads import HeadNoise
from extranets.predictor.noise.leverage import LeverageNoise
from extranets.predictor.noise.networks import NetworkNoise

__all__ = ["CentredNoise", "ConstantNoise", "HeadNoise", "LeverageNoise", "NetworkNoise"]
