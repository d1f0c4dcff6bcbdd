"""How training is launched: how many threads, what lies in shared memory, and what the kernels are compiled for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from extranets._arrays import Float32
from extranets.engine import reference
from extranets.engine.cuda.gpu import FEW_THREADS, MOST_THREADS, OWN_SHARED_BYTES
from extranets.engine.cuda.layout import Layout
from extranets.engine.options import LOSSES, Options

FEW_TILES = 64  # of gradients: a network with at most so many is small
LAUNCH_SECONDS = 0.1  # of one launch at most, roughly: Ctrl-C and progress wait for its end
_SLOWEST = 2e10  # flop/s of one block of threads in the worst case
_STEP_SECONDS = 1e-5  # of a step, however small the network is


def in_shared_memory(layout: Layout, shared_bytes: int) -> tuple[int, int]:
    """How many of workspace, parameters and moments, in this order, fit into a block's shared memory; and their size in floats."""
    sizes = np.cumsum([0, layout.workspace_size, layout.block_size + layout.values_size, 2 * layout.block_size])
    n = int(np.searchsorted(sizes, max(shared_bytes - OWN_SHARED_BYTES, 0) // 4, side="right")) - 1
    return n, int(sizes[n])


def n_threads_for(layout: Layout) -> int:
    """Threads of a block: fewer for small networks, in which threads mostly wait for each other.

    Counted for the network without a mask, as is the layout, so that a member's result depends on no other member.
    """
    hidden = layout.architecture.hidden
    tiles = [-(-n_out // 4) * -(-(n_in + 1) // 8) for n_in, n_out in zip(layout.dense_inputs(), hidden, strict=False)]
    return MOST_THREADS if sum(tiles) > FEW_TILES else FEW_THREADS


def fixed_for(layout: Layout, options: Options, adversarial: bool) -> tuple[tuple[str, int], ...]:
    """The constants that kernels are compiled with: see kernels/problem.cuh."""
    a = layout.architecture
    return (
        ("SPEC_LAYERS", layout.n_layers),
        ("SPEC_HEADS", a.n_heads),
        ("SPEC_OUTPUTS", a.n_outputs),
        ("SPEC_LOSS", LOSSES.index(options.loss)),
        ("SPEC_ENCODES", int(a.n_first > a.n_inputs)),
        ("SPEC_BY_EDGES", int(layout.by_edges)),
        ("SPEC_DROPS_INPUTS", int(options.input_keep < 1)),
        ("SPEC_DROPS_UNITS", int(options.dropout_keep < 1)),
        ("SPEC_CLIPS", int(options.max_grad_norm > 0)),
        ("SPEC_ADVERSARIAL", int(adversarial)),
    )


def step_rates(options: Options, steps: npt.NDArray[np.int64], n_steps: int) -> Float32:
    """What Adam multiplies by in each of these steps: see ``native/adam.hpp``. Shape: ``(n,)`` -> ``(n, 3)``."""
    o = options
    rate = reference.scheduled_rate(o.learning_rate, o.schedule, steps, n_steps)
    first, second = (1 - np.power(float(np.float32(beta)), steps + 1.0) for beta in (o.beta1, o.beta2))
    return np.stack([-rate / first, 1 / np.sqrt(second), 1 - rate * o.weight_decay], axis=1).astype(np.float32)


def steps_at_once(layout: Layout, n_members: int, n_processors: int) -> int:
    """How many steps one launch does."""
    seconds = max(6.0 * layout.block_size * layout.n_rows / _SLOWEST, _STEP_SECONDS)
    return max(1, int(LAUNCH_SECONDS / (seconds * -(-n_members // n_processors))))
