"""Every estimator with its losses, intervals, encodings, outputs, weights and warm starts: what a rebuilt fit must not change."""

from __future__ import annotations

import json
import warnings

import numpy as np

from extranets import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    MeanVarianceRegressor,
    PBPRegressor,
    StackedNetsRegressor,
    VariationalRegressor,
)

QUICK = {"hidden_layer_sizes": (6,), "max_iter": 12, "random_state": 3, "n_jobs": 1}
DEEP = {**QUICK, "hidden_layer_sizes": (6, 5)}
PLAIN = {**QUICK, "numeric_encoding": None}


def extra(n=5, **changes):
    return ExtraNetsRegressor(n, **{**PLAIN, **changes})


MODELS = {
    "extra_default": ExtraNetsRegressor(4, max_iter=12, random_state=3, n_jobs=1),
    "extra_fast": ExtraNetsRegressor.from_preset("fast", n_estimators=4, max_iter=12, random_state=3, n_jobs=1),
    "extra_accurate": ExtraNetsRegressor.from_preset(
        "accurate", n_estimators=2, n_folds=2, max_iter=10, random_state=3, n_jobs=1
    ),
    "extra_paper": ExtraNetsRegressor.from_preset("paper", n_estimators=6, max_iter=12, random_state=3, n_jobs=1),
    "extra_calibrated": extra(),
    "extra_constant_noise": extra(noise_model="constant"),
    "extra_normal": extra(distribution="normal"),
    "extra_normal_constant": extra(distribution="normal", noise_model="constant"),
    "extra_interval_paper": extra(interval="paper"),
    "extra_interval_total": extra(interval="total", noise_model="constant"),
    "extra_cv_plus": extra(interval="cv+"),
    "extra_cv_plus_two_outputs": extra(interval="cv+", n_folds=3),
    "extra_holdout": extra(noise="holdout"),
    "extra_holdout_networks": extra(noise="holdout", holdout_fraction=0.8, noise_model="networks"),
    "extra_train": extra(noise="train", interval="total"),
    "extra_train_paper": extra(noise="train", interval="paper", distribution="normal"),
    "extra_nll": extra(loss="gaussian_nll", interval="total"),
    "extra_nll_calibrated": extra(loss="gaussian_nll"),
    "extra_nll_holdout": extra(loss="gaussian_nll", noise="holdout"),
    "extra_nll_train": extra(loss="gaussian_nll", noise="train", interval="paper"),
    "extra_piecewise": extra(numeric_encoding="piecewise_linear", n_bins=5),
    "extra_periodic": extra(numeric_encoding="periodic", n_bins=4),
    "extra_auto_encoding": extra(numeric_encoding="auto", hidden_layer_sizes=(6, 5)),
    "extra_auto_effort_high": extra(numeric_encoding="auto", effort="high", hidden_layer_sizes=(6, 5)),
    "extra_linear": extra(hidden_layer_sizes=(), numeric_encoding="auto"),
    "extra_two_outputs": extra(hidden_layer_sizes=(6, 5)),
    "extra_two_outputs_nll": extra(loss="gaussian_nll"),
    "extra_weighted": extra(),
    "extra_weighted_holdout": extra(noise="holdout", noise_model="constant"),
    "extra_warm": extra(warm_start=True),
    "extra_warm_auto": extra(warm_start=True, numeric_encoding="auto"),
    "extra_dropped_nulls": extra(8, keep_prob=0.15, null_members="drop"),
    "extra_redrawn_nulls": extra(keep_prob=0.15),
    "extra_few_rows": extra(),
    "extra_very_few_rows": extra(),
    "extra_constant_target": extra(),
    "extra_early_stopping": extra(early_stopping=True, max_iter=60, n_iter_no_change=3),
    "extra_clipped": extra(max_grad_norm=0.5, learning_rate_schedule="cosine", alpha=0.3, batch_size=7),
    "extra_conformal": extra(),
    "extra_conformal_two_outputs": extra(interval="total"),
    "extra_estimated_noise": extra(interval="calibrated", noise_model="constant"),
    "extra_estimated_noise_networks": extra(interval="calibrated"),
    "extra_estimated_noise_paper": extra(interval="paper", noise="train"),
    "extra_set_after_fit": extra(),
    "bootstrap_averaged": BootstrapNetsRegressor(6, **QUICK),
    "bootstrap_normal": BootstrapNetsRegressor(6, **QUICK, interval="normal"),
    "bootstrap_bias_corrected": BootstrapNetsRegressor(6, **QUICK, interval="bias_corrected"),
    "bootstrap_percentile": BootstrapNetsRegressor(6, **QUICK, interval="percentile"),
    "bootstrap_jackknife": BootstrapNetsRegressor(6, **QUICK, interval="jackknife+"),
    "bootstrap_jackknife_two_outputs": BootstrapNetsRegressor(6, **QUICK, interval="jackknife+"),
    "bootstrap_train": BootstrapNetsRegressor(6, **QUICK, noise="train", interval="normal"),
    "bootstrap_encoded": BootstrapNetsRegressor(6, **QUICK, numeric_encoding="piecewise_linear", n_bins=4),
    "bootstrap_weighted": BootstrapNetsRegressor(6, **QUICK),
    "bootstrap_warm": BootstrapNetsRegressor(6, **QUICK, warm_start=True),
    "bootstrap_estimated_noise": BootstrapNetsRegressor(6, **QUICK, interval="bias_corrected"),
    "bootstrap_conformal": BootstrapNetsRegressor(6, **QUICK),
    "dropout": MCDropoutRegressor(**QUICK, n_passes=15),
    "dropout_auto": MCDropoutRegressor(**QUICK, keep_prob="auto", n_passes=15),
    "dropout_auto_nll": MCDropoutRegressor(**QUICK, keep_prob="auto", n_passes=15, loss="gaussian_nll"),
    "dropout_auto_holdout": MCDropoutRegressor(**QUICK, keep_prob="auto", n_passes=15, noise="holdout"),
    "dropout_calibrated": MCDropoutRegressor(**DEEP, n_passes=15, interval="calibrated", input_keep_prob=0.9),
    "dropout_nll": MCDropoutRegressor(**QUICK, n_passes=15, loss="gaussian_nll"),
    "dropout_nll_calibrated": MCDropoutRegressor(**QUICK, n_passes=15, loss="gaussian_nll", interval="calibrated"),
    "dropout_train": MCDropoutRegressor(**QUICK, n_passes=15, noise="train"),
    "dropout_two_outputs": MCDropoutRegressor(**QUICK, n_passes=15, numeric_encoding="periodic", n_bins=4),
    "dropout_weighted": MCDropoutRegressor(**QUICK, n_passes=15, noise="holdout"),
    "mean_variance": MeanVarianceRegressor(**QUICK),
    "mean_variance_two_outputs": MeanVarianceRegressor(**DEEP, numeric_encoding="piecewise_linear", n_bins=4),
    "mean_variance_conformal": MeanVarianceRegressor(**QUICK, warm_up=0.2),
    "deep_ensemble": DeepEnsembleRegressor(3, **QUICK),
    "deep_ensemble_adversarial": DeepEnsembleRegressor(3, **QUICK, adversarial_epsilon=0.02),
    "deep_ensemble_two_outputs": DeepEnsembleRegressor(3, **QUICK),
    "deep_ensemble_warm": DeepEnsembleRegressor(3, **QUICK, warm_start=True),
    "delta": DeltaMethodRegressor(**QUICK),
    "delta_holdout": DeltaMethodRegressor(**QUICK, noise="holdout"),
    "delta_train": DeltaMethodRegressor(**QUICK, noise="train", damping=0.1),
    "delta_two_outputs": DeltaMethodRegressor(**QUICK),
    "delta_weighted": DeltaMethodRegressor(**QUICK),
    "delta_estimated_noise": DeltaMethodRegressor(**QUICK),
    "variational": VariationalRegressor(**QUICK, n_passes=12),
    "variational_two_outputs": VariationalRegressor(**DEEP, n_passes=12),
    "variational_weighted": VariationalRegressor(**QUICK, n_passes=12),
    "pbp": PBPRegressor(**QUICK, n_passes=12),
    "pbp_two_outputs": PBPRegressor(**DEEP, n_passes=12),
    "pbp_estimated_noise": PBPRegressor(**QUICK, n_passes=12),
}

