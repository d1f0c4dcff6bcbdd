"""Model files from before fits made a `Predictor`: what they hold, checked, as the entries that files hold now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32
from extranets.engine import pbp, variational
from extranets.estimators.settings import hidden_units
from extranets.model_file import checked, require, storable
from extranets.model_file.typed import check_types, fits
from extranets.networks import Ensemble
from extranets.predictor import Predictor, Scaling, Units
from extranets.predictor.conformal import Conformal
from extranets.predictor.distributions import Normal, Student
from extranets.predictor.intervals import (
    BootstrapAveraged,
    BootstrapBiasCorrected,
    BootstrapNormal,
    BootstrapPercentile,
    Calibrated,
    CvPlus,
    Delta,
    JackknifePlus,
    Paper,
    Total,
)
from extranets.predictor.noise import CentredNoise, ConstantNoise, HeadNoise, LeverageNoise, NetworkNoise
from extranets.predictor.noise.networks import NoiseModel
from extranets.predictor.part import Interval, Noise, Source
from extranets.predictor.sources import (
    DropoutPasses,
    GaussianWeights,
    Linearised,
    Recipe,
    Resampled,
    TrainedNetworks,
    WeightSamples,
)
from extranets.predictor.sources.curvature import Curvature

P = TypeVar("P")

ENTRIES = {
    "parameters": dict[str, Any],
    "n_features": int | None,
    "feature_names": list[str] | None,
    "fit_info": dict[str, Any] | None,
    "learned": dict[str, Any] | None,
}
# What a recipe's ``sampling`` holds today, in order, for estimators that have no such parameter.
SAMPLING: dict[str, Any] = {"held_out": None, "keep_prob": 1.0, "null_members": "redraw", "adversarial_epsilon": 0.0}
RENAMED = {"n_restarts": "n_starts"}
# What estimators did before it was a parameter, where that is not its default.
BEFORE: dict[str, dict[str, Any]] = {
    "ExtraNetsRegressor": {
        "numeric_encoding": None,
        "noise_model": "constant",
        "distribution": "normal",
        "distance_factor": 0.0,
        "bounds": None,
    },
}


@storable("Fitted")
@dataclass(frozen=True)
class OldNetworks:
    """What `TrainedNetworks` were."""

    recipe: Recipe
    n_members: int
    ensemble: Ensemble
    restarts: npt.NDArray[np.int32]
    loss_curve: Float32


@storable("CvPlus")
@dataclass(frozen=True)
class OldFolds:
    """What is now a part of `CvPlus`."""

    ensembles: list[Ensemble]
    fold_of_row: npt.NDArray[np.intp]
    residuals: Array


UNITS_TYPES: dict[str, Any] = {
    "n_iter_": int,
    "_x_scaling": Scaling,
    "_y_scaling": Scaling,
    "_y_is_vector": bool,
    "_learns_noise": bool,
    "_factors": Array | None,
    "_conformal": Conformal | None,
}
TRAINED_TYPES: dict[str, Any] = {
    **UNITS_TYPES,
    "_fitted": OldNetworks,
    "restarts_": npt.NDArray[np.int32],
    "loss_curve_": Float32,
}
NOISE_TYPES: dict[str, Any] = {"_noise": Array}


@dataclass(frozen=True)
class Old:
    """The parameters and what a fit had learned, by attribute."""

    parameters: dict[str, Any]
    learned: dict[str, Any]

    def networks(self, *others: str) -> TrainedNetworks:
        """With the recipe in today's words: a warm start compares them. ``others`` names what the old one held besides the
        share of the rows that are held out: values at the time of the fit, which parameters may have left since.
        """
        old: OldNetworks = self.learned["_fitted"]
        names = ("held_out", *others)
        require(len(old.recipe.sampling) == len(names), "sampling does not fit the estimator")
        sampling = SAMPLING | dict(zip(names, old.recipe.sampling, strict=True))
        recipe = replace(old.recipe, sampling=tuple(sampling.values()))
        return checked(TrainedNetworks(checked(recipe), old.n_members, old.ensemble, old.restarts, old.loss_curve))

    def model(self, source: Source, noise: Noise, *intervals: Interval, dof: Array | None = None) -> Predictor:
        """Made of checked parts."""
        learned = self.learned
        name = self.parameters.get("interval", intervals[0].name)
        known = {each.name: checked(each) for each in intervals}
        require(name in known or name in ("cv+", "jackknife+", "calibrated"), "there is no such interval")
        require(learned["_learns_noise"] == noise.differs, "the networks do not fit the noise")
        model = Predictor(
            units=checked(Units(learned["_x_scaling"], learned["_y_scaling"], learned["_y_is_vector"])),
            source=checked(source),
            noise=checked(noise),
            intervals=known,
            interval=name if name in known else intervals[0].name,
            distribution=Normal() if dof is None else checked(Student(dof)),
            expected=learned.get("_expected"),
            conformal=learned["_conformal"],
        )
        return checked(model)

    def calibrated(self) -> list[Calibrated]:
        factors = self.learned["_factors"]
        return [] if factors is None else [Calibrated(factors)]


Upgrade = Callable[[Old], tuple[Predictor, dict[str, Any]]]


def extra_nets(old: Old) -> tuple[Predictor, dict[str, Any]]:
    learned = old.learned
    networks = old.networks("keep_prob", "null_members")
    noise: Noise = HeadNoise(learned["_noise"]) if networks.learns_noise else ConstantNoise(learned["_noise"])
    if learned["_noise_model"] is not None:
        noise = NetworkNoise(learned["_noise_model"], learned["_noise"])
    calibrated = old.calibrated()
    intervals: list[Interval] = [*calibrated, Paper(), Total()]
    kept = learned["_cv_plus"]
    if kept is not None:
        require(bool(calibrated), "folds without a calibration")
        intervals.append(CvPlus(calibrated[0], kept.ensembles, kept.fold_of_row, kept.residuals))
    settings = learned["settings_"]
    if settings is not None and "hidden_layer_sizes" in settings:  # it was as the user had spelt it
        settings = settings | {"hidden_layer_sizes": hidden_units(settings["hidden_layer_sizes"])}
    return old.model(networks, noise, *intervals, dof=learned["_dof"]), {"settings_": settings}


def bootstrap(old: Old) -> tuple[Predictor, dict[str, Any]]:
    learned = old.learned
    by_interval = {"mean": "averaged", "full": "normal", "corrected": "bias_corrected"}
    require(set(by_interval.values()) <= learned["_noises"].keys(), "noise of other constructions")
    noise = CentredNoise({centre: learned["_noises"][name] for centre, name in by_interval.items()})
    plain = [BootstrapAveraged(), BootstrapNormal(), BootstrapBiasCorrected(), BootstrapPercentile()]
    kept = [] if learned["_jackknife"] is None else [learned["_jackknife"]]
    model = old.model(Resampled(old.networks()), noise, *plain, *kept)
    return model, {name: learned[name] for name in ("_out_of_bag", "oob_score_")}


def mc_dropout(old: Old) -> tuple[Predictor, dict[str, Any]]:
    networks = old.networks()
    kind = HeadNoise if networks.learns_noise else ConstantNoise
    source = DropoutPasses(networks, old.parameters.get("n_passes", 200))
    model = old.model(source, kind(old.learned["_noise"]), Total(), *old.calibrated())
    return model, {"keep_prob_scores_": old.learned["keep_prob_scores_"]}


def deep_ensemble(old: Old) -> tuple[Predictor, dict[str, Any]]:
    networks = old.networks("adversarial_epsilon")
    return old.model(networks, HeadNoise(old.learned["_noise"]), Total()), {}


def mean_variance(old: Old) -> tuple[Predictor, dict[str, Any]]:
    return old.model(old.networks(), HeadNoise(old.learned["_noise"]), Total()), {}


def delta_method(old: Old) -> tuple[Predictor, dict[str, Any]]:
    source = Linearised(old.networks(), old.learned["_curvatures"])
    return old.model(source, LeverageNoise(old.learned["_noise"]), Delta()), {}


def variational_inference(old: Old) -> tuple[Predictor, dict[str, Any]]:
    source = WeightSamples(old.learned["posterior_"], old.learned["_seed"], old.parameters.get("n_passes", 100))
    return old.model(source, ConstantNoise(old.learned["_noise"]), Total()), {}


def probabilistic_back_propagation(old: Old) -> tuple[Predictor, dict[str, Any]]:
    source = GaussianWeights(old.learned["posterior_"], old.learned["_seed"], old.parameters.get("n_passes", 100))
    model = old.model(source, ConstantNoise(old.learned["_noise"]), Total())
    return model, {"n_iter_": old.learned["n_iter_"]}


UPGRADES: dict[str, tuple[Upgrade, dict[str, Any]]] = {
    "ExtraNetsRegressor": (
        extra_nets,
        {
            **TRAINED_TYPES,
            **NOISE_TYPES,
            "n_null_": int,
            "_cv_plus": OldFolds | None,
            "_noise_model": NoiseModel | None,
            "_dof": Array | None,
            "_expected": dict[str, Array] | None,
            "settings_": dict[str, Any] | None,
        },
    ),
    "BootstrapNetsRegressor": (
        bootstrap,
        {
            **TRAINED_TYPES,
            "_noises": dict[str, Array],
            "_out_of_bag": Array,
            "oob_score_": float,
            "_jackknife": JackknifePlus | None,
        },
    ),
    "MCDropoutRegressor": (
        mc_dropout,
        {**TRAINED_TYPES, **NOISE_TYPES, "keep_prob_": float, "keep_prob_scores_": dict[float, float] | None},
    ),
    "DeepEnsembleRegressor": (deep_ensemble, {**TRAINED_TYPES, **NOISE_TYPES}),
    "MeanVarianceRegressor": (mean_variance, {**TRAINED_TYPES, **NOISE_TYPES}),
    "DeltaMethodRegressor": (
        delta_method,
        {
            **TRAINED_TYPES,
            **NOISE_TYPES,
            "_curvatures": list[Curvature],
            "damping_": Array,
            "n_effective_parameters_": Array,
        },
    ),
    "VariationalRegressor": (
        variational_inference,
        {
            **UNITS_TYPES,
            **NOISE_TYPES,
            "posterior_": variational.Posterior,
            "prior_variance_": float,
            "loss_curve_": Float32,
            "_seed": int,
        },
    ),
    "PBPRegressor": (
        probabilistic_back_propagation,
        {**UNITS_TYPES, **NOISE_TYPES, "posterior_": pbp.Posterior, "_seed": int},
    ),
}


def upgraded(name: str, stored: dict[str, Any]) -> dict[str, Any]:
    """The entries that a file of today would have, from those of an old one; ``name`` is the estimator's class."""
    check_types(stored, ENTRIES)
    given = {RENAMED.get(each, each): value for each, value in stored["parameters"].items()}
    require(len(given) == len(stored["parameters"]), "a parameter under two names")
    parameters = BEFORE.get(name, {}) | given
    model: Predictor | None = None
    extras: dict[str, Any] = {}
    if stored["learned"] is not None:
        upgrade, types = UPGRADES[name]
        absent = {each for each, hint in types.items() if fits(None, hint)} - stored["learned"].keys()
        learned = stored["learned"] | dict.fromkeys(absent)  # which was added later
        check_types(learned, types)
        model, extras = upgrade(Old(parameters, learned))
    kept = {each: stored[each] for each in ("n_features", "feature_names", "fit_info")}
    return {**kept, "parameters": parameters, "model": model, "extras": extras}
