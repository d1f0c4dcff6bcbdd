"""Training and forward passes: the only doors to the networks' arithmetic.

``native`` is the compiled engine, ``cuda`` that of NVIDIA GPUs; ``doors`` chooses between them. ``reference`` is the readable
specification that both are tested against. ``variational`` and ``pbp`` train Gaussian posteriors instead of points;
``reference_variational`` and ``reference_pbp`` specify them. What a call is given stands in ``data``, ``passes`` and
``options``.
"""

from extranets.engine import pbp, variational
from extranets.engine.checkpoints import keeping
from extranets.engine.data import TrainingData
from extranets.engine.doors import DEVICES, Device, Machine, Moments, forward, moments, train, train_all
from extranets.engine.native import TrainingDiverged, gradient, jacobian, random_words
from extranets.engine.options import Options, Trained, Training, joined
from extranets.engine.passes import Passes
from extranets.engine.windows import RowSource, WindowedData
from extranets.engine.workers import WorkersLost

__all__ = [
    "DEVICES",
    "Device",
    "Machine",
    "Moments",
    "Options",
    "Passes",
    "RowSource",
    "Trained",
    "Training",
    "TrainingData",
    "TrainingDiverged",
    "WindowedData",
    "WorkersLost",
    "forward",
    "gradient",
    "jacobian",
    "joined",
    "keeping",
    "moments",
    "pbp",
    "random_words",
    "train",
    "train_all",
    "variational",
]
