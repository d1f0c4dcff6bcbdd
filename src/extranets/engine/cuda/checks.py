"""What kernels cannot check: they would read beyond their arrays. The messages are those of the engine on the CPU."""

from __future__ import annotations

from extranets.engine.data import require
from extranets.engine.options import Options
from extranets.networks import MOST_LAYERS, Members


def check_training(members: Members, options: Options) -> None:
    a = members.architecture
    require(len(members) > 0, "an ensemble needs a member")
    require(len(a.hidden) <= MOST_LAYERS, "too many hidden layers")
    positive = min(options.batch_size, options.n_epochs, options.n_starts) >= 1
    require(positive, "batch_size, n_epochs and n_starts must be positive")
    require(a.n_heads == a.n_outputs * (2 if options.loss == "gaussian_nll" else 1), "heads do not fit the loss")
