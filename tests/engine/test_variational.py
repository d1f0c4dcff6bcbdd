"""Variational inference: the reference against finite differences and closed forms, the native engine against the reference."""

from __future__ import annotations

import itertools
import math
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from extranets import _random
from extranets.engine import Options, TrainingData, TrainingDiverged, forward, pbp, reference, variational
from extranets.engine import reference_variational as specification
from extranets.engine.options import LOG_VARIANCE_LIMIT
from extranets.networks import Architecture, draw_members

HIDDEN = [(), (5,), (20, 7), (3, 17, 2)]
SEED = 9


def make(hidden, n=37, n_inputs=3, n_outputs=2, ids=(0, 3), keep=1.0, data_seed=0):
    rng = np.random.default_rng(data_seed)
    members = draw_members(Architecture(n_inputs, hidden, n_outputs, n_outputs), keep, seed=5, ids=np.array(ids))
    X = rng.normal(size=(n, n_inputs)).astype(np.float32)
    y = rng.normal(size=(n, n_outputs)).astype(np.float32)
    return members, X, y, rng.uniform(0.5, 2, n).astype(np.float32)


def one_of(posterior, i):
    """Mean and standard deviation of one member."""
    part = slice(*posterior.members.offsets[i : i + 2])
    return posterior.mean[part].astype(np.float64), posterior.std[part].astype(np.float64)


# -- the reference -----------------------------------------------------------------------------------------------------


def some_state(hidden, seed=0):
    """A posterior with nothing special about it."""
    rng = np.random.default_rng(seed)
    q = specification.initial(Architecture(3, hidden, 2, 2), hidden, seed=1, member=0)
    q.mean += 0.3 * rng.normal(size=q.mean.shape)
    q.log_std += rng.normal(size=q.mean.shape)
    q.log_noise += rng.normal(size=2)
    q.prior_variance = 0.7
    return q


def test_graves_slope_is_the_expected_curvature_of_a_linear_model():
    """y = w x with unit noise: the slope of E[loss] in log_std is std^2 x^2, whatever the draw.

    The squared gradients of rows have that expectation where the model is right: (w x - y)^2 x^2 with (w x - y)^2 of mean one.
    20,000 rows; the error of the mean of z^2 x^2 / 2 is sqrt(3 * 3 - 1) / sqrt(20,000) = 0.02 of it, of which four are allowed.
    """
    rng = np.random.default_rng(0)
    q = replace(specification.initial(Architecture(1, (), 1, 1), (), seed=1, member=0), graves=True)
    q.mean[:], q.log_std[:] = [0.7, 0.0], math.log(1e-4)
    x = rng.normal(size=(20_000, 1))
    y = 0.7 * x + rng.normal(size=x.shape)
    d_log_std = specification.objective_and_gradients(q, np.zeros(2), x, y, np.ones(len(x)), 0.0)[2]
    np.testing.assert_allclose(d_log_std / 1e-8, [np.mean(x**2), 1.0], rtol=0.08)


def test_graves_prior_has_its_best_mean_and_variance():
    q = replace(some_state((4,)), graves=True)
    specification.fit_prior(q)
    least = specification.kl_divergence(q)
    for name in ("prior_mean", "prior_variance"):
        for step in (-0.01, 0.01):
            assert specification.kl_divergence(replace(q, **{name: getattr(q, name) + step})) > least


@pytest.mark.parametrize("hidden", HIDDEN)
def test_gradients_match_central_differences(hidden):
    q = some_state(hidden)
    rng = np.random.default_rng(1)
    draw = rng.normal(size=q.mean.shape)
    data = rng.normal(size=(11, 3)), rng.normal(size=(11, 2)), rng.uniform(0.5, 2, 11)
    gradients = specification.objective_and_gradients(q, draw, *data, 0.05)[1:]
    step = 1e-6
    for name, gradient in zip(["mean", "log_std", "log_noise"], gradients, strict=True):
        numeric = np.empty_like(gradient)
        for i in range(len(gradient)):
            values = []
            for sign in (1, -1):
                moved = getattr(q, name).copy()
                moved[i] += sign * step
                values.append(specification.objective_and_gradients(replace(q, **{name: moved}), draw, *data, 0.05)[0])
            numeric[i] = (values[0] - values[1]) / (2 * step)
        # The error of a central difference is of the order step^2 + rounding / step, here below 1e-7.
        np.testing.assert_allclose(gradient, numeric, atol=1e-7, rtol=1e-7, err_msg=name)