STACKED = {"effort": "low", "n_folds": 3, "random_state": 3, "n_jobs": 1}
MODELS |= {
    "stacked": StackedNetsRegressor(**STACKED),
    "stacked_medium": StackedNetsRegressor(**{**STACKED, "effort": "medium"}),
    "stacked_networks": StackedNetsRegressor(**STACKED, members_per_fold=2),
    "stacked_two_outputs": StackedNetsRegressor(**STACKED, interval="total"),
    "stacked_weighted": StackedNetsRegressor(**STACKED, distribution="normal"),
    "stacked_very_few_rows": StackedNetsRegressor(**{**STACKED, "n_folds": "auto"}),
    "stacked_conformal": StackedNetsRegressor(**STACKED, keep_prob=0.5),
}

for each in MODELS.values():
    if "distance_factor" in each.get_params():
        each.set_params(distance_factor=0.0)  # the answers are those of networks alone, as in files from before
    each.set_params(bounds=None, target_transform=None)  # as well

LEVELS = [0.5, 0.9]


def table(name):
    """Rows to fit, rows that are kept from training, and rows to predict."""
    n = 60 if "few_rows" not in name else 12 if "very" in name else 45
    n = 160 if name.startswith(("extra", "stacked_networks")) and "few_rows" not in name else n
    random = np.random.default_rng(7)
    X = random.normal(size=(n + 60, 4)).round(3)
    X[:, 3] = X[:, 3] > 0
    noise = random.standard_t(5, size=n + 60)
    y = 3 * X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + 2 * X[:, 3] + 0.3 * np.exp(0.5 * X[:, 0]) * noise
    if "constant_target" in name:
        y[:] = 4.0
    if "two_outputs" in name:
        y = np.column_stack([y, 100 + 20 * X[:, 1] - 10 * noise])
    weight = random.integers(0, 4, size=n).astype(float) if "weighted" in name else None
    return X[:n], y[:n], weight, X[n : n + 50], y[n : n + 50], X[n + 50 :]


