"""Probabilistic back-propagation: the reference against exact answers, the native engine against the reference."""

from __future__ import annotations

import itertools
import math
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from extranets.engine import TrainingData, _native, pbp
from extranets.engine import reference_pbp as reference
from extranets.networks import Architecture

HIDDEN = [(), (5,), (8,), (50,), (20, 7), (3, 17, 2)]
SEED = 9


def make(n=37, n_inputs=3, n_outputs=2, data_seed=0):
    rng = np.random.default_rng(data_seed)
    X = rng.normal(size=(n, n_inputs)).astype(np.float32)
    y = rng.normal(size=(n, n_outputs)).astype(np.float32)
    y[:, 0] += np.abs(X[:, 0])
    return X, y, rng.uniform(0.5, 2, n).astype(np.float32)


def reference_start(architecture, member=0):
    mean = reference.first_means(architecture, SEED, member)
    return reference.make_posterior(architecture, mean, np.full(len(mean), reference.first_variance()))


def random_posterior(architecture, data_seed=1, variance_scale=1.0):
    rng = np.random.default_rng(data_seed)
    n = architecture.n_parameters(architecture.hidden)
    return reference.make_posterior(architecture, rng.normal(size=n), variance_scale * rng.uniform(0.1, 1.5, n))


# -- the reference: ReLU moments, gradients, gamma distributions -------------------------------------------------------

ALPHAS = [-37, -25, -12, -7, -3, -1, -0.2, 0, 0.2, 1, 3, 7, 12, 25]