def test_kl_divergence_matches_monte_carlo():
    """Mean of log q - log p over 100,000 draws from q, within 4 standard errors."""
    q = some_state((4,))
    std = np.exp(q.log_std)
    w = q.mean + std * np.random.default_rng(2).normal(size=(100_000, len(q.mean)))
    log_ratio = stats.norm.logpdf(w, q.mean, std) - stats.norm.logpdf(w, 0, np.sqrt(q.prior_variance))
    total = log_ratio.sum(axis=1)
    assert abs(specification.kl_divergence(q) - total.mean()) < 4 * stats.sem(total)


def test_best_prior_variance_makes_the_kl_divergence_smallest():
    q = some_state((4,))
    best = specification.best_prior_variance(q)
    at, below, above = (specification.kl_divergence(replace(q, prior_variance=best * f)) for f in (1, 0.99, 1.01))
    assert at < below and at < above


# -- native against reference ------------------------------------------------------------------------------------------


def assert_same_path(members, X, y, options, *, weight=None, counts=None, graves=False, atol=1e-4):
    """Tolerance: float32 rounding of 1e-7 grows along some 30 Adam steps; 1e-4 is far below one step (1e-2)."""
    samples = np.full(len(members), -1) if counts is None else np.arange(len(members))
    data = TrainingData(X, y, weight, counts=counts, count_rows=samples)
    got = variational.train(members, data, options, SEED, graves=graves, n_threads=2)
    for i, member in enumerate(members.ids):
        problem = reference.make_problem(data, options, SEED, int(member), sample=samples[i])
        q, curve = specification.train(problem, members.architecture, members.widths[i], graves)
        mean, std = one_of(got, i)
        np.testing.assert_allclose(mean, q.mean, atol=atol)
        np.testing.assert_allclose(np.log(std), q.log_std, atol=atol)
        np.testing.assert_allclose(np.log(got.noise_variance[i]), q.log_noise, atol=atol)
        assert got.prior_variance[i] == pytest.approx(q.prior_variance, rel=1e-3)
        np.testing.assert_allclose(got.loss_curve[i], curve, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("graves", [False, True])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_trajectory(variant, hidden, graves):
    members, X, y, weight = make(hidden)
    assert_same_path(members, X, y, Options(n_epochs=6, batch_size=8), weight=weight, graves=graves)


@pytest.mark.parametrize("hidden", [(), (7, 5)])
def test_trajectory_of_graves_where_weights_are_missing_or_zero(variant, hidden):
    members, X, y, weight = make(hidden)
    weight[::5] = 0
    for weights in (None, weight):
        options = Options(n_epochs=5, batch_size=8, epsilon=0.05)  # Adam hides a constant factor from a small epsilon
        assert_same_path(members, X, y, options, weight=weights, graves=True)


OPTIONS = {
    "linear": {"schedule": "linear"},
    "cosine": {"schedule": "cosine"},
    "adam constants": {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-4},
    "scale of gradients": {"epsilon": 0.05},  # Adam hides a constant factor from a small epsilon
}


@pytest.mark.parametrize("changes", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("hidden", [(), (6,), (7, 5, 9)])
def test_trajectory_with_every_option(variant, changes, hidden):
    members, X, y, weight = make(hidden)
    assert_same_path(members, X, y, replace(Options(n_epochs=5, batch_size=8), **changes), weight=weight)


@pytest.mark.parametrize("epsilon", [1e-7, 0.05])
def test_trajectory_with_counts(variant, epsilon):
    members, X, y, weight = make((6,))
    counts = np.random.default_rng(3).poisson(1.0, (2, len(X))).astype(np.uint16)
    options = Options(n_epochs=5, batch_size=8, epsilon=epsilon)
    assert_same_path(members, X, y, options, weight=weight, counts=counts)


def test_trajectory_of_thinned_members(variant):
    members, X, y, _ = make((20, 9), ids=range(3), keep=0.7)
    assert len(np.unique(members.widths, axis=0)) > 1
    assert_same_path(members, X, y, Options(n_epochs=3, batch_size=8))


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 40),
    n_inputs=st.integers(1, 20),
    n_outputs=st.integers(1, 18),
    hidden=st.lists(st.integers(1, 35), max_size=3).map(tuple),
    batch=st.integers(1, 50),
)
def test_any_shape(n, n_inputs, n_outputs, hidden, batch):
    """One row, one column, one unit, batches larger than the data or not dividing it."""
    members, X, y, weight = make(hidden, n, n_inputs, n_outputs)
    assert_same_path(members, X, y, Options(n_epochs=2, batch_size=batch), weight=weight, atol=1e-3)