def fitted(name):
    """The model of one case."""
    from sklearn.base import clone

    X, y, weight, X_held, y_held, _ = table(name)
    model = clone(MODELS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows and networks are worth many warnings
        if "warm" in name:
            model.set_params(n_estimators=3).fit(X, y, weight)
            model.set_params(n_estimators=5)
        model.fit(X, y, weight)
        if "set_after_fit" in name:
            model.set_params(interval="total", distribution="normal")
        if "estimated_noise" in name:
            model.estimate_noise(X_held, y_held)
        if "conformal" in name:
            model.conformalize(X_held, y_held, tails="joint")  # as files from before have it
    return model


LEARNED = (
    "noise_variance_", "calibration_", "degrees_of_freedom_", "held_out_scores_", "restarts_", "loss_curve_", "n_iter_", "n_null_",
    "oob_prediction_", "oob_score_", "keep_prob_", "keep_prob_scores_", "damping_", "n_effective_parameters_", "prior_variance_",
)  # fmt: skip
MEASURED = ("weight", "r2")  # of a stack's models: answers, not settings


def answers(name, model):
    """All that a model says, by name: arrays."""
    X = table(name)[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # intervals of few rows are infinite
        parts = model.predict_components(X)
        found = {
            "predict": model.predict(X),
            "mean": parts.mean,
            "epistemic": parts.epistemic,
            "aleatoric": parts.aleatoric,
            "interval": model.predict_interval(X, LEVELS),
            "quantiles": model.predict_quantiles(X, [0.05, 0.4]),
            "sample": model.sample_y(X, 2, random_state=1),
            "members": model.predict_members(X[:3]),
        }
    for attribute in LEARNED:
        value = getattr(model, attribute, None)
        if isinstance(value, dict):
            found |= {f"{attribute}.{key}": np.asarray(each) for key, each in value.items()}
        elif value is not None:
            found[attribute] = np.asarray(value if attribute != "loss_curve_" else value[:, -3:])
    if isinstance(model, StackedNetsRegressor):
        models = model.settings_["models"]
        found |= {f"settings_.{each}": np.array([one[each] for one in models]) for each in MEASURED}
    return {what: values.astype(np.float64) for what, values in found.items()}


def settings(model):
    """What "auto" became, as JSON has it."""
    found = getattr(model, "settings_", None)
    if isinstance(model, StackedNetsRegressor):
        chosen = [{key: value for key, value in part.items() if key not in MEASURED} for part in found["models"]]
        found = {**found, "models": chosen}
        found.pop("target_transform", None)  # which files from before do not tell, and which is "none" in all cases
    return json.loads(json.dumps(found))
