"""Scores of point predictions, intervals and predictive distributions: pure functions on arrays, and scorers built on them.

Arguments follow scikit-learn: the observed target comes first. Targets and predictions have shape (n_samples,) or
(n_samples, n_outputs); a number in place of a prediction stands for all rows. ``sample_weight`` has shape (n_samples,).
Every score is computed for each output, then averaged over outputs. Input that makes no sense raises ``ValueError``.

>>> import numpy as np
>>> from extranets.metrics import coverage, interval_score
>>> bounds = np.array([[0.0, 2.0], [1.0, 3.0]])  # as predict_interval returns them
>>> coverage([1.0, 4.0], *bounds.T)
0.5
>>> interval_score([1.0, 4.0], *bounds.T, coverage=0.75)  # 2 for each width, and 8 for a miss by one
6.0
"""

from extranets.metrics.calibration import calibration_curve, calibration_error, sharpness
from extranets.metrics.distributions import (
    crps_ensemble,
    crps_gaussian,
    crps_student_t,
    gaussian_log_likelihood,
    mixture_log_likelihood,
    student_t_log_likelihood,
)
from extranets.metrics.intervals import coverage, coverage_error, cwc, interval_score, mean_width, normalised_width
from extranets.metrics.points import mae, pinball_loss, rmse
from extranets.metrics.scorers import coverage_error_scorer, crps_scorer, interval_score_scorer, log_likelihood_scorer

__all__ = [
    "calibration_curve",
    "calibration_error",
    "coverage",
    "coverage_error",
    "coverage_error_scorer",
    "crps_ensemble",
    "crps_gaussian",
    "crps_scorer",
    "crps_student_t",
    "cwc",
    "gaussian_log_likelihood",
    "interval_score",
    "interval_score_scorer",
    "log_likelihood_scorer",
    "mae",
    "mean_width",
    "mixture_log_likelihood",
    "normalised_width",
    "pinball_loss",
    "rmse",
    "sharpness",
    "student_t_log_likelihood",
]
