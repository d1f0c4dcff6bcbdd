"""Estimators with ``device="cuda"``: the same models as on the CPU, to rounding, and files that know of no device.

Here the kernels are compiled for the CPU; tests on a real GPU are at the end.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

import extranets
from extranets import ExtraNetsRegressor, StackedNetsRegressor
from extranets.data import linear_process
from extranets.engine import cuda
from extranets.engine.cuda import gpu, training
from extranets.estimators.trained import TrainedRegressor
from extranets.stacking import Kind
from tests.engine.cuda_on_host import HostGpu
from tests.estimators.conftest import small, with_known
from tests.gpu import gpu_or_none, needs_gpu
from tests.model_file.forging import take_apart

pytestmark = pytest.mark.filterwarnings(
    "ignore:J'J is near singular", "ignore:.*out-of-bag", "ignore:.*too few to promise", "ignore:.*collapse_r2"
)

WITH_DEVICE = [name for name in extranets.estimators.__all__ if "device" in small(name).get_params()]
# Some twenty steps of size 1e-3 that neither stop early nor are replaced: nothing that a last bit could decide.
SHORT = {
    "hidden_layer_sizes": (9,),
    "max_iter": 3,
    "learning_rate_init": 1e-3,
    "early_stopping": False,
    "max_restarts": 0,
    "collapse_r2": -1e9,
}


@pytest.fixture(scope="module")
def table():
    return linear_process(150, random_state=1).split(110)


@pytest.fixture(params=WITH_DEVICE)
def estimator(request):
    return with_known(small(request.param), SHORT | {"n_folds": 2})


@pytest.fixture(autouse=True)
def short_kinds(monkeypatch):
    """A stack's kinds are trained as shortly as the other estimators' networks."""
    own = Kind.options
    changes = {"n_epochs": SHORT["max_iter"], "learning_rate": SHORT["learning_rate_init"], "max_restarts": 0}
    monkeypatch.setattr(Kind, "options", lambda self, *args: replace(own(self, *args), **changes, collapse_r2=-1e9))


@pytest.fixture
def kernels(monkeypatch):
    """A GPU that is none."""
    stand_in = HostGpu()
    monkeypatch.setattr(cuda, "the_gpu", lambda: stand_in)
    monkeypatch.setattr(training, "fixed_for", lambda *_: ())  # one compilation for all tests
    return stand_in


@pytest.fixture
def no_gpu(monkeypatch):
    """remove(): from now on there is no GPU, whatever the machine has."""

    def remove():
        def none():
            raise gpu.NoGpu("none here")

        monkeypatch.setattr(cuda, "the_gpu", none)

    return remove


def predictions(model, X):
    parts = model.predict_components(X)
    return {
        "mean": model.predict(X),
        "members": model.predict_members(X),
        "epistemic": parts.epistemic,
        "aleatoric": parts.aleatoric,
        "interval": model.predict_interval(X, [0.5, 0.9]),
        "quantiles": model.predict_quantiles(X, [0.1, 0.6]),
    }


def assert_alike(a, b, scale, tolerance, noise=None):
    """To a share of the targets' standard deviation; what is squared, to the same share of the variance.

    ``noise`` is the share for what depends on the noise that a fit has found: optimisers stop some 1e-4 from the best.
    """
    for name in a:
        share = tolerance if noise is None or name in ("mean", "members") else noise
        unit = scale**2 if name in ("epistemic", "aleatoric") else scale
        np.testing.assert_allclose(a[name], b[name], atol=share * unit, rtol=share, err_msg=name)


def test_estimators_whose_networks_adam_trains_have_a_device():
    """All whose networks Adam trains."""
    assert set(WITH_DEVICE) == {
        name
        for name in extranets.estimators.__all__
        if issubclass(getattr(extranets.estimators, name), TrainedRegressor | StackedNetsRegressor)
    }
    assert {"ExtraNetsRegressor", "StackedNetsRegressor"} <= set(WITH_DEVICE) and len(WITH_DEVICE) >= 6


def test_both_devices_make_the_same_model(estimator, table, kernels):
    """Rounding of 1e-7 grows little along so short a training: 2e-5 is a tenth of what one wrong step would make."""
    X, y, others, _ = table
    expected = predictions(clone(estimator).fit(X, y), others)
    assert not kernels.launched
    model = clone(estimator).set_params(device="cuda").fit(X, y)
    assert "train_steps" in {name for name, _ in kernels.launched}
    kernels.launched.clear()
    assert_alike(predictions(model, others), expected, y.std(), 2e-5, noise=1e-3)
    if type(model).__name__ != "DeltaMethodRegressor":  # its formulas need the network's Jacobian
        assert "forward_rows" in {name for name, _ in kernels.launched}


@pytest.mark.parametrize(
    "changes",
    [
        {"numeric_encoding": "piecewise_linear", "n_bins": 6},
        {"numeric_encoding": "periodic", "n_bins": 4},
        {"noise": "holdout"},
        {"alpha": 0.1, "max_grad_norm": 0.5},
        {"early_stopping": True, "validation_fraction": 0.3},
    ],
    ids=str,
)
def test_both_devices_with_options(table, kernels, changes):
    X, y, others, _ = table
    model = small("ExtraNetsRegressor").set_params(**{**SHORT, **changes})
    expected = predictions(clone(model).fit(X, y), others)
    assert_alike(
        predictions(clone(model).set_params(device="cuda").fit(X, y), others), expected, y.std(), 2e-5, noise=1e-3
    )


def test_two_outputs_and_weights(table, kernels):
    X, y, others, _ = table
    y = np.column_stack([y, 3 - 2 * y])
    weight = np.random.default_rng(0).uniform(0, 2, len(y)) * (np.arange(len(y)) % 5 > 0)
    model = small("ExtraNetsRegressor").set_params(**SHORT)
    one, other = (
        predictions(clone(model).set_params(device=device).fit(X, y, sample_weight=weight), others)
        for device in ("cpu", "cuda")
    )
    assert_alike(other, one, y.std(), 2e-5, noise=1e-3)


def test_more_networks_by_warm_start(table, kernels):
    X, y, others, _ = table
    few = ExtraNetsRegressor(3, device="cuda", warm_start=True, random_state=0, **SHORT).fit(X, y)
    more = few.set_params(n_estimators=6).fit(X, y).predict_members(others)
    once = ExtraNetsRegressor(6, device="cuda", random_state=0, **SHORT).fit(X, y).predict_members(others)
    np.testing.assert_array_equal(more, once)


# -- files ---------------------------------------------------------------------------------------------------------------


def test_a_file_knows_of_no_device(estimator, table, kernels, no_gpu, tmp_path):
    X, y, others, _ = table
    model = estimator.set_params(device="cuda").fit(X, y)
    expected = predictions(model, others)
    model.save(tmp_path / "model.xnet")
    assert b"cuda" not in (tmp_path / "model.xnet").read_bytes()
    no_gpu()
    loaded = extranets.load(tmp_path / "model.xnet")
    assert loaded.device == "cpu"
    assert_alike(predictions(loaded, others), expected, y.std(), 1e-5)
    loaded.fit(X, y)  # and it trains where it is


def test_files_from_both_devices_have_the_same_parameters(estimator, table, kernels, tmp_path):
    X, y, _, _ = table
    parameters = []
    for device in ("cpu", "cuda"):
        clone(estimator).set_params(device=device).fit(X, y).save(tmp_path / device)
        parameters.append(take_apart((tmp_path / device).read_bytes()).stored["parameters"])
    assert parameters[0] == parameters[1] and "random_state" in str(parameters) and "device" not in str(parameters)


def test_a_loaded_model_moves_to_the_gpu(table, kernels, tmp_path):
    X, y, others, _ = table
    model = small("ExtraNetsRegressor").set_params(**SHORT).fit(X, y)
    model.save(tmp_path / "model.xnet")
    loaded = extranets.load(tmp_path / "model.xnet").set_params(device="cuda")
    assert_alike(predictions(loaded, others), predictions(model, others), y.std(), 1e-5)
    assert "forward_rows" in {name for name, _ in kernels.launched}


def test_a_pickle_keeps_the_device(estimator, table, kernels):
    X, y, others, _ = table
    model = estimator.set_params(device="cuda").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.device == "cuda"
    np.testing.assert_array_equal(again.predict(others), model.predict(others))


# -- the parameter -------------------------------------------------------------------------------------------------------


def test_the_device_is_set_and_cloned_like_other_parameters(estimator):
    assert estimator.device == "cpu" == estimator.get_params()["device"]
    assert clone(estimator.set_params(device="cuda")).device == "cuda"
    assert "device='cuda'" in repr(estimator)


def test_other_devices_are_refused(estimator, table):
    with pytest.raises(InvalidParameterError, match="device"):
        estimator.set_params(device="tpu").fit(*table[:2])


def test_without_a_gpu_nothing_is_fitted(estimator, table, no_gpu):
    no_gpu()
    with pytest.raises(gpu.NoGpu, match="none here"):
        estimator.set_params(device="cuda").fit(*table[:2])
    with pytest.raises(NotFittedError):
        estimator.predict(table[2])


@pytest.mark.skipif(gpu_or_none() is not None, reason="this machine has a GPU")
def test_on_a_machine_without_a_gpu(table):
    """The real thing: no stand-in."""
    model = ExtraNetsRegressor(3, device="cuda", **SHORT)
    with pytest.raises(gpu.NoGpu, match="device='cuda'"):
        model.fit(*table[:2])
    with pytest.raises(NotFittedError):
        model.predict(table[2])


def test_a_refit_that_fails_does_not_keep_half_a_model(table, kernels, no_gpu):
    X, y, others, _ = table
    model = ExtraNetsRegressor(3, random_state=0, **SHORT).fit(X, y)
    no_gpu()
    with pytest.raises(gpu.NoGpu):
        model.set_params(device="cuda").fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(others)


# -- on a GPU ------------------------------------------------------------------------------------------------------------


@needs_gpu
def test_both_devices_make_the_same_model_on_the_gpu(estimator, table):
    """The GPU's divisions, roots and sines are good to a few units of the last place."""
    X, y, others, _ = table
    expected = predictions(clone(estimator).fit(X, y), others)
    assert_alike(
        predictions(clone(estimator).set_params(device="cuda").fit(X, y), others), expected, y.std(), 5e-5, noise=1e-3
    )


