"""Other methods on the same engine: stochastic passes of MC dropout, and the bootstrap beside extra-nets."""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from typing import Any

from benchmarks.machine import THREADS
from benchmarks.problem import SEED, Problem
from benchmarks.report import NOT_INSTALLED, QUIET_COLUMNS, Row, Section, target
from benchmarks.sizes import Sizes
from benchmarks.timing import Stopwatch
from benchmarks.training import Progress
from extranets import BootstrapNetsRegressor, ExtraNetsRegressor
from extranets._arrays import Float32
from extranets.engine import Passes, moments, reference
from extranets.networks import Ensemble

KEEP = 0.9

COLUMNS = {
    "what": ("what", ""),
    "seconds": ("seconds", ".3f"),
    "ours": ("ours s", ".3f"),
    "ratio": ("ratio", ".2f"),
    "target": ("target", ".2f"),
    "met": ("met", ""),
    **QUIET_COLUMNS,
}


def _torch_passes(network: Ensemble, X: Float32, n_passes: int) -> Any:
    """The usual loop: dropout in a forward pass over all rows, as often as there are passes, then mean and variance."""
    import torch

    torch.set_num_threads(THREADS)
    layers = reference.unflatten(network.parameters, network.members.architecture, network.members.widths[0])
    (W1, b1), (W2, b2) = [[torch.from_numpy(part.astype("float32")) for part in layer] for layer in layers]
    rows = torch.from_numpy(X)

    @torch.inference_mode()
    def run() -> Any:
        passes = torch.empty(n_passes, len(rows))
        for index in range(n_passes):
            hidden = torch.nn.functional.dropout(torch.addmm(b1, rows, W1).relu_(), p=1 - KEEP, training=True)
            passes[index] = torch.addmm(b2, hidden, W2)[:, 0]
        return torch.var_mean(passes, 0, correction=0)

    return run


def dropout(sizes: Sizes, progress: Progress) -> Section:
    problem, n_passes = sizes.dropout, sizes.dropout_passes
    progress("MC dropout")
    network, X = problem.untrained()[:1], problem.data[0]
    passes = moments(network, Passes(n_passes, dropout_keep=KEEP, seed=SEED), n_threads=THREADS)
    watch = Stopwatch(sizes.patience)
    row: Row = {"what": "PyTorch, a loop over passes", "seconds": NOT_INSTALLED}
    if find_spec("torch"):
        ours, theirs = watch.interleaved(
            partial(passes, X), _torch_passes(network, X, n_passes), sizes.large_repeats, 1
        )
        row |= {"seconds": theirs, "ratio": theirs / ours, **target(theirs / ours, None, watch)}
    else:
        ours = watch.best({"ours": partial(passes, X)}, sizes.large_repeats)["ours"]
    row["ours"] = ours
    title = f"MC dropout: {n_passes:,} passes over {problem.rows:,} x {problem.inputs} rows, {problem.units} units"
    note = f"Mean and variance over the passes, p = {KEEP}; ours {1e9 * ours / n_passes / problem.rows:.1f} ns per pass and row."
    return Section(title, COLUMNS, [row], [note])


def bootstrap(sizes: Sizes, progress: Progress) -> Section:
    problem: Problem = sizes.fit
    progress("Bootstrap beside extra-nets")
    X, y = problem.data
    common = {"hidden_layer_sizes": (problem.units,), "max_iter": problem.epochs, "n_jobs": THREADS, "random_state": 0}
    extra = ExtraNetsRegressor.from_preset("paper", n_estimators=problem.members, **common)
    resampled = BootstrapNetsRegressor(problem.members, **common)
    watch = Stopwatch(sizes.patience)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows and networks in a quick run
        ours, other = watch.interleaved(
            lambda: resampled.fit(X, y), lambda: extra.fit(X, y), sizes.repeats, sizes.large_repeats
        )
    row = {"what": f"ExtraNetsRegressor.fit, {problem}", "seconds": other, "ours": ours, "ratio": other / ours}
    row |= target(other / ours, sizes.target(0.9), watch)
    note = (
        "Ours: BootstrapNetsRegressor.fit, out-of-bag predictions included. It trains one network more, and no unit is removed, "
        "so equal work per unit would give a ratio of 0.93."
    )
    return Section("Bootstrap beside extra-nets", COLUMNS, [row], [note])
