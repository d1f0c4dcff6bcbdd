"""The CUDA kernels under the sanitisers of this machine's compiler: threads that race, and reads beyond arrays.

On a GPU both would give wrong numbers only once in a while. Threads of a block are threads here, `barrier` is a real one, and
a warp has several lanes in some of the runs.
"""

from __future__ import annotations

import pytest

from tests.engine.sanitisers import run_sanitised

pytestmark = pytest.mark.slow

PROGRAM = """
    import sys
    import numpy as np
    from dataclasses import replace
    from extranets.encodings import learn_periodic, learn_piecewise_linear
    from extranets.engine import Options, Passes, TrainingData, cuda, train
    from extranets.engine.cuda import training
    from extranets.networks import Architecture, draw_members
    from tests.engine.conftest import at_most_in_shared
    from tests.engine.cuda_on_host import HostGpu

    flags, lanes = (sys.argv[1], "-O1", "-g"), int(sys.argv[2])
    training.fixed_for = lambda *_: ()
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(29, 3)).astype(np.float32), rng.normal(size=(29, 2)).astype(np.float32)
    base = Options(n_epochs=2, batch_size=8)
    gaussian = replace(base, loss="gaussian_nll", warm_up_epochs=1, validation_fraction=0.25, patience=1)
    steps = {"adversarial": [0.1, 0.02, 0.05]}
    bins, waves = learn_piecewise_linear(X, 4), learn_periodic(X, 4)
    counts = {"counts": rng.poisson(1.0, (2, 29)), "count_rows": [1, -1]}
    kinds = [
        ((9, 6, 5), 2, None, replace(base, dropout_keep=0.7, input_keep=0.8), {"weight": rng.uniform(0.5, 2, 29)}),
        ((9, 6), 2, None, replace(base, max_grad_norm=0.3, n_starts=2), counts),
        ((7, 5), 4, None, gaussian, steps),
        ((), 2, None, replace(base, max_grad_norm=0.3), steps),
        ((9, 6), 2, bins, replace(base, input_keep=0.8, max_grad_norm=0.3), steps),
        ((6,), 4, bins, gaussian, {}),
        ((6,), 2, bins, base, steps),
        ((9, 6), 2, waves, replace(base, input_keep=0.8, dropout_keep=0.8), steps),
        ((), 4, waves, gaussian, steps),
        ((), 2, bins, replace(base, max_grad_norm=0.3), steps),
    ]
    for most in range(4):
        training.in_shared_memory = at_most_in_shared(most)
        gpu = HostGpu(1 << 30 if most else 0, n_threads=4, lanes=lanes, flags=flags)
        cuda.the_gpu = lambda: gpu
        for hidden, heads, encoding, options, given in kinds:
            members = draw_members(Architecture(3, hidden, 2, heads, encoding), 0.8, seed=5, ids=np.arange(2))
            trained = train(members, TrainingData(X, y, **given), options, 9, device="cuda")
            cuda.forward(trained.ensemble, X, Passes(3, dropout_keep=0.7, input_keep=0.8))
            cuda.Moments(trained.ensemble)(X)
    print("all trained", len(gpu.launched))
"""


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("kind", ["thread", "address"])
def test_sanitisers_find_nothing(kind, lanes):
    assert run_sanitised(kind, PROGRAM, f"-fsanitize={kind}", str(lanes)).startswith("all trained")
