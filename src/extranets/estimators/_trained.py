"""Estimators whose networks the engine trains with Adam: members, held-out rows, warm starts, noise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from extranets import engine
from extranets._arrays import Array
from extranets._progress import progress_line
from extranets._random import draw_seed
from extranets._warnings import warn_user
from extranets.engine import Moments
from extranets.estimators._base import NetsRegressor
from extranets.estimators._copies import warn_of_copies
from extranets.estimators._fitted import Fitted, Recipe
from extranets.estimators._held_out import (
    FIRST_FOLD_ID,
    Plan,
    Sample,
    cross_validation,
    errors_on,
    hold_out,
    member_name,
)
from extranets.estimators._onnx import network_moments
from extranets.estimators._parameters import TrainingParameters
from extranets.estimators._stored import NOISE_TYPES
from extranets.model_file import require
from extranets.networks import Architecture, Ensemble, Members, draw_members
from extranets.onnx_graph import Value
from extranets.uncertainty.components import HeldOut
from extranets.uncertainty.noise import leaves_too_few_degrees, training_variance

TRAINED_TYPES: dict[str, Any] = {
    **NOISE_TYPES,
    "_fitted": Fitted,
    "restarts_": npt.NDArray[np.int32],
    "loss_curve_": npt.NDArray[np.float32],
}


class TrainedRegressor(TrainingParameters, NetsRegressor):
    """One or more networks, alike but for their streams, trained in one call together with those that leave folds out.

    What differs between estimators is in the small methods at the end.
    """

    _fitted: Fitted
    _learned_types: ClassVar[dict[str, Any]] = TRAINED_TYPES

    # Parameters of some estimators, fixed in others.
    n_estimators = 1
    noise = "none"
    n_folds = 5
    holdout_fraction = 0.2
    warm_start = False
    honest_noise = "cv"  # what to use where noise="train" says little
    _task = ""  # what networks are trained for, if not for the fit itself; for the progress line

    @property
    def ensemble_(self) -> Ensemble:
        return self._fitted.ensemble

    # -- fit, step by step ---------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.interval in ("calibrated", "cv+") and self.noise == "train":
            raise ValueError(
                f"interval={self.interval!r} needs errors on rows that were not trained on; use noise='cv' or "
                "noise='holdout', or another interval with noise='train'."
            )

    def _forget(self) -> None:
        if not self._grows():
            super()._forget()

    def _grows(self) -> bool:
        return self.warm_start and self.__sklearn_is_fitted__()

    def _learn(self, sample: Sample) -> dict[str, Any]:
        return self._learn_with(self._options(len(sample.y)), sample, self._seed())

    def _seed(self) -> int:
        return self._fitted.recipe.seed if self._grows() else draw_seed(self.random_state)

    def _learn_with(self, options: engine.Options, sample: Sample, seed: int) -> dict[str, Any]:
        old = self._fitted if self._grows() else None
        plan = self._plan(len(sample.y), seed)
        if plan is not None:
            warn_of_copies(sample)
        recipe = self._recipe(options, sample, plan, seed)
        if old is not None:
            self._check_growth(old, recipe)
        ids = np.arange(0 if old is None else old.n_members, self._n_members(), dtype=np.uint32)
        fitted, extra = self._assemble(old, self._train(recipe, sample, plan, ids), recipe)
        return self._learned(fitted, extra, sample, plan)

    def _recipe(self, options: engine.Options, sample: Sample, plan: Plan | None, seed: int) -> Recipe:
        # Rows of folds have their say in an encoding, which reads X alone; rows that no network trains on have none.
        seen = slice(None) if plan is None or not plan.keeps_rows_from_final else plan.fold_of_row < 0
        encoding = self._encoding(sample.X[seen])
        architecture = self._architecture(sample.X.shape[1], sample.y.shape[1], encoding)
        held_out = self.holdout_fraction if plan is not None and plan.keeps_rows_from_final else None
        return Recipe(architecture, options, seed, (held_out, *self._sampling()), sample.fingerprint)

    def _check_growth(self, old: Fitted, recipe: Recipe) -> None:
        if recipe != old.recipe:
            raise ValueError(
                "warm_start=True adds networks to those of the last fit, so only n_estimators may change since then, not "
                "the data or how networks are trained. Set warm_start=False to fit anew."
            )
        shrinks_by = old.n_members - self._n_members()
        if shrinks_by > 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least {self.n_estimators + shrinks_by} when warm_start=True."
            )

    def _train(self, recipe: Recipe, sample: Sample, plan: Plan | None, ids: npt.NDArray[np.uint32]) -> engine.Trained:
        """Train the final members ``ids``, and the plan's own members, in one call."""
        members = self._draw(recipe.architecture, recipe.seed, ids)
        if plan is not None:
            members += self._draw(recipe.architecture, recipe.seed, plan.extra_ids())
        counts, count_rows = self._counts(members, plan, len(sample.y), recipe.seed)
        try:
            with progress_line(f"{self._task}training {len(members)} networks".capitalize(), self.verbose) as progress:
                return engine.train(
                    members,
                    sample.X,
                    sample.y,
                    recipe.options,
                    recipe.seed,
                    sample_weight=sample.weight_or_none,
                    counts=counts,
                    count_rows=count_rows,
                    adversarial=self._adversarial(sample),
                    **self._machine(),
                    progress=progress,
                )
        except engine.TrainingDiverged as error:
            raise engine.TrainingDiverged(
                f"The loss of {len(error.members)} of {len(members)} networks was not finite in any of their starts (first: "
                f"{member_name(error.members[0])}). Lower learning_rate_init, or set max_grad_norm=1.0{self._and_lower()}.",
                error.members,
            ) from None

    def _assemble(self, old: Fitted | None, trained: engine.Trained, recipe: Recipe) -> tuple[Fitted, Ensemble]:
        """The final members, old and new, and how their training went; and the members that left a fold out."""
        n_final = int(np.searchsorted(trained.ensemble.members.ids, FIRST_FOLD_ID))
        final = trained.ensemble[:n_final]
        restarts = trained.n_attempts[:n_final] - np.int32(self.n_restarts)
        curve = trained.loss_curve[:n_final]
        if old is not None:
            final = old.ensemble + final
            restarts = np.concatenate([old.restarts, restarts])
            curve = np.concatenate([old.loss_curve, curve])
        if len(final) == 0:
            raise ValueError("Every mask emptied a hidden layer; use a larger keep_prob or null_members='redraw'.")
        if trained.collapsed.any():
            warn_user(
                f"{int(trained.collapsed.sum())} of {len(trained.collapsed)} networks still had a training R^2 below "
                f"collapse_r2={self.collapse_r2} after {self.max_restarts} restarts. If X does explain y, use wider layers "
                "or a smaller learning_rate_init.",
                ConvergenceWarning,
            )
        alone = Ensemble(final.members, final.parameters.copy())  # a slice would keep the folds' networks in memory
        return Fitted(recipe, self._n_members(), alone, restarts, curve), trained.ensemble[n_final:]

    def _learned(self, fitted: Fitted, extra: Ensemble, sample: Sample, plan: Plan | None) -> dict[str, Any]:
        """All that `fit` sets, by attribute."""
        return {
            **self._noise_of(fitted, extra, sample, plan),
            "_fitted": fitted,
            "_learns_noise": fitted.recipe.architecture.learns_noise,
            "restarts_": fitted.restarts,
            "loss_curve_": fitted.loss_curve,
            "n_iter_": int((~np.isnan(fitted.loss_curve)).sum(axis=1).max()),
        }

    def _noise_of(self, fitted: Fitted, extra: Ensemble, sample: Sample, plan: Plan | None) -> dict[str, Any]:
        """Residual variance and, where rows were held out, the calibration's factors."""
        learned = fitted.recipe.architecture.learns_noise
        final = self._moments_of(fitted.ensemble, fitted.recipe)
        if plan is not None:
            return self._noise_from(self._held_out(fitted, extra, sample, plan), final.n_members, learned)
        if learned:
            return {"_noise": np.ones(sample.y.shape[1]), "_factors": None}
        n_parameters = fitted.ensemble.parameters_per_output
        return {"_noise": self._training_noise(final, sample, n_parameters), "_factors": None}

    def _held_out(self, fitted: Fitted, extra: Ensemble, sample: Sample, plan: Plan) -> HeldOut:
        return plan.errors(fitted.ensemble, extra, sample, lambda e: self._moments_of(e, fitted.recipe))

    def _held_out_errors(self, recipe: Recipe, sample: Sample, plan: Plan) -> HeldOut:
        """Errors of networks that are trained for nothing else."""
        final = np.arange(int(plan.keeps_rows_from_final), dtype=np.uint32)  # only a hold-out needs the final network
        ensemble = self._train(recipe, sample, plan, final).ensemble
        n_final = int(np.searchsorted(ensemble.members.ids, FIRST_FOLD_ID))
        return plan.errors(ensemble[:n_final], ensemble[n_final:], sample, lambda e: self._moments_of(e, recipe))

    def _training_noise(self, moments: Moments, sample: Sample, n_parameters: float | Array) -> Array:
        if leaves_too_few_degrees(n_parameters, len(sample.y)):
            warn_user(
                f"noise='train': a network has {np.max(n_parameters):.0f} parameters and there are {len(sample.y)} rows, so "
                f"training residuals say little about the noise; use noise={self.honest_noise!r}."
            )
        errors = errors_on(moments, sample, np.arange(len(sample.y)))
        return training_variance(errors.residual, errors.weight, n_parameters)

    def _check_learned(self) -> None:
        super()._check_learned()
        architecture = self._fitted.recipe.architecture
        require(architecture.n_inputs == self.n_features_in_, "the networks do not fit the features")
        require(architecture.n_outputs == len(self._y_scaling.centre), "the networks do not fit the outputs")
        require(self._learns_noise == self._predicts_noise(), "the networks do not fit the noise")

    def _predicts_noise(self) -> bool:
        """Whether the variance of the noise is predicted for every row."""
        return self._fitted.recipe.architecture.learns_noise

    # -- what differs between estimators -------------------------------------------------------------------------------

    def _n_members(self) -> int:
        """Final networks to train."""
        return self.n_estimators

    def _sampling(self) -> tuple[Any, ...]:
        """What the final members depend on besides architecture, options, data and rows held out."""
        return ()

    def _and_lower(self) -> str:
        """What else makes training diverge, for a message."""
        return ""

    def _draw(self, architecture: Architecture, seed: int, ids: npt.NDArray[np.uint32]) -> Members:
        return draw_members(architecture, 1.0, seed, ids)

    def _plan(self, n_rows: int, seed: int) -> Plan | None:
        """Which rows to hold out for the noise and the calibration; None where neither needs them."""
        if self.noise == "train" or (self.loss == "gaussian_nll" and self.interval not in ("calibrated", "cv+")):
            return None
        if self.noise == "holdout":
            return hold_out(n_rows, self.holdout_fraction, seed)
        return cross_validation(n_rows, self.n_folds, self.n_estimators, seed)

    def _counts(
        self, members: Members, plan: Plan | None, n_rows: int, seed: int
    ) -> tuple[npt.NDArray[np.uint16] | None, npt.NDArray[np.int32] | None]:
        """How often rows stand in samples, and which sample a member trains on."""
        return (None, None) if plan is None else (plan.counts(), plan.fold_of_member(members.ids))

    def _adversarial(self, sample: Sample) -> npt.NDArray[np.float32] | None:
        """Steps of adversarial training, one for each feature; None for none."""
        return None

    def _moments_of(self, ensemble: Ensemble, recipe: Recipe) -> Moments:
        """How these networks predict."""
        return engine.moments(ensemble, **self._machine())

    def _members(self, X: npt.NDArray[np.float32]) -> npt.NDArray[np.floating]:
        heads = engine.forward(self.ensemble_, X, **self._machine())
        return heads[:, :, : self.ensemble_.members.architecture.n_outputs]

    def _moments(self) -> Moments:
        return self._moments_of(self.ensemble_, self._fitted.recipe)

    def _graph_moments(self, x: Value) -> tuple[Value, Value, Value | None]:
        return network_moments(x, self.ensemble_)