def integrated(function, alpha):
    """Integral of ``function(alpha + e)`` over the part of a standard normal e where the sum is positive.

    The density at the lower end is taken out of the integral, so that the smallest results keep their digits.
    """
    low = max(-alpha, -40.0)
    peak = max(low, 0.0)
    value = sum(
        integrate.quad(lambda e: function(alpha + e) * math.exp((peak**2 - e**2) / 2), a, b, epsabs=0, epsrel=1e-11)[0]
        for a, b in [(low, peak), (peak, peak + 1), (peak + 1, peak + 12)]
        if a < b
    )
    return value * math.exp(-(peak**2) / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("deviation", [1.0, 1e-3, 30.0])
def test_moments_of_a_rectified_gaussian(alpha, deviation):
    """Against integrals. Rounding grows like alpha^4 in the variance below zero: 1e-9 at -37."""
    found = reference.rectified(np.array([alpha * deviation]), np.array([deviation**2]))
    mean = integrated(lambda z: z, alpha)
    assert found.mean[0] == pytest.approx(deviation * mean, rel=1e-10)
    # Both parts of the variance are positive: values above zero, and zeros.
    above = integrated(lambda z: (z - mean) ** 2, alpha)
    variance = above + stats.norm.cdf(-alpha) * mean**2
    assert found.variance[0] == pytest.approx(deviation**2 * variance, rel=1e-8)


@pytest.mark.parametrize("mean", [-6.0, -1.0, 0.0, 0.7, 5.0])
def test_derivatives_of_a_rectified_gaussian(mean):
    """Central differences with step 1e-5: truncation and rounding are both about 1e-10."""
    variance, step = 1.7, 1e-5
    found = reference.rectified(np.array([mean]), np.array([variance]))

    def moments(m, v):
        at = reference.rectified(np.array([m]), np.array([v]))
        return np.array([at.mean[0], at.variance[0]])

    by_mean = (moments(mean + step, variance) - moments(mean - step, variance)) / (2 * step)
    by_variance = (moments(mean, variance + step) - moments(mean, variance - step)) / (2 * step)
    np.testing.assert_allclose([found.mean_by_mean[0], found.variance_by_mean[0]], by_mean, atol=1e-9)
    np.testing.assert_allclose([found.mean_by_variance[0], found.variance_by_variance[0]], by_variance, atol=1e-9)


@pytest.mark.parametrize("hidden", [(), (4,), (4, 3), (3, 2, 4)])
def test_gradients_of_the_log_evidence(hidden):
    """Central differences with step 1e-5: truncation about 1e-10, rounding about 1e-11."""
    architecture = Architecture(3, hidden, 1, 1)
    posterior = random_posterior(architecture)
    x, y, noise, step = np.array([0.5, -1.2, 2.0]), 1.3, 0.4, 1e-5

    def evidence():
        at = reference.forward(posterior, x)
        return reference.log_evidence(y, at.mean, at.variance + noise)

    def difference(array, i):
        kept = array[i]
        values = []
        for sign in (1, -1):
            array[i] = kept + sign * step
            values.append(evidence()[0])
        array[i] = kept
        return (values[0] - values[1]) / (2 * step)

    _, by_mean, by_variance = evidence()
    found = reference.gradients(posterior, reference.forward(posterior, x), by_mean, by_variance)
    for kind, array in enumerate([posterior.mean, posterior.variance]):
        flat = np.concatenate([pair[kind].ravel() for pair in found])
        np.testing.assert_allclose(flat, [difference(array, i) for i in range(len(array))], atol=1e-8, rtol=1e-7)


@pytest.mark.parametrize("gamma", [(6.0, 6.0), (8.5, 0.9), (300.0, 70.0)])
@pytest.mark.parametrize("weight", [1.0, 0.3, 4.0])
def test_gamma_update_matches_the_moments_of_the_evidence(gamma, weight):
    """The formula as in the paper, from three evidences; at large shapes it loses digits."""
    (a, b), variance, error = gamma, 0.4, 0.9
    z0, z1, z2 = (reference.log_evidence(error, 0.0, variance + b / weight / (a - 1 + k))[0] for k in (0, 1, 2))
    first, second = math.exp(z1 - z0) * a / b, math.exp(z2 - z0) * a * (a + 1) / b**2
    new_a, new_b = reference.updated_gamma(gamma, variance, error, weight)
    assert new_a == pytest.approx(first**2 / (second - first**2), rel=1e-10)
    assert new_a / new_b == pytest.approx(first, rel=1e-12)


def test_gamma_update_keeps_its_digits_at_a_large_shape():
    """With a certain prediction the shape grows by 1/2 and the rate by error^2 / 2, up to terms of order 1/a."""
    a, b = reference.updated_gamma((1e12, 1e12), 0.0, 3.0)
    assert a - 1e12 == pytest.approx(0.5, abs=2e-3)  # doubles near 1e12 are 1e-4 apart
    assert b - 1e12 == pytest.approx(4.5, abs=2e-3)


def test_a_precision_does_not_get_less_certain_than_at_the_start():
    assert reference.updated_gamma((6.0, 6.0), 1.0, 5.0) is None
    assert reference.updated_gamma((6.0, 6.0), 1.0, 1e100) is None
    a, _ = reference.updated_gamma((60.0, 60.0), 1.0, 5.0)
    assert 6 < a < 60


def test_small_noisy_samples_keep_a_sensible_prior():
    """20 rows, 2,801 weights: without the limit on the shape, the variance of the weights ends between 1e4 and 1e8."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.standard_t(3, size=20)
    posterior = pbp.train(TrainingData(X, (y - y.mean()) / y.std()), (50, 50), ids=range(5), targets=[0] * 5, seed=SEED)
    assert (posterior.prior[:, 1] / (posterior.prior[:, 0] - 1) < 100).all()


def test_first_means_have_the_scale_of_their_layer():
    """4,000 normal numbers per layer: the standard deviation has a relative standard error of 1.1 %; 4 of them are allowed."""
    means = reference.first_means(Architecture(39, (100, 39), 1, 1), SEED, 0)
    assert means[:4000].std() * math.sqrt(40) == pytest.approx(1, abs=0.045)
    assert means[4000 : 4000 + 101 * 39].std() * math.sqrt(101) == pytest.approx(1, abs=0.045)


def test_refining_the_prior_matches_moments():
    """The formulas as the paper has them: cavity, evidence, and the moments from its derivatives, weight by weight."""
    architecture = Architecture(2, (3,), 1, 1)
    posterior, expected = random_posterior(architecture), random_posterior(architecture)
    n = len(posterior.mean)
    factors = reference.first_factors(n)
    factors.a[:], factors.b[:] = 0.01, 0.02
    posterior.prior, (a, b) = (9.0, 7.0), (9.0, 7.0)
    reference.refine_prior(posterior, factors)
    n_wider = 0
    for i in range(n):
        mean, variance = expected.mean[i], expected.variance[i]
        precision = 1 / variance - 5 / 6
        if precision > 0:  # else the cavity is no distribution
            cavity, at = 1 / precision, mean / variance / precision
            cavity_a, cavity_b = a - 0.01, b - 0.02
            _, by_mean, by_variance = reference.log_evidence(0.0, at, cavity + cavity_b / (cavity_a - 1))
            mean, variance = at + cavity * by_mean, cavity - cavity**2 * (by_mean**2 - 2 * by_variance)
            a, b = reference.updated_gamma((cavity_a, cavity_b), cavity, at) or (a, b)
            n_wider += 1
        assert posterior.mean[i] == pytest.approx(mean, rel=1e-10)
        assert posterior.variance[i] == pytest.approx(variance, rel=1e-10)
    assert 3 < n_wider < n
    assert posterior.prior == pytest.approx((a, b), rel=1e-10) and a != 9.0


def test_a_weight_that_only_its_prior_holds_is_not_set_free():
    """The rows add a precision of 0.01 to that of the prior's factor, 1. A prior with variance 1,000 would move it from 3 to 275."""
    architecture = Architecture(1, (), 1, 1)
    mean, variance, prior = np.array([3.0, 3.0]), np.array([1 / 1.01, 1 / 101]), (11.0, 10_000.0)
    posterior = reference.make_posterior(architecture, mean.copy(), variance.copy(), prior=prior)
    factors = reference.Factors(np.ones(2), np.zeros(2), np.zeros(2))
    reference.refine_prior(posterior, factors)
    assert (posterior.mean[0], posterior.variance[0], factors.precision[0]) == (3.0, variance[0], 1.0)
    assert factors.precision[1] == pytest.approx(1e-3) and posterior.mean[1] == pytest.approx(3 * 101 / 100.001)


# -- closed form -------------------------------------------------------------------------------------------------------

FIXED = 1e13  # a gamma distribution that 16 rows cannot move


def test_a_linear_model_with_orthogonal_columns_is_exact_bayesian_regression():
    """Every row has one input that is not zero, and the bias is certain, so that the exact posterior has no correlations."""
    n_inputs, noise, prior = 4, 0.3, 1.2
    architecture = Architecture(n_inputs, (), 1, 1)
    rng = np.random.default_rng(0)
    X = np.tile(np.diag([1.0, -2.0, 0.5, 3.0]), (4, 1))
    y = rng.normal(size=len(X))
    mean, variance = np.zeros(n_inputs + 1), np.full(n_inputs + 1, prior)
    variance[-1] = 1e-30
    posterior = reference.make_posterior(architecture, mean, variance, noise=(FIXED, noise * FIXED))
    for x, target in zip(X, y, strict=True):
        reference.update(posterior, x, target)
    design = X / math.sqrt(n_inputs + 1)
    precision = np.eye(n_inputs) / prior + design.T @ design / noise
    np.testing.assert_allclose(posterior.variance[:-1], np.diag(np.linalg.inv(precision)), rtol=1e-10)
    np.testing.assert_allclose(posterior.mean[:-1], np.linalg.solve(precision, design.T @ y / noise), rtol=1e-10)
    assert posterior.noise[1] / posterior.noise[0] == pytest.approx(noise, rel=1e-11)


def native_posterior(architecture, mean, variance, noise=reference.START, prior=reference.START):
    return pbp.Posterior(architecture, *(np.array([part], dtype=np.float64) for part in (mean, variance, noise, prior)))


def native_pass(posterior, X, y, weight=None):
    """One pass of the extension over ``X`` from a posterior of one member, which it changes."""
    _native.pbp_train(
        X=np.asarray(X, dtype=np.float32),
        y=np.asarray(y, dtype=np.float32)[:, None],
        weight=weight,
        counts=None,
        count_rows=None,
        members=np.zeros(1, dtype=np.uint32),
        targets=np.zeros(1, dtype=np.int32),
        hidden=np.array(posterior.architecture.hidden, dtype=np.int32),
        n_passes=1,
        seed=SEED,
        mean=posterior.mean,
        variance=posterior.variance,
        noise=posterior.noise,
        prior=posterior.prior,
        n_threads=1,
        progress=None,
    )


def test_one_weight_with_weighted_rows_is_exact_bayesian_regression(variant):
    """Native, with a prior whose variance is fixed: refining a Gaussian prior's factor changes nothing.

    Row i has noise variance noise / weight[i]. Inputs and targets are exact in float32.
    """
    noise, prior = 0.25, 1.5
    x = np.array([1.0, -0.5, 2.0, 0.25, 1.5, -2.0])
    y = np.array([0.5, 0.75, 1.0, -1.0, 2.0, -0.125])
    weight = np.array([1.0, 0.5, 4.0, 2.0, 0.25, 1.0], dtype=np.float32)
    posterior = native_posterior(
        Architecture(1, (), 1, 1), [0, 0], [prior, 1e-30], (FIXED, noise * FIXED), (FIXED, prior * FIXED)
    )
    native_pass(posterior, x[:, None], y, weight)
    design = x / math.sqrt(2)
    precision = 1 / prior + np.sum(weight * design**2) / noise
    assert posterior.variance[0, 0] == pytest.approx(1 / precision, rel=1e-9)
    assert posterior.mean[0, 0] == pytest.approx(np.sum(weight * design * y) / noise / precision, rel=1e-9)
    assert posterior.noise_variance[0] == pytest.approx(noise, rel=1e-9)


# -- native against the reference --------------------------------------------------------------------------------------


def assert_same_path(X, y, hidden, *, ids=(0, 3), targets=(0, 1), n_passes=3, weight=None, counts=None, rtol=1e-8):
    """Posteriors of all members agree with the reference, and so do the moments of their outputs.

    Tolerance: refining the prior takes a difference of precisions that may lose six of sixteen digits, and rounding grows
    along some hundred updates. One update changes a weight by far more than 1e-8.
    """
    samples = np.full(len(ids), -1) if counts is None else np.arange(len(ids))
    data = TrainingData(X, y, weight, counts=counts, count_rows=samples)
    posterior = pbp.train(data, hidden, ids=ids, targets=targets, n_passes=n_passes, seed=SEED)
    mean, variance = pbp.moments(posterior, X)
    for i, (member, target) in enumerate(zip(ids, targets, strict=True)):
        expected = reference_start(Architecture(X.shape[1], hidden, 1, 1), member)
        reference.train(expected, data, n_passes, SEED, member, target=target, sample=samples[i])
        np.testing.assert_allclose(posterior.mean[i], expected.mean, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(posterior.variance[i], expected.variance, rtol=rtol)
        np.testing.assert_allclose(posterior.noise[i], expected.noise, rtol=rtol)
        np.testing.assert_allclose(posterior.prior[i], expected.prior, rtol=rtol)
        assert posterior.noise_variance[i] == pytest.approx(expected.noise[1] / (expected.noise[0] - 1), rel=rtol)
        expected_mean, expected_variance = reference.moments(expected, X)
        np.testing.assert_allclose(mean[i], expected_mean, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(variance[i], expected_variance, rtol=rtol)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_trajectory(variant, hidden):
    X, y, _ = make()
    assert_same_path(X, y, hidden)


@pytest.mark.parametrize("hidden", [(), (6,), (7, 9)])
def test_trajectory_with_weights_and_counts(variant, hidden):
    X, y, weight = make()
    weight[::5] = 0
    counts = np.random.default_rng(3).poisson(1.0, (2, len(X))).astype(np.uint16)
    assert_same_path(X, y, hidden, weight=weight, counts=counts)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 20),
    n_inputs=st.integers(1, 20),
    hidden=st.lists(st.integers(1, 35), max_size=3).map(tuple),
)
def test_any_shape(n, n_inputs, hidden):
    """One row, one column, one unit."""
    X, y, weight = make(n, n_inputs)
    assert_same_path(X, y, hidden, n_passes=2, weight=weight)


def test_the_deepest_network(variant):
    X, y, _ = make(5)
    assert_same_path(X, y, (3,) * 63, ids=[0], targets=[0], n_passes=1)


def test_trajectory_with_outliers(variant):
    """At some of these rows the noise, or some weights, keep their old values."""
    X, y, _ = make(20)
    X[3], X[7, 0], y[5], y[9] = 1e3, -1e4, 10.0, -30.0
    assert_same_path(X, y, (6, 4), n_passes=2)


def test_trajectory_with_weights_that_keep_their_prior_factor(variant, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2)).astype(np.float32)
    y = (rng.normal(size=60) * np.exp(X[:, 0])).astype(np.float32)[:, None]
    y /= y.std()
    assert_same_path(X, y, (10,), ids=[0], targets=[0], n_passes=12)
    monkeypatch.setattr(reference, "LARGEST_MOVE", math.inf)
    with pytest.raises(AssertionError):  # so there are such weights
        assert_same_path(X, y, (10,), ids=[0], targets=[0], n_passes=12)


