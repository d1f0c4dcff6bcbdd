"""The simulated processes: exact sample moments, known functions, moments over many rows, reproducibility, errors."""

from __future__ import annotations

import numpy as np
import pytest

from extranets.data import linear_process, nonlinear_process
from extranets.data.processes import correlation_matrix, linear_signal, nonlinear_signal

PROCESSES = [nonlinear_process, linear_process]
READINGS = ["upper", "lower", "mean"]
MANY = 200_000


def sd_with_error(values):
    """Standard deviation and its large-sample standard error, sd * sqrt((kurtosis - 1) / 4n)."""
    centred = values - values.mean()
    sd = values.std()
    kurtosis = np.mean(centred**4) / sd**4
    return sd, sd * np.sqrt((kurtosis - 1) / (4 * len(values)))


@pytest.mark.parametrize("process", PROCESSES)
def test_samples_have_the_stated_shapes_and_types(process):
    sample = process(random_state=0)
    assert sample.X.shape == (1500, 5)
    assert sample.y.shape == sample.signal.shape == (1500,)
    assert sample.X.dtype == sample.y.dtype == sample.signal.dtype == np.float64


@pytest.mark.parametrize(
    ("correlation", "one_and_five", "three_and_five"), [("upper", 0.5, 0.5), ("lower", 0.9, 0.6), ("mean", 0.7, 0.55)]
)
def test_correlation_matrix_follows_the_chosen_triangle(correlation, one_and_five, three_and_five):
    wanted = np.array(
        [
            [1.0, 0.5, 0.6, 0.7, one_and_five],
            [0.5, 1.0, 0.7, 0.8, 0.5],
            [0.6, 0.7, 1.0, 0.7, three_and_five],
            [0.7, 0.8, 0.7, 1.0, 0.8],
            [one_and_five, 0.5, three_and_five, 0.8, 1.0],
        ]
    )
    np.testing.assert_allclose(correlation_matrix(correlation), wanted, rtol=0, atol=1e-15)


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("correlation", READINGS)
@pytest.mark.parametrize("n_samples", [50, 1500])
def test_sample_moments_of_inputs_are_exact(process, correlation, n_samples):
    # Not approximate: the sample is decorrelated before the correlations are imposed. 1e-10 covers rounding only;
    # the sampling error would be about 1 / sqrt(n), 0.03 or more.
    X = process(n_samples, correlation=correlation, random_state=1).X
    np.testing.assert_allclose(np.cov(X, rowvar=False), correlation_matrix(correlation), rtol=0, atol=1e-10)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize("process", PROCESSES)
def test_upper_triangle_is_the_default(process):
    X = process(100, random_state=1).X
    np.testing.assert_array_equal(X, process(100, correlation="upper", random_state=1).X)


def test_factor_is_upper_triangular():
    # With rows times the upper factor, column 1 of the data is the whitened column 1 of the draws alone, so all
    # readings of the matrix share it, and they share column 4 too, because they differ in column 5 only.
    upper, lower = (nonlinear_process(100, correlation=c, random_state=3).X for c in ("upper", "lower"))
    np.testing.assert_allclose(upper[:, 0], lower[:, 0], atol=1e-12)
    np.testing.assert_allclose(upper[:, 3], lower[:, 3], atol=1e-12)
    draws = np.random.RandomState(3).normal([-4, 2, 2, 2, 4], 1.0, size=(100, 5))
    first = (draws[:, 0] - draws[:, 0].mean()) / draws[:, 0].std(ddof=1)
    np.testing.assert_allclose(upper[:, 0], first, atol=1e-12)


def test_nonlinear_signal_matches_values_computed_by_hand():
    # Hidden units worked out on paper for zero, the five unit vectors and minus the second.
    rows = np.vstack([np.zeros(5), np.eye(5), -np.eye(5)[1]])
    np.testing.assert_allclose(nonlinear_signal(rows), [23, 49, 58, 66, 5, 64, 64], rtol=1e-14)


def test_linear_signal_matches_values_computed_by_hand():
    # Unit vectors give the plain coefficients; pairs of inputs at 1 add their interaction, if there is one.
    np.testing.assert_allclose(linear_signal(np.eye(5)), [-8, 2, 2, 2, 7], rtol=1e-14)
    pairs = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 0, 1], [1, 0, 0, 1, 0], [0, 1, 1, 0, 0]], dtype=float)
    np.testing.assert_allclose(linear_signal(pairs), [-6 + 3, 9 - 1, -6 + 2, 4], rtol=1e-14)


@pytest.mark.parametrize(
    ("process", "signal"), [(nonlinear_process, nonlinear_signal), (linear_process, linear_signal)]
)
def test_signal_is_the_function_of_the_inputs(process, signal):
    sample = process(200, random_state=5)
    np.testing.assert_array_equal(sample.signal, signal(sample.X))


