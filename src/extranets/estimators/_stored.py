"""Estimators in model files: what is stored of them, and how much of it is believed."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from extranets import model_file
from extranets._arrays import Array
from extranets.estimators._conformal import Conformal
from extranets.estimators._fitted import FIT_INFO_TYPES
from extranets.estimators._scaling import Scaling
from extranets.model_file import require
from extranets.model_file.typed import check_types, fits

if TYPE_CHECKING:
    from typing_extensions import Self  # typing has it from Python 3.11 on

ENTRIES = {
    "parameters": dict[str, Any],
    "n_features": int | None,
    "feature_names": list[str] | None,
    "fit_info": dict[str, Any] | None,
    "learned": dict[str, Any] | None,
}

# What fit sets in every estimator. Each adds its own, as it does with the constraints of its parameters.
COMMON_TYPES: dict[str, Any] = {
    "n_iter_": int,
    "_x_scaling": Scaling,
    "_y_scaling": Scaling,
    "_y_is_vector": bool,
    "_learns_noise": bool,
    "_factors": Array | None,
    "_conformal": Conformal | None,
}
NOISE_TYPES: dict[str, Any] = {**COMMON_TYPES, "_noise": Array}


class StoredEstimator(BaseEstimator):
    """`save`, and both directions between an estimator and the entries of a model file."""

    _learned_types: ClassVar[dict[str, Any]]  # all that fit sets, but fit_info_
    _once: ClassVar[dict[str, Any]] = {}  # what estimators did before it was a parameter, where that is not its default

    def save(self, path: str | os.PathLike[str], *, about: dict[str, Any] | None = None) -> None:
        """Write the fitted estimator to a model file, which :func:`extranets.load` reads.

        The file holds arrays and JSON, no code. It is there as a whole or not at all. The loaded estimator predicts the same
        bits (on the CPU; set ``device`` to predict on a GPU), and can be refitted, conformalized, cloned, warm-started and saved again.

        Parameters
        ----------
        path : str or path
            By custom ``*.xnet``. A file that is there is replaced.
        about : dict, optional
            What else is worth keeping, such as scores or the name of a table: texts, finite numbers, truth values, None, lists,
            and dicts by text. :func:`extranets.model_file.read_info` gives it back.

        Notes
        -----
        A ``RandomState`` among the parameters is stored with its state.
        """
        check_is_fitted(self)
        model_file.save(self, path, about=about)

    def _to_stored(self) -> dict[str, Any]:
        self._check_values()
        stored: dict[str, Any] = dict.fromkeys(ENTRIES)
        stored["parameters"] = self.get_params(deep=False)
        stored["parameters"].pop("device", None)  # of this machine, not of the model: another may have no GPU
        if self.__sklearn_is_fitted__():
            names = getattr(self, "feature_names_in_", None)
            stored["n_features"] = self.n_features_in_
            stored["feature_names"] = None if names is None else names.tolist()
            stored["fit_info"] = self.fit_info_
            stored["learned"] = self._checked_learned()
        return stored

    def _checked_learned(self) -> dict[str, Any]:
        learned = {name: self.__dict__[name] for name in self._learned_names if name != "fit_info_"}
        check_types(learned, self._learned_types)
        self._check_learned()
        return learned

    @classmethod
    def _from_stored(cls, stored: dict[str, Any]) -> Self:
        check_types(stored, ENTRIES)
        parameters, known = stored["parameters"], cls._get_param_names()
        check_types(parameters, dict.fromkeys(known, Any), optional=known)  # old files do not have new ones
        model = cls(**{**cls._once, **parameters})
        model._check_values()
        if stored["learned"] is not None:
            model._restore(stored)
        return model

    def _restore(self, stored: dict[str, Any]) -> None:
        """Make it fitted."""
        learned, names = stored["learned"], stored["feature_names"]
        require(stored["fit_info"] is not None and stored["n_features"] is not None, "what the fit was is missing")
        check_types(stored["fit_info"], FIT_INFO_TYPES)
        # What later versions added is missing in old files; None says so.
        absent = {name for name, hint in self._learned_types.items() if fits(None, hint)} - learned.keys()
        learned |= dict.fromkeys(absent)
        check_types(learned, self._learned_types)
        require(names is None or len(names) == stored["n_features"], "the features' names do not fit their number")
        learned["fit_info_"] = stored["fit_info"]
        self.__dict__.update(learned, _learned_names=tuple(learned), n_features_in_=stored["n_features"])
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self._check_learned()

    def _check_values(self) -> None:
        """Parameters that no estimator could have been fitted with or predict with."""
        self._validate_params()
        self._check_hidden()

    @abstractmethod
    def _check_learned(self) -> None:
        """Refuse, by ``ValueError``, what `fit` could not have set: shapes and numbers that do not go together."""


def check_variances(values: Array, shape: tuple[int, ...], name: str) -> None:
    require(values.shape == shape, f"{name} has shape {values.shape} instead of {shape}")
    require((np.isfinite(values) & (values >= 0)).all(), f"{name} is negative or not finite")