@needs_gpu
def test_two_fits_on_the_gpu_are_the_same_bits(estimator, table):
    X, y, others, _ = table
    estimator.set_params(device="cuda")
    if "max_iter" in estimator.get_params():
        estimator.set_params(max_iter=20)
    first, again = (predictions(clone(estimator).fit(X, y), others) for _ in range(2))
    for name, values in first.items():
        np.testing.assert_array_equal(again[name], values, err_msg=name)


LOAD = """
    import sys, numpy as np, extranets
    from sklearn.exceptions import NotFittedError
    model = extranets.load(sys.argv[1])
    assert model.device == "cpu"
    np.save(sys.argv[3], model.predict(np.load(sys.argv[2])))
    try:
        model.set_params(device="cuda").fit(np.load(sys.argv[2]), np.arange(40.0))
    except extranets.engine.cuda.NoGpu as error:
        print(error)
"""


@needs_gpu
def test_a_process_without_a_gpu_loads_what_was_trained_on_one(table, tmp_path):
    X, y, others, _ = table
    model = small("ExtraNetsRegressor").set_params(device="cuda", max_iter=20).fit(X, y)
    model.save(tmp_path / "model.xnet")
    np.save(tmp_path / "rows.npy", others)
    files = [str(tmp_path / name) for name in ("model.xnet", "rows.npy", "out.npy")]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LOAD), *files],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    np.testing.assert_allclose(np.load(files[2]), model.predict(others), atol=1e-5 * y.std())
    assert "use device='cpu'" in done.stdout


INTERRUPTED_FIT = """
    import numpy as np, time
    from sklearn.exceptions import NotFittedError
    from extranets import ExtraNetsRegressor
    X = np.random.default_rng(0).normal(size=(5000, 20)); y = X[:, 0] ** 2
    ExtraNetsRegressor(max_iter=1, device="cuda").fit(X, y)  # compiles
    model = ExtraNetsRegressor(max_iter=1_000_000, device="cuda")
    print("started", flush=True)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print("stopped", time.time(), flush=True)
    try:
        model.predict(X)
    except NotFittedError:
        print("unfitted", flush=True)
    print(np.isfinite(ExtraNetsRegressor(max_iter=1, device="cuda").fit(X, y).predict(X)).all(), flush=True)
"""


@needs_gpu
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_a_fit_on_the_gpu_and_leaves_it_unfitted():
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED_FIT)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "started\n"
    time.sleep(1.0)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    stopped, unfitted, fits_again = out.splitlines()
    assert stopped.startswith("stopped") and float(stopped.split()[1]) - sent < 1.0
    assert unfitted == "unfitted" and fits_again == "True"