@pytest.mark.parametrize(("process", "noise_sd"), [(nonlinear_process, 0.7), (linear_process, 1.0)])
def test_noise_is_normal_with_the_stated_sd(process, noise_sd):
    sample = process(MANY, random_state=6)
    noise = sample.y - sample.signal
    assert sample.noise_sd == noise_sd
    # Normal noise: standard errors sd / sqrt(n) and sd / sqrt(2n). Four of them are passed once in 16,000 seeds.
    assert noise.mean() == pytest.approx(0.0, abs=4 * noise_sd / np.sqrt(MANY))
    assert noise.std() == pytest.approx(noise_sd, abs=4 * noise_sd / np.sqrt(2 * MANY))
    assert np.abs(np.corrcoef(noise, sample.X.T)[0, 1:]).max() < 4.5 / np.sqrt(MANY)


def test_nonlinear_targets_have_the_known_moments():
    # Known values 72.2 and 47.7, good to one unit of the last digit; to that come four standard errors of this sample
    # (about 0.43 and 0.36). The lower triangle (63.0, 42.8) and restored means (214.9) are far outside.
    y = nonlinear_process(MANY, random_state=7).y
    sd, sd_error = sd_with_error(y)
    assert y.mean() == pytest.approx(72.2, abs=0.1 + 4 * sd / np.sqrt(MANY))
    assert sd == pytest.approx(47.7, abs=0.1 + 4 * sd_error)


def test_lower_triangle_gives_another_mean():
    y = nonlinear_process(MANY, correlation="lower", random_state=7).y
    assert y.mean() == pytest.approx(63.0, abs=0.1 + 4 * y.std() / np.sqrt(MANY))


def test_linear_targets_have_the_known_moments():
    # The mean of the signal is exact, because the sample covariance is: (n - 1) / n * (3 C12 - C35 + 2 C14).
    sample = linear_process(MANY, random_state=8)
    assert sample.signal.mean() == pytest.approx(2.4 * (MANY - 1) / MANY, abs=1e-9)
    # Known value 10.2, good to one unit of the last digit, and four standard errors of this sample (about 0.08).
    sd, sd_error = sd_with_error(sample.y)
    assert sd == pytest.approx(10.2, abs=0.1 + 4 * sd_error)


@pytest.mark.parametrize("correlation", READINGS)
def test_linear_variance_follows_the_gaussian_formula(correlation):
    # For Normal x: Var(a'x + x'Bx) = a'Ca + 2 tr(BCBC), with B symmetric. The noise adds 1.
    C = correlation_matrix(correlation)
    a = np.array([-8.0, 2, 2, 2, 7])
    B = np.zeros((5, 5))
    B[0, 1] = B[1, 0] = 1.5
    B[2, 4] = B[4, 2] = -0.5
    B[0, 3] = B[3, 0] = 1.0
    wanted = np.sqrt(a @ C @ a + 2 * np.trace(B @ C @ B @ C) + 1)
    sd, sd_error = sd_with_error(linear_process(MANY, correlation=correlation, random_state=9).y)
    assert sd == pytest.approx(wanted, abs=4 * sd_error)


@pytest.mark.parametrize("process", PROCESSES)
def test_random_state_works_as_in_scikit_learn(process):
    first = process(50, random_state=0)
    np.testing.assert_array_equal(first.y, process(50, random_state=0).y)
    np.testing.assert_array_equal(first.y, process(50, random_state=np.random.RandomState(0)).y)
    assert not np.array_equal(first.y, process(50, random_state=1).y)
    shared = np.random.RandomState(0)
    assert not np.array_equal(process(50, random_state=shared).y, process(50, random_state=shared).y)
    assert not np.array_equal(process(50).y, process(50).y)


@pytest.mark.parametrize("process", PROCESSES)
def test_integer_seed_leaves_the_global_stream_alone(process):
    np.random.seed(3)  # noqa: NPY002
    wanted = np.random.normal()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    process(50, random_state=0)
    assert np.random.normal() == wanted  # noqa: NPY002


def test_split_takes_first_rows_for_training():
    sample = nonlinear_process(random_state=0)
    X_train, y_train, X_test, y_test = sample.split()
    assert len(X_train) == len(y_train) == 1200
    assert len(X_test) == len(y_test) == 300
    np.testing.assert_array_equal(np.vstack([X_train, X_test]), sample.X)
    np.testing.assert_array_equal(np.concatenate([y_train, y_test]), sample.y)


@pytest.mark.parametrize("n_train", [0, -1, 100, 101, 2.5])
def test_bad_split_is_refused(n_train):
    with pytest.raises(ValueError, match="n_train must be an integer from 1 to 99"):
        linear_process(100, random_state=0).split(n_train)


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("n_samples", [5, 0, -1, 10.5])
def test_too_few_samples_are_refused(process, n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 6"):
        process(n_samples)


@pytest.mark.parametrize("process", PROCESSES)
def test_smallest_sample_is_finite(process):
    assert np.isfinite(process(6, random_state=0).y).all()


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("correlation", ["both", None])
def test_unknown_correlation_is_refused(process, correlation):
    with pytest.raises(ValueError, match=r"correlation must be 'upper', 'lower' or 'mean', got"):
        process(correlation=correlation)
