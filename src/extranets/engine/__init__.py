"""Training and forward passes: the only doors to the networks' arithmetic.

``native`` is the compiled engine that estimators use; ``reference`` is the readable specification it is tested against.
``variational`` and ``pbp`` train Gaussian posteriors instead of points; ``reference_variational`` and ``reference_pbp`` specify
them.
"""

from extranets.engine import pbp, variational
from extranets.engine.native import Moments, TrainingDiverged, forward, gradient, jacobian, random_words, train
from extranets.engine.options import Options, Trained

__all__ = [
    "Moments",
    "Options",
    "Trained",
    "TrainingDiverged",
    "forward",
    "gradient",
    "jacobian",
    "pbp",
    "random_words",
    "train",
    "variational",
]
