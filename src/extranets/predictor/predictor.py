"""A fitted model, frozen: a list of parts, and all that can be asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from extranets._arrays import Array, Float32, blocks
from extranets.engine import Machine
from extranets.held_out import Sample
from extranets.model_file import require, storable
from extranets.model_file.typed import check_types
from extranets.predictor.adaptive import Adaptive
from extranets.predictor.calibration import EXPECTED, calibrate, expected_scores, held_out_std, learn_intervals
from extranets.predictor.conformal import FROM_BEFORE, Conformal
from extranets.predictor.distance import Distance
from extranets.predictor.distributions import DISTRIBUTIONS, Normal
from extranets.predictor.intervals import INTERVALS
from extranets.predictor.intervals.plus import PlusBounds
from extranets.predictor.novelty import Bounds, Mask, Novelty, outside_of, tell
from extranets.predictor.part import (
    Choice,
    Distribution,
    Evidence,
    Interval,
    LearnShape,
    Noise,
    Source,
    check_variances,
)
from extranets.predictor.predictive import Predictive
from extranets.predictor.seen import SeenRows
from extranets.predictor.strata import NOTHING, Beside, Strata
from extranets.predictor.units import Units
from extranets.uncertainty.components import Components
from extranets.uncertainty.plus import as_pairs, both_sides

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen

NAMED_ROWS = 5  # of those whose predictions are not finite


@storable("Predictor")
@dataclass(frozen=True)
class Predictor:
    """What a fit makes. ``X`` is a checked table in the user's units, dense or CSR, in all methods.

    ``intervals`` holds those that the fit has learned, by name; ``interval`` is the name of the one in use. ``expected`` holds
    scores that are to be expected on new rows, in units of the latent target's scale, shape ``(n_outputs,)`` each.
    """

    units: Units
    source: Source
    noise: Noise
    intervals: dict[str, Interval]
    interval: str
    distribution: Distribution
    expected: dict[str, Array] | None = None
    conformal: Conformal | None = None
    adaptive: Adaptive | None = None
    distance: Distance | None = None
    seen: SeenRows | None = None  # unknown in files of early versions
    novelty: Novelty | None = None  # likewise

    @classmethod
    def uncalibrated(
        cls,
        units: Units,
        source: Source,
        noise: Noise,
        kinds: Sequence[type[Interval]],
        interval: str,
        kept: Sequence[Interval] = (),
    ) -> Predictor:
        """Where no held-out row decides on intervals: those that need none, and those that are ``kept`` of the fit."""
        intervals = {kind.name: kind() for kind in kinds if not kind.needs_rows} | {each.name: each for each in kept}
        return cls(units, source, noise, intervals, interval, Normal())

    @classmethod
    def from_rows(
        cls,
        units: Units,
        source: Source,
        noise: Noise,
        evidence: Evidence,
        kinds: Sequence[type[Interval]],
        interval: str,
        learn_shape: LearnShape,
    ) -> Predictor:
        """Where held-out rows decide on intervals and on the shape of the distribution."""
        learned = learn_intervals(kinds, evidence, noise, interval)
        found = calibrate(evidence, noise, learned, learn_shape)
        return cls(units, source, found.noise, found.intervals, interval, found.distribution)

    @property
    def n_outputs(self) -> int:
        return self.units.n_outputs

    def choosing(self, choice: Choice) -> Predictor:
        """As the parameters that may change after fit ask for it."""
        name = self.interval if choice.interval is None else choice.interval
        kind, shape = INTERVALS[name], self.distribution
        if choice.distribution in DISTRIBUTIONS and choice.distribution != shape.name:  # "auto" is what the fit chose
            shape = DISTRIBUTIONS[choice.distribution].without_rows()
        source, noise = self.source.choosing(choice, kind), self.noise.choosing(choice, kind)
        if name == self.interval and shape is self.distribution and source is self.source and noise is self.noise:
            return self  # as a rule, and quicker than a copy
        return replace(self, source=source, noise=noise, interval=name, distribution=shape)

    def construction(self) -> dict[str, Any]:
        """Parameters that may change after fit and change the predicted standard deviation."""
        return {"interval": self.interval, **self.source.construction()}

    # -- predictions ---------------------------------------------------------------------------------------------------

    def mean(self, X: Any, machine: Machine) -> Array:
        """Shape: ``(n, k)`` -> ``(n,)`` or ``(n, n_outputs)``, as are all results."""
        if self.units.link.powers is not None:  # the mean depends on the variance
            return self.components(X, machine).mean
        moments = self.source.mean_moments(machine)
        mean = self._room(X)
        for rows, block in self._standardised(X):
            mean[rows] = self.units.y.undo(moments(block)[0])
        refuse_non_finite(mean)
        return self.units.as_target(self.units.link.target(mean))

    def members(self, X: Any, machine: Machine) -> Array:
        """Shape: ``(n, k)`` -> ``(n_members, n[, n_outputs])``."""
        parts = [self.units.y.undo(self.source.members(block, machine)) for _, block in self._standardised(X)]
        members = self.units.link.unlimited(np.concatenate(parts, axis=1))
        refuse_non_finite(np.moveaxis(members, 1, 0))
        return members[:, :, 0] if self.units.y_is_vector else members

    def components(self, X: Any, machine: Machine) -> Components:
        """Mean, and epistemic and aleatoric variance, in the target's units."""
        return self.predictive(X, machine).components()

    def predictive(self, X: Any, machine: Machine) -> Predictive:
        """The predictive distributions."""
        return Predictive(self.distribution, self.latent(X, machine), self.units.link)

    def latent(self, X: Any, machine: Machine) -> Components:
        """Mean and variances of the latent target."""
        moments = self.source.moments(machine)
        unit = self.units.y.scale**2
        mean, epistemic, aleatoric = (self._room(X) for _ in range(3))
        for rows, block in self._standardised(X):
            own, spread, predicted = moments(block)
            noise = self.noise.evaluate(block, predicted, machine)
            variances = self.interval_in_use.variances(spread, noise, moments.n_members)
            unknown = 0.0 if self.distance is None else self.distance.evaluate(block)
            mean[rows] = self.units.y.undo(own)
            epistemic[rows], aleatoric[rows] = (variances[0] + unknown) * unit, variances[1] * unit
        refuse_non_finite(mean, epistemic, aleatoric)
        return Components(*(self.units.as_target(part) for part in (mean, epistemic, aleatoric)))

    def bounds(self, X: Any, levels: Array, machine: Machine, beside: Beside = NOTHING) -> tuple[Components, Array]:
        """Components, and central intervals. Shape: levels ``(k,)`` -> ``(n[, n_outputs], 2, k)``."""
        self.strata.check_new(beside)
        predictive = self.predictive(X, machine)
        bounds = self._latent_bounds(X, predictive, levels, machine, beside)
        return predictive.components(), self.units.link.target(bounds, trailing=2)

    def _latent_bounds(self, X: Any, predictive: Predictive, levels: Array, machine: Machine, beside: Beside) -> Array:
        if self.adaptive is not None:
            return self.adaptive.bounds(predictive.latent, levels, self.distribution, self.construction())
        if self.conformal is not None:
            return self.conformal.bounds(predictive.latent, levels, self.construction(), beside)
        if self.interval_in_use.own_bounds:
            found = self._own_bounds(X, both_sides(levels), machine, beside)
            self.interval_in_use.warn_if_infinite(found, np.tile(levels, 2), beside)
            return as_pairs(found)
        tails = (1 - levels) / 2
        return np.stack([predictive.latent_quantiles(tails), predictive.latent_quantiles(1 - tails)], axis=-2)

    def quantiles(self, X: Any, levels: Array, machine: Machine, beside: Beside = NOTHING) -> Array:
        """Of the predictive distribution: what central intervals end at. Shape: ``(k,)`` -> ``(n[, n_outputs], k)``."""
        self.strata.check_new(beside)
        predictive = self.predictive(X, machine)
        if self.conformal is not None:
            found = self.conformal.quantiles(predictive.latent, levels, self.construction(), beside)
        elif self._bounds_are_quantiles:
            found = self._own_bounds(X, levels, machine, beside)
            self.interval_in_use.warn_if_infinite(found, np.abs(2 * levels - 1), beside)
        else:
            return predictive.quantiles(levels)
        return self.units.link.target(found, trailing=1)

    def frozen(self, X: Any, machine: Machine, beside: Beside = NOTHING) -> rv_continuous_frozen:
        """The predictive distribution, as one of scipy."""
        self.strata.check_new(beside)
        predictive = self.predictive(X, machine)
        if self.conformal is not None:
            return self.conformal.frozen(predictive, self.construction(), beside)
        if self._bounds_are_quantiles:
            from extranets.predictor.tabulated import LEVELS, tabulated  # which loads much of scipy

            return tabulated(self._own_bounds(X, LEVELS, machine, beside), predictive)
        return predictive.frozen()

    def _own_bounds(self, X: Any, levels: Array, machine: Machine, beside: Beside) -> Array:
        """Of the latent target, by the level of the tail that a bound ends. Shape: ``(k,)`` -> ``(n[, n_outputs], k)``.

        They may be infinite: where rows are too few for a level.
        """
        interval, parts = self.interval_in_use, []
        for rows, block in self._standardised(X):
            centres = interval.centres(block, self.source, machine)
            refuse_non_finite(np.moveaxis(centres, 1, 0), first_row=rows.start)
            parts.append(interval.bounds(centres, self.units, levels, beside.part(rows)))
        return self.units.as_target(np.concatenate(parts))

    @property
    def _bounds_are_quantiles(self) -> bool:
        """Whether the interval's own bounds are those of the predictive distribution."""
        return self.interval_in_use.predictive and self.adaptive is None and self.conformal is None

    @property
    def strata(self) -> Strata:
        """With which known rows intervals compare new ones; plain where they compare with none."""
        if self.conformal is not None:
            return self.conformal.strata
        interval = self.intervals.get(self.interval)  # None: what asks for its bounds says what to do
        return interval.strata if self.adaptive is None and isinstance(interval, PlusBounds) else FROM_BEFORE

    # -- rows unlike those of training ---------------------------------------------------------------------------------

    @cached_property
    def _bounds(self) -> Bounds | None:
        """Of what training rows cover, in the user's units."""
        return None if self.novelty is None else Bounds.of(self.novelty.limits, self.units.x)

    def tell_of_novel(self, X: Any, names: Sequence[str] | None) -> None:
        """Warn of rows outside of what the training rows cover; ``names`` are those of the columns."""
        if self._bounds is not None:
            tell(X, self._bounds, names)

    def comparing(self, X: Any) -> Predictor:
        """With these rows as those that new ones are compared with. Shape: ``(n, k)``."""
        return replace(self, novelty=Novelty.learn(self.units.x.apply(X)))

    def outside(self, X: Any) -> Mask:
        """Which values are outside. Shape: ``(n, k)`` -> ``(n, k)``."""
        if self._bounds is None:
            raise ValueError(
                "The model was fitted by a version that did not keep what training rows cover; call fit again."
            )
        return outside_of(X, self._bounds)

    def novelty_of(self, X: Any) -> Array:
        """Share of the training rows that are less far from the others; 1 for rows outside. Shape: ``(n, k)`` -> ``(n,)``."""
        outside = self.outside(X).any(axis=1)
        assert self.novelty is not None  # or else `outside` has refused
        scores = np.concatenate([self.novelty.score(block) for _, block in self._standardised(X)])
        return np.where(outside, 1.0, scores)

    # -- rows that were held out ---------------------------------------------------------------------------------------

    def conformal_of(self, X: Any, y: Array, strata: Strata, machine: Machine) -> Conformal:
        """What makes intervals cover by construction, from rows that were not used to fit. Shape: y ``(n, n_outputs)``."""
        latent = self.units.as_target(self.units.link.scores_of(y))
        return Conformal.learn(latent, self.latent(X, machine), self.construction(), strata)

    def stratified(self, strata: Strata) -> Predictor:
        """With an interval that compares new rows with those of the fit by tail, by group, or with weights."""
        interval = self.interval_in_use
        if not isinstance(interval, PlusBounds):
            raise ValueError(
                f"interval={self.interval!r} compares new rows with none of the fit. Use interval='cv+' of ExtraNetsRegressor or "
                "'jackknife+' of BootstrapNetsRegressor, or conformalize with rows that were set aside."
            )
        return replace(self, intervals={**self.intervals, self.interval: interval.stratified(strata)}, conformal=None)

    def updated(self, X: Any, y: Array, machine: Machine) -> Predictor:
        """With intervals that have followed the errors of further rows, in their order. Shape: y ``(n, n_outputs)``."""
        if self.interval_in_use.own_bounds:
            raise ValueError(
                f"update moves bounds in units of the predicted standard deviation, which those of interval={self.interval!r} are "
                "not; choose another interval."
            )
        parts, construction = self.latent(X, machine), self.construction()
        before = self.adaptive or Adaptive.start(self.distribution, self.n_outputs, construction)
        mean, std = parts.mean.reshape(y.shape), parts.std.reshape(y.shape)
        units = self.units.allowing(y)
        adaptive = before.updated(units.link.latent(y), mean, std, construction)
        return replace(self, units=units, adaptive=adaptive, conformal=None)

    def recalibrated(
        self,
        sample: Sample,
        machine: Machine,
        kinds: Sequence[type[Interval]],
        learn_shape: LearnShape,
        *,
        expects: bool,
    ) -> Predictor:
        """With noise, and all that follows from it, from rows that the networks did not see."""
        if self.noise.differs and not INTERVALS[self.interval].needs_rows:
            raise ValueError(
                "Networks predict the noise of every row; there is none to estimate. Fit with loss='squared_error' and, where "
                "it is a parameter, noise_model='constant'."
            )
        noise, held = self.noise.relearned(self.source, sample, machine)
        evidence = Evidence(held, self.source.n_members)
        variance = held.noise * noise.factor
        kept = {name: each.relearned(evidence, variance) for name, each in self.intervals.items()}
        fresh = [kind for kind in kinds if kind.name not in kept]
        found = calibrate(evidence, noise, kept | learn_intervals(fresh, evidence, noise), learn_shape)
        model = replace(self, **vars(found), conformal=None, adaptive=None)
        return (
            model.expecting(evidence, sample.y)
            if expects and model.interval in model.intervals
            else replace(model, expected=None)
        )

    def expecting(self, evidence: Evidence, y: Float32) -> Predictor:
        """With scores of the interval in use, estimated on held-out rows. Shape: y ``(n, n_outputs)``, standardised."""
        std, link = held_out_std(self.interval_in_use, self.noise, evidence), self.units.link
        centre, unit = self.units.y.centre, self.units.y.scale
        mean, error = evidence.held.residual + y, -evidence.held.residual
        if link.is_plain:  # errors say all, and need no units
            mean, observed, unit = np.zeros_like(std), error, np.ones_like(unit)
        else:
            # Targets that have been standardised may have been rounded beyond a limit: they are drawn back.
            mean, observed = mean * unit + centre, link.target(y.astype(np.float64) * unit + centre)
        latent = Components(mean, (std * unit) ** 2, np.zeros_like(std))
        found = expected_scores(Predictive(self.distribution, latent, link), observed, evidence.held.weight)
        for name in ("rmse", "interval_score"):
            found[name] = np.divide(found[name], unit, out=found[name], where=unit > 0)
        return replace(self, expected=found)

    def widening(self, X: Float32, factor: float, machine: Machine) -> Predictor:
        """With an epistemic variance that grows with the distance from these rows. Shape: X ``(n, k)``, standardised."""
        return replace(self, distance=Distance.learn(X, self.source.mean_moments(machine), factor) if factor else None)

    # -- shared parts --------------------------------------------------------------------------------------------------

    @property
    def interval_in_use(self) -> Interval:
        found = self.intervals.get(self.interval)
        if found is None:
            raise ValueError(f"interval={self.interval!r} {INTERVALS[self.interval].missing}")
        return found

    def _standardised(self, X: Any) -> Iterator[tuple[slice, Float32]]:
        """Rows in the networks' units, a block at a time: predicting needs no copy of a large table, and Ctrl-C is seen."""
        return ((rows, self.units.x.apply(X[rows])) for rows in blocks(X.shape[0]))

    def _room(self, X: Any) -> Array:
        """For one number of every row and output."""
        return np.empty((X.shape[0], self.n_outputs))

    def _check_stored(self) -> None:
        source = self.source
        require(len(self.units.x.centre) == source.n_features, "the networks do not fit the features")
        require(self.n_outputs == source.n_outputs, "the networks do not fit the outputs")
        require(self.interval in self.intervals, "the interval is not one of those that were learned")
        require(all(name == each.name for name, each in self.intervals.items()), "an interval under another name")
        parts: list[Noise | Interval | Distribution] = [self.noise, *self.intervals.values(), self.distribution]
        for part in parts:
            part.check_fits(source)
        if self.distance is not None:
            self.distance.check_fits(source)
        if self.novelty is not None:
            self.novelty.check_fits(source)
        if self.conformal is not None:
            self.conformal.check_fits(self.units, self.construction())
            require(self.conformal.construction["interval"] in INTERVALS, "conformal scores of an unknown interval")
        if self.adaptive is not None:
            self.adaptive.check_fits(self.n_outputs, self.construction())
        if self.expected is not None:
            check_types(self.expected, dict.fromkeys(EXPECTED, Array))
            for name, values in self.expected.items():
                check_variances(values, (self.n_outputs,), name)
            require((self.expected["coverage"] <= 1 + 1e-9).all(), "coverage is above 1")  # but for rounding


def refuse_non_finite(*results: npt.NDArray[np.floating], first_row: int = 0) -> None:
    """Refuse predictions that are infinite or NaN, by a ``ValueError`` that names their rows. Shape: ``(n, ...)`` each."""
    with np.errstate(over="ignore", invalid="ignore"):
        if all(np.isfinite(each.sum()) or np.isfinite(each).all() for each in results):  # the sum needs no temporary
            return
    n_rows = len(results[0])
    bad = np.any([~np.isfinite(each).reshape(n_rows, -1).all(axis=1) for each in results], axis=0)
    rows = np.flatnonzero(bad) + first_row
    named = ", ".join(map(str, rows[:NAMED_ROWS])) + (", ..." if len(rows) > NAMED_ROWS else "")
    raise ValueError(
        f"Predictions are not finite in {len(rows)} of {n_rows} rows (rows {named}, counted from 0): numbers inside the networks "
        "became too large. The weights of the model are not usable, as in a file that something has changed, or X has values "
        "far beyond those of training. Fit the model again, or check these rows."
    )
