"""Networks that Adam trains: the final ones and those that leave rows out, in one call of the engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from extranets import engine
from extranets._warnings import warn_user
from extranets.engine import Machine, Moments, TrainingData, WindowedData
from extranets.estimators.resampling import bootstrap_counts
from extranets.estimators.settings import Settings
from extranets.held_out import FIRST_FOLD_ID, Plan, Sample, member_name
from extranets.networks import Architecture, Ensemble, Members, draw_members
from extranets.predictor.sources import Recipe, TrainedNetworks
from extranets.uncertainty.components import HeldOut

# Shows the progress of what a title names, while a block runs; gives None where nothing is to be shown.
Watch = Callable[[str], AbstractContextManager[Callable[[float], object] | None]]


@dataclass(frozen=True)
class Trainer:
    """Trains networks of one kind, from the streams of one seed."""

    settings: Settings
    seed: int
    machine: Machine
    watch: Watch
    purpose: str = ""  # what the networks are for, if not for the fit itself; for the progress line

    def recipe(self, sample: Sample, plan: Plan | None) -> Recipe:
        """What the final members depend on besides their number."""
        settings, held_out = self.settings, plan is not None and plan.keeps_rows_from_final
        # Rows of folds have their say in an encoding, which reads X alone; rows that no network trains on have none.
        seen = plan.fold_of_row < 0 if plan is not None and held_out else slice(None)
        architecture = settings.architecture(sample.X[seen], sample.y.shape[1])
        share = plan.fraction if plan is not None and held_out else None
        sampling = (share, settings.keep_prob, settings.null_members, settings.adversarial_epsilon)
        return Recipe(architecture, settings.options(), self.seed, sampling, sample.fingerprint)

    def networks(
        self, n_networks: int, sample: Sample, plan: Plan | None, old: TrainedNetworks | None = None
    ) -> tuple[TrainedNetworks, Ensemble]:
        """The final networks, those of an earlier fit among them, and the networks that leave a fold out."""
        recipe = self.recipe(sample, plan)
        if old is not None:
            check_growth(old, recipe, n_networks)
        ids = np.arange(0 if old is None else old.n_drawn, n_networks, dtype=np.uint32)
        trained = self.train(recipe, sample, plan, ids)
        self._warn_if_collapsed(trained)
        n_final = int(np.searchsorted(trained.ensemble.members.ids, FIRST_FOLD_ID))
        final = trained.ensemble[:n_final]
        restarts = trained.n_attempts[:n_final] - np.int32(self.settings.n_starts)
        curve = trained.loss_curve[:n_final]
        if old is not None:
            final = old.ensemble + final
            restarts = np.concatenate([old.restarts, restarts])
            curve = np.concatenate([old.loss_curve, curve])
        if len(final) == 0:
            raise ValueError("Every mask emptied a hidden layer; use a larger keep_prob or null_members='redraw'.")
        alone = Ensemble(final.members, final.parameters.copy())  # a slice would keep the folds' networks in memory
        return TrainedNetworks(recipe, n_networks, alone, restarts, curve), trained.ensemble[n_final:]

    def held_out_errors(self, sample: Sample, plan: Plan, moments_of: Callable[[Ensemble, Recipe], Moments]) -> HeldOut:
        """Errors of networks that are trained for nothing else."""
        recipe = self.recipe(sample, plan)
        final = np.arange(int(plan.keeps_rows_from_final), dtype=np.uint32)  # only a hold-out needs the final network
        ensemble = self.train(recipe, sample, plan, final).ensemble
        n_final = int(np.searchsorted(ensemble.members.ids, FIRST_FOLD_ID))
        return plan.errors(ensemble[:n_final], ensemble[n_final:], sample, lambda e: moments_of(e, recipe))

    def train(self, recipe: Recipe, sample: Sample, plan: Plan | None, ids: npt.NDArray[np.uint32]) -> engine.Trained:
        """Train the final members ``ids``, and the plan's own members."""
        members = self._draw(recipe.architecture, ids)
        if plan is not None:
            members += self._draw(recipe.architecture, plan.extra_ids())
        data = self._data(sample, plan, members)
        title = f"{self.purpose}training {len(members)} networks".capitalize()
        try:
            with self.watch(title) as progress:
                return engine.train(members, data, recipe.options, self.seed, **self.machine, progress=progress)
        except engine.TrainingDiverged as error:
            lower = ", or lower adversarial_epsilon" if self.settings.adversarial_epsilon > 0 else ""
            raise engine.TrainingDiverged(
                f"The loss of {len(error.members)} of {len(members)} networks was not finite in any of their starts (first: "
                f"{member_name(error.members[0])}). Lower learning_rate_init, or set max_grad_norm=1.0{lower}.",
                error.members,
            ) from None

    def _draw(self, architecture: Architecture, ids: npt.NDArray[np.uint32]) -> Members:
        final = len(ids) > 0 and ids[0] < FIRST_FOLD_ID
        null = self.settings.null_members if final else "redraw"  # a fold must not lose all members
        return draw_members(architecture, self.settings.keep_prob, self.seed, ids, null=null)

    def _data(self, sample: Sample, plan: Plan | None, members: Members) -> TrainingData | WindowedData:
        """The rows, how often they stand in samples, and which sample a member trains on."""
        epsilon = np.float32(self.settings.adversarial_epsilon)
        counts, count_rows = None, None
        if self.settings.resamples:
            resampled = members.ids > 0
            counts = bootstrap_counts(self.seed, members.ids[resampled], len(sample.y))
            count_rows = np.where(resampled, np.cumsum(resampled) - 1, -1).astype(np.int32)
        elif plan is not None:
            counts, count_rows = plan.counts(), plan.fold_of_member(members.ids)
        adversarial = epsilon * np.ptp(sample.X, axis=0) if epsilon > 0 else None
        if sample.whole is not None:
            return sample.whole.training_data(counts, count_rows, adversarial=adversarial)
        samples: dict[str, Any] = {"counts": counts, "count_rows": count_rows, "adversarial": adversarial}
        return TrainingData(sample.X, sample.y, sample.weight_or_none, **samples)

    def _warn_if_collapsed(self, trained: engine.Trained) -> None:
        if trained.collapsed.any():
            warn_user(
                f"{int(trained.collapsed.sum())} of {len(trained.collapsed)} networks still had a training R^2 below "
                f"collapse_r2={self.settings.collapse_r2} after {self.settings.max_restarts} restarts. If X does explain y, use "
                "wider layers or a smaller learning_rate_init.",
                ConvergenceWarning,
            )


def check_growth(old: TrainedNetworks, recipe: Recipe, n_networks: int) -> None:
    """Refuse a warm start that would not give what a fit of all networks gives."""
    if recipe != old.recipe:
        raise ValueError(
            "warm_start=True adds networks to those of the last fit, so only n_estimators may change since then, not "
            "the data or how networks are trained. Set warm_start=False to fit anew."
        )
    if n_networks < old.n_drawn:
        raise ValueError(
            f"warm_start=True cannot remove networks: the last fit has {old.n_drawn - n_networks} more than n_estimators "
            "asks for. Set a larger n_estimators, or warm_start=False to fit anew."
        )