def test_rows_with_count_zero_do_not_matter():
    members, X, y, _ = make((6,), ids=[0])
    counts = np.ones((1, len(X)), dtype=np.uint16)
    counts[0, ::3] = 0
    spoiled = X.copy()
    spoiled[::3] = 1e6
    options = Options(n_epochs=3, batch_size=8)
    first, second = (
        variational.train(members, TrainingData(table, y, counts=counts, count_rows=[0]), options, SEED)
        for table in (X, spoiled)
    )
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_array_equal(first.std, second.std)


def test_a_weight_of_two_counts_like_the_row_twice():
    """One batch per epoch: then the two objectives differ by a factor only, which Adam takes out up to its epsilon."""
    members, X, y, _ = make((6,), ids=[0])
    twice = np.random.default_rng(4).integers(1, 3, len(X))
    options = Options(n_epochs=50, batch_size=1000, epsilon=1e-12)
    weighted = variational.train(members, TrainingData(X, y, twice), options, SEED)
    repeated = variational.train(members, TrainingData(X, y, counts=twice[None], count_rows=[0]), options, SEED)
    np.testing.assert_allclose(weighted.mean, repeated.mean, atol=1e-4)
    np.testing.assert_allclose(weighted.std, repeated.std, rtol=1e-4)


# -- closed form -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linear():
    """Long trainings without hidden layers: 16 members, two outputs, correlated inputs, unequal weights, all rows a batch."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    X[:, 1] += 0.8 * X[:, 0]
    y = X @ rng.normal(size=(3, 2)) + [0.5, -0.3] + rng.normal(size=(60, 2)) * [0.3, 1.0]
    weight = rng.uniform(0.5, 2, 60)
    members = draw_members(Architecture(3, (), 2, 2), 1.0, seed=5, ids=np.arange(16))
    options = Options(n_epochs=30_000, batch_size=60, schedule="cosine")
    posterior = variational.train(members, TrainingData(X, y, weight), options, SEED, n_threads=2)
    return np.column_stack([X, np.ones(60)]), y, weight, posterior


def assert_zero_on_average(values, largest_error):
    """Every column's mean over the members is within 4 standard errors of zero, and these errors are small."""
    error = stats.sem(values, axis=0)
    assert error.max() < largest_error
    assert np.max(np.abs(np.mean(values, axis=0)) / error) < 4


def test_linear_model_finds_the_mean_field_optimum(linear):
    """With the learned variances as given, the optimum is the ridge mean and one over the precision's diagonal.

    The draws leave noise in each member that falls with the number of steps; their average tells if the optimum is right.
    Means are measured in posterior standard deviations, deviations by their relative error.
    """
    columns, y, weight, posterior = linear
    off_mean, off_std = np.empty((16, 4, 2)), np.empty((16, 4, 2))
    for i, output in itertools.product(range(16), range(2)):
        mean, std = (part.reshape(4, 2)[:, output] for part in one_of(posterior, i))  # three weights and a bias
        noise = posterior.noise_variance[i, output]
        precision = columns.T @ (weight[:, None] * columns) / noise + np.eye(4) / posterior.prior_variance[i]
        ridge = np.linalg.solve(precision, columns.T @ (weight * y[:, output]) / noise)
        optimal_std = 1 / np.sqrt(np.diag(precision))
        off_mean[i, :, output], off_std[i, :, output] = (mean - ridge) / optimal_std, std / optimal_std - 1
    assert_zero_on_average(off_mean.reshape(16, 8), largest_error=0.015)
    assert_zero_on_average(off_std.reshape(16, 8), largest_error=0.005)