def test_absurd_rows_leave_a_valid_posterior(variant):
    X, y, _ = make(20)
    X[3], X[7, 0], y[5], y[9] = 1e10, -1e38, 1e10, -1e38
    posterior = pbp.train(TrainingData(X, y), (6, 4), ids=[0], targets=[0], n_passes=5, seed=SEED)
    for part in (posterior.mean, posterior.variance, posterior.noise, posterior.prior):
        assert np.isfinite(part).all()
    assert (posterior.variance > 0).all() and (posterior.noise[:, 0] >= 6).all()


@pytest.mark.parametrize("alpha", [*ALPHAS, -1e3, 1e3, -1e30, 1e30])
def test_native_moments_of_one_unit(variant, alpha):
    """One hidden unit at a chosen alpha; the weight from it to the output has no variance to speak of."""
    architecture = Architecture(1, (1,), 1, 1)
    deviation = 0.7
    mean = np.array([0, math.sqrt(2) * alpha * deviation, 1, 0])
    variance = np.array([0, 2 * deviation**2, 1e-200, 1e-200])
    got_mean, got_variance = pbp.moments(native_posterior(architecture, mean, variance), np.zeros((1, 1)))
    unit = reference.rectified(np.array([alpha * deviation]), np.array([deviation**2]))
    assert got_mean[0, 0] == pytest.approx(unit.mean[0] / math.sqrt(2), rel=1e-10, abs=1e-300)
    assert got_variance[0, 0] == pytest.approx(unit.variance[0] / 2, rel=1e-8, abs=1e-190)


