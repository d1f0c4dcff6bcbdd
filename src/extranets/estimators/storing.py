"""Between an estimator and the entries of a model file, none of which is believed unchecked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from extranets._sklearn import parameter_names
from extranets.estimators import old_files
from extranets.estimators.fitted import Fit
from extranets.model_file import require
from extranets.model_file.typed import check_types
from extranets.predictor import Predictor
from extranets.predictor.distributions import Normal

if TYPE_CHECKING:
    from extranets.estimators.base import NetsRegressor

R = TypeVar("R", bound="NetsRegressor")

ENTRIES = {
    "parameters": dict[str, Any],
    "n_features": int | None,
    "feature_names": list[str] | None,
    "fit_info": dict[str, Any] | None,
    "model": Predictor | None,
    "extras": dict[str, Any],
}
FIT_INFO = {"n_rows": int, "n_features": int, "seconds": float, "finished": str}


def entries_of(estimator: NetsRegressor) -> dict[str, Any]:
    """What a file holds of an estimator. An unfitted one, which another object may hold, has parameters only."""
    estimator.check_values()
    stored: dict[str, Any] = {**dict.fromkeys(ENTRIES), "extras": {}, "parameters": estimator.get_params(deep=False)}
    stored["parameters"].pop("device", None)  # of this machine, not of the model: another may have no GPU
    if estimator.__sklearn_is_fitted__():
        names = getattr(estimator, "feature_names_in_", None)
        stored["n_features"] = estimator.n_features_in_
        stored["feature_names"] = None if names is None else names.tolist()
        stored["fit_info"], stored["model"] = estimator.fit_info_, estimator.model_
        stored["extras"] = {name: estimator.__dict__[name] for name in estimator.extra_types}
        check_fits(estimator, stored)
    return stored


def restored(cls: type[R], stored: dict[str, Any]) -> R:
    """The estimator that a file holds."""
    if "learned" in stored:
        stored = old_files.upgraded(cls.__name__, stored)
    check_types(stored, ENTRIES)
    known = parameter_names(cls)
    check_types(stored["parameters"], dict.fromkeys(known, Any), optional=known)  # new ones take their defaults
    estimator = cls(**stored["parameters"])
    estimator.check_values()
    if stored["model"] is None:
        learned = {name: value for name, value in stored.items() if name != "parameters"}
        require(not any(learned.values()), "the model is missing")
        return estimator
    check_info(stored)
    check_fits(estimator, stored)
    estimator.set_fitted(Fit(stored["model"], stored["extras"]), stored["fit_info"])
    estimator.n_features_in_ = stored["n_features"]
    if stored["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(stored["feature_names"], dtype=object)
    return estimator


def check_info(stored: dict[str, Any]) -> None:
    """Refuse, by ``ValueError``, what no fit could have been."""
    info = stored["fit_info"]
    require(info is not None and stored["n_features"] is not None, "what the fit was is missing")
    check_types(info, FIT_INFO)
    require(info["n_features"] == stored["n_features"], "what the fit was does not fit the features")
    require(info["n_rows"] >= 1 and 0 <= info["seconds"] < np.inf, "what the fit was cannot be")


def check_fits(estimator: NetsRegressor, stored: dict[str, Any]) -> None:
    """Refuse, by ``ValueError``, a model that this estimator's fit could not have made."""
    model, names = stored["model"], stored["feature_names"]
    require(type(model.source) is estimator.source_kind, "the networks are not those of this estimator")
    require(type(model.noise) in estimator.noise_kinds, "noise that this estimator does not have")
    normal = type(model.distribution) is Normal
    require(normal or "distribution" in estimator.changeable, "a distribution that this estimator does not have")
    require(estimator.expects or model.expected is None, "expected scores, which this estimator does not have")
    widens = "distance_factor" in parameter_names(type(estimator))
    require(
        widens or model.distance is None, "a variance that grows with the distance, which this estimator does not have"
    )
    offered = {kind.name: kind for kind in estimator.intervals}
    known = all(offered.get(name) is type(each) for name, each in model.intervals.items())
    require(known, "an interval that this estimator does not have")
    require(model.source.n_features == stored["n_features"], "the networks do not fit the features")
    require(names is None or len(names) == stored["n_features"], "the features' names do not fit their number")
    check_types(stored["extras"], estimator.extra_types)
    estimator.check_extras(model, stored["extras"], stored["fit_info"]["n_rows"])