def test_linear_model_finds_the_best_variances(linear):
    columns, y, weight, posterior = linear
    off = np.empty((16, 2))
    for i in range(16):
        mean, std = (part.reshape(4, 2) for part in one_of(posterior, i))
        expected_square = (y - columns @ mean) ** 2 + columns**2 @ std**2
        off[i] = posterior.noise_variance[i] / np.average(expected_square, axis=0, weights=weight) - 1
        assert posterior.prior_variance[i] == pytest.approx(np.mean(mean**2 + std**2), rel=1e-5)
    assert_zero_on_average(off, largest_error=0.002)


# -- independence, trouble ---------------------------------------------------------------------------------------------


def test_threads_and_other_members_do_not_change_a_bit():
    members, X, y, _ = make((30, 10), n=150, ids=range(7))
    options = Options(n_epochs=4, batch_size=16)
    data = TrainingData(X, y)
    whole = variational.train(members, data, options, SEED)
    for n_threads in (2, 5):
        again = variational.train(members, data, options, SEED, n_threads=n_threads)
        for name in ("mean", "std", "noise_variance", "prior_variance", "loss_curve"):
            np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    parts = [variational.train(members[part], data, options, SEED) for part in (slice(0, 2), slice(2, 7))]
    np.testing.assert_array_equal(np.concatenate([p.mean for p in parts]), whole.mean)
    np.testing.assert_array_equal(np.concatenate([p.std for p in parts]), whole.std)
    assert len({one_of(whole, i)[0].tobytes() for i in range(7)}) == 7


def test_a_target_without_signal_stays_within_limits():
    """A constant target can be met exactly: noise and prior variance run to their lower limits, not beyond."""
    members, X, y, _ = make((), ids=[0])
    options = Options(n_epochs=20_000, batch_size=37, schedule="linear")
    got = variational.train(members, TrainingData(X, np.zeros_like(y)), options, SEED)
    lowest = np.exp(-LOG_VARIANCE_LIMIT)
    np.testing.assert_allclose(got.noise_variance, lowest, rtol=1e-5)
    np.testing.assert_allclose(got.prior_variance, lowest, rtol=1e-5)
    assert np.isfinite(got.mean).all() and (got.std > 0).all()


def test_trajectory_at_the_upper_limit_of_the_noise(variant):
    """Much too large steps throw the weights far off; the log-variance follows up to its limit."""
    members, X, y, _ = make((), ids=[0])
    options = Options(n_epochs=14, batch_size=37, learning_rate=8.0, beta2=0.9, schedule="linear")
    assert_same_path(members, X, y, options)
    noise = variational.train(members, TrainingData(X, y), options, SEED).noise_variance
    assert np.log(noise).max() == pytest.approx(LOG_VARIANCE_LIMIT, rel=1e-6)


def test_divergence_names_the_members():
    members, X, y, _ = make((5, 5), ids=[4, 11])
    with pytest.raises(TrainingDiverged, match=r"2 of 2 networks \(member 4, 11\).*learning_rate_init") as caught:
        variational.train(members, TrainingData(X, y), Options(n_epochs=50, learning_rate=1e30), SEED)
    assert caught.value.members == [4, 11]


def test_arguments_without_a_meaning_are_refused():
    members, X, y, _ = make((5,), ids=[0])
    data = TrainingData(X, y)
    for changes in ({"weight_decay": 0.1}, {"loss": "gaussian_nll"}, {"validation_fraction": 0.1}, {"n_starts": 2}):
        with pytest.raises(ValueError, match=f"does not use the option '{next(iter(changes))}'"):
            variational.train(members, data, Options(**changes), SEED)
    with pytest.raises(ValueError, match="adversarial must be None"):
        variational.train(members, TrainingData(X, y, adversarial=[0.1, 0.1, 0.1]), Options(), SEED)
    with pytest.raises(ValueError, match="y has the wrong number of columns"):
        variational.train(members, TrainingData(X, y[:, 0]), Options(), SEED)
    with pytest.raises(ValueError, match="must be positive"):
        variational.train(members, data, Options(batch_size=0), SEED)
    heads = draw_members(Architecture(3, (5,), 2, 4), 1.0, seed=5, ids=[0])
    with pytest.raises(ValueError, match="n_heads must be n_outputs"):
        variational.train(heads, data, Options(), SEED)