def test_first_posterior_comes_from_the_members_stream():
    architecture = Architecture(3, (5,), 1, 1)
    start = pbp.start(architecture, [4, 2], SEED)
    np.testing.assert_array_equal(start.mean[0], reference.first_means(architecture, SEED, 4))
    np.testing.assert_array_equal(start.mean[1], reference.first_means(architecture, SEED, 2))
    assert (start.variance == 1.2).all() and (start.noise == 6).all() and (start.prior == 6).all()


def test_learns_a_function_and_its_noise():
    """|x| with noise 0.2 and 1,000 rows: the error is near 0.02 and the noise variance has a standard error of 5 %."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (1000, 1))
    data = TrainingData(x, np.abs(x[:, 0]) - 1 + 0.2 * rng.normal(size=1000))
    posterior = pbp.train(data, (20,), ids=[0], targets=[0], seed=SEED)
    grid = np.linspace(-1.8, 1.8, 50)[:, None]
    mean, variance = pbp.moments(posterior, grid)
    assert np.sqrt(np.mean((mean[0] - np.abs(grid[:, 0]) + 1) ** 2)) < 0.1
    assert posterior.noise_variance[0] == pytest.approx(0.04, rel=0.25)
    assert (variance[0] < 0.04).all()
    _, far = pbp.moments(posterior, [[20.0]])
    assert far[0, 0] > 10 * variance.mean()


# -- independence of threads, partition and left-out rows --------------------------------------------------------------


def same(a, b):
    for name in ("mean", "variance", "noise", "prior"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_threads_and_other_members_do_not_change_a_bit(variant):
    X, y, _ = make(150)
    data, ids, targets = TrainingData(X, y), np.arange(5), np.array([0, 1, 0, 1, 1])
    whole = pbp.train(data, (9, 4), ids=ids, targets=targets, n_passes=3, seed=SEED)
    for n_threads in (2, 5):
        same(pbp.train(data, (9, 4), ids=ids, targets=targets, n_passes=3, seed=SEED, n_threads=n_threads), whole)
    part = pbp.train(data, (9, 4), ids=ids[[3, 1]], targets=targets[[3, 1]], n_passes=3, seed=SEED)
    np.testing.assert_array_equal(part.mean, whole.mean[[3, 1]])
    np.testing.assert_array_equal(part.noise, whole.noise[[3, 1]])
    assert len({row.tobytes() for row in whole.mean}) == 5


def test_moments_do_not_depend_on_neighbours_or_threads(variant):
    X, y, _ = make(1300)
    posterior = pbp.train(TrainingData(X[:50], y[:50]), (9, 4), ids=[0, 1], targets=[0, 1], n_passes=2, seed=SEED)
    mean, variance = pbp.moments(posterior, X)
    again = pbp.moments(posterior, X, n_threads=3)
    np.testing.assert_array_equal(again[0], mean)
    np.testing.assert_array_equal(again[1], variance)
    for begin, end in [(0, 1), (7, 8), (3, 700)]:
        np.testing.assert_array_equal(pbp.moments(posterior, X[begin:end])[0], mean[:, begin:end])


def test_rows_with_count_or_weight_zero_do_not_matter():
    X, y, weight = make()
    kept = np.arange(len(X)) % 3 > 0
    spoiled = np.where(kept[:, None], X, 1e6).astype(np.float32)
    options = {"ids": [0], "targets": [0], "n_passes": 3, "seed": SEED}
    without = pbp.train(TrainingData(X[kept], y[kept], weight[kept]), (6,), **options)
    counted = pbp.train(TrainingData(spoiled, y, weight, counts=[kept], count_rows=[0]), (6,), **options)
    weighted = pbp.train(TrainingData(spoiled, y, weight * kept), (6,), **options)
    same(counted, without)
    same(weighted, without)


def test_members_may_have_samples_of_their_own():
    X, y, _ = make()
    counts = np.random.default_rng(1).integers(0, 3, (2, len(X))).astype(np.uint16)
    options = {"n_passes": 2, "seed": SEED}
    data = TrainingData(X, y, counts=counts, count_rows=[1, -1, 0])
    both = pbp.train(data, (6,), ids=[0, 1, 2], targets=[0, 0, 1], **options)
    alone = TrainingData(X, y, counts=counts[1:], count_rows=[0])
    first = pbp.train(alone, (6,), ids=[0], targets=[0], **options)
    second = pbp.train(TrainingData(X, y), (6,), ids=[1], targets=[0], **options)
    np.testing.assert_array_equal(both.mean[0], first.mean[0])
    np.testing.assert_array_equal(both.mean[1], second.mean[0])


# -- process -----------------------------------------------------------------------------------------------------------


def test_progress_and_exceptions_of_the_callback():
    data, seen = TrainingData(*make(300)[:2]), []
    pbp.train(data, (20,), ids=range(4), targets=[0] * 4, n_passes=2000, seed=SEED, n_threads=2, progress=seen.append)
    assert seen and all(0 <= a <= b <= 1 for a, b in itertools.pairwise(seen)) and seen[-1] > 0.3

    def stop(done):
        raise RuntimeError("enough")

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        pbp.train(data, (20,), ids=[0], targets=[0], n_passes=100_000_000, seed=SEED, progress=stop)
    assert time.monotonic() - begin < 10  # the whole training would take hours


INTERRUPTED = """
    import numpy as np, time
    from extranets.engine import TrainingData, pbp
    X = np.random.default_rng(0).normal(size=(200_000, 20)); y = X[:, 0] ** 2
    print("started", flush=True)
    try:
        pbp.train(TrainingData(X, y), (100, 100), ids=[0, 1], targets=[0, 0], n_passes=1000, seed=1, n_threads=2)
    except KeyboardInterrupt:
        print("stopped", time.time(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_stops_training_within_a_second():
    """One pass takes several seconds: the engine must look for signals between rows."""
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(INTERRUPTED)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "started\n"
    time.sleep(1.0)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    word, at = out.split()
    assert word == "stopped" and float(at) - sent < 1.0


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = {
    "adversarial rows": ({"adversarial": [0.1] * 3}, {}, "adversarial must be None"),
    "target outside": ({}, {"targets": [0, 2]}, "targets points outside y"),
    "negative target": ({}, {"targets": [0, -1]}, "targets points outside y"),
    "too few targets": ({}, {"targets": [0]}, "one row per member"),
    "no members": ({}, {"ids": [], "targets": []}, "needs a member"),
    "no passes": ({}, {"n_passes": 0}, "n_passes must be positive"),
    "empty layer": ({}, {"hidden": (5, 0)}, "needs a unit"),
    "too deep": ({}, {"hidden": (2,) * 64}, "too many hidden layers"),
    "zero weights": ({"weight": np.zeros(37)}, {}, "sample without rows"),
    "sample of weight zero": (
        {"weight": np.arange(37) == 3, "counts": [np.arange(37) != 3], "count_rows": [0, 0]},
        {},
        "sample without rows",
    ),
    "samples for one of two": (
        {"counts": np.ones((1, 37), dtype=int), "count_rows": [0]},
        {},
        "counts has the wrong shape",
    ),
}


@pytest.mark.parametrize(("rows", "others", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_trained_is_refused(rows, others, message):
    X, y, _ = make()
    arguments = {"hidden": (5,), "ids": [0, 1], "targets": [0, 1], "seed": SEED, **others}
    data = TrainingData(X, y, **rows)
    with pytest.raises(ValueError, match=message):
        pbp.train(data, **arguments)


def test_moments_refuse_other_columns():
    X, y, _ = make()
    posterior = pbp.train(TrainingData(X, y), (5,), ids=[0], targets=[0], n_passes=1, seed=SEED)
    with pytest.raises(ValueError, match="number of columns"):
        pbp.moments(posterior, X[:, :2])