def test_progress_rises_and_an_exception_in_it_stops_training():
    members, X, y, _ = make((30,), n=300, ids=range(4))
    seen = []

    def note(done):
        seen.append(done)
        if len(seen) == 5:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        variational.train(members, TrainingData(X, y), Options(n_epochs=10_000_000), 1, n_threads=2, progress=note)
    assert all(0 <= a <= b <= 1 for a, b in itertools.pairwise(seen))
    assert seen[-1] > 0


INTERRUPTED = """
    import numpy as np
    from extranets.engine import Options, TrainingData, variational
    from extranets.networks import Architecture, draw_members
    X = np.random.default_rng(0).normal(size=(5000, 20))
    members = draw_members(Architecture(20, (50,), 1, 1), 1.0, seed=1, ids=[0, 1])
    print("started", flush=True)
    try:
        variational.train(members, TrainingData(X, X[:, 0]), Options(n_epochs=100_000_000), 1, n_threads=2)
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_training():
    """The whole training would take weeks."""
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(INTERRUPTED)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "started\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    try:
        out, _ = child.communicate(timeout=30)
    finally:
        child.kill()
    assert out == "stopped\n"


# -- drawing from a posterior ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def posterior():
    members, X, y, _ = make((6, 4), ids=[2, 5, 8], keep=0.8)
    return variational.train(members, TrainingData(X, y), Options(n_epochs=5, batch_size=8), SEED)


def test_samples_have_the_moments_of_the_posterior(posterior):
    """4,000 draws of some 50 numbers: means within 4.5 standard errors, deviations too (relative error 1/sqrt(2n))."""
    n = 4000
    for i in range(len(posterior)):
        mean, std = one_of(posterior, i)
        drawn = variational.sample(posterior, i, n, seed=1).parameters.reshape(n, -1).astype(np.float64)
        assert np.max(np.abs(drawn.mean(axis=0) - mean) / std) < 4.5 / np.sqrt(n)
        assert np.max(np.abs(drawn.std(axis=0) / std - 1)) < 4.5 / np.sqrt(2 * n)
        correlation = np.corrcoef(drawn, rowvar=False)[np.triu_indices(len(mean), 1)]
        assert np.max(np.abs(correlation)) < 5 / np.sqrt(n)  # some 1,000 pairs


def test_drawing_more_keeps_the_earlier_samples(posterior):
    ten = variational.sample(posterior, 1, 10, seed=1)
    np.testing.assert_array_equal(variational.sample(posterior, 1, 4, seed=1).parameters, ten[:4].parameters)
    np.testing.assert_array_equal(variational.sample(posterior, 1, 6, seed=1, first=4).parameters, ten[4:10].parameters)
    assert len({ten[i : i + 1].parameters.tobytes() for i in range(10)}) == 10
    assert not np.array_equal(variational.sample(posterior, 1, 10, seed=2).parameters, ten.parameters)


def test_members_have_draws_of_their_own(posterior):
    draws = []
    for i in (0, 1):
        mean, std = one_of(posterior, i)
        draws.append((variational.sample(posterior, i, 1, seed=1).parameters - mean) / std)
    n = min(map(len, draws))
    assert np.abs(draws[0][:n] - draws[1][:n]).min() > 1e-4


@pytest.mark.parametrize("method", [variational, pbp])
def test_samples_take_little_memory_besides_their_own(method):
    """Of a wide table: drawn all at once, their random numbers took many times the memory of the networks."""
    architecture = Architecture(1000, (40,), 1, 1)
    if method is pbp:
        posterior = pbp.start(architecture, [0], SEED)
    else:
        members, X, y, _ = make((40,), n=10, n_inputs=1000, n_outputs=1, ids=[0])
        posterior = variational.train(members, TrainingData(X, y), Options(n_epochs=1), SEED)
    tracemalloc.start()
    try:
        drawn = method.sample(posterior, 0, 60, seed=1).parameters
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert drawn.size == 60 * architecture.n_parameters((40,)) and peak < drawn.nbytes + 200 * _random.MOST_AT_ONCE


def test_samples_are_networks(posterior):
    X = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    for i in range(len(posterior)):
        drawn = variational.sample(posterior, i, 5, seed=1)
        heads = forward(drawn, X)
        assert heads.shape == (5, 7, 2)
        layers = reference.unflatten(drawn[3:4].parameters, posterior.members.architecture, posterior.members.widths[i])
        np.testing.assert_allclose(heads[3], reference.forward(layers, X.astype(float))[-1], atol=1e-5)
