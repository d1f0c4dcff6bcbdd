"""Stacked networks: as much network as a table deserves, found out by held-out errors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np

from extranets import engine
from extranets._arrays import Float32
from extranets._progress import thread_count
from extranets._random import draw_seed
from extranets._sklearn import Range, StrOptions
from extranets.engine import Machine
from extranets.estimators.base import NetsRegressor
from extranets.estimators.copies import warn_of_copies
from extranets.estimators.fitted import Fit
from extranets.estimators.parameters import (
    COMMON_CONSTRAINTS,
    DISTANCE_CONSTRAINTS,
    HELD_OUT_CONSTRAINTS,
    TRAINING_CONSTRAINTS,
    documented,
)
from extranets.held_out import ENOUGH_ROWS, Sample
from extranets.model_file import require, storable
from extranets.model_file.typed import check_types, fits
from extranets.predictor import Evidence, Predictor, Units
from extranets.predictor.distributions import DISTRIBUTIONS, LEARNERS
from extranets.predictor.intervals import Calibrated, Total
from extranets.predictor.noise import ConstantNoise, NetworkNoise
from extranets.predictor.noise.likelier import learn_noise, name_of
from extranets.predictor.noise.networks import FEWEST_ROWS
from extranets.predictor.part import Interval, Noise, Source
from extranets.predictor.sources import FoldNetworks, Stack
from extranets.stacking import Effort, grow
from extranets.uncertainty.components import HeldOut

OFFERED: tuple[type[Interval], ...] = (Calibrated, Total)
# What `settings_` tells, about every model in it, and about those that are networks.
CHOSEN: dict[str, Any] = {"n_folds": int, "models": list[dict[str, Any]], "noise_model": str, "distribution": str}
SINCE: dict[str, Any] = {"target_transform": str}  # what files of early versions do not tell
OF_MODELS: dict[str, Any] = {"hidden_layer_sizes": tuple[int, ...], "weight": float, "r2": float}
OF_NETWORKS: dict[str, Any] = {
    "numeric_encoding": str | None,
    "n_bins": int | None,
    "alpha": float,
    "learning_rate_init": float,
    "batch_size": int,
    "max_iter": int,
    "scaled_columns": bool,
}


@storable("StackedNetsRegressor")
@documented
@dataclass(eq=False, repr=False)
class StackedNetsRegressor(NetsRegressor):
    """Thinned ReLU networks of several kinds, weighted by their errors on rows that they left out.

    The rows are parted into folds. Ridge regressions and several kinds of networks, from small, short and strongly decayed ones
    to wide ones that are trained for long, are trained once for every fold, without it. The quick ones are first; the others get
    the columns scaled by how much they mattered to these. Their weights, not negative and with
    sum one, are those with the smallest squared error on the rows that were left out; kinds that would take long are tried on
    some of the folds first. All networks of the kinds that got a weight predict together, and the errors on rows that were
    left out give the noise and the intervals, so that no network is trained for that alone.

    For noisy tables, where one large network overfits, and for clean ones, which deserve long training. Of more than 20,000
    rows, the kinds are chosen on 10,000. :func:`extranets.tune` tries more where there is time. :class:`ExtraNetsRegressor` is the
    method of the paper.

    With ``fit(..., time=...)``, kinds, weights and errors come from networks that saw nothing but earlier rows. As these do not
    know the latest rows, which say most about the next ones, others predict: networks of the same kinds on folds at random, as
    without ``time``. A fit takes up to twice as long.

    Parameters
    ----------
    effort : {"low", "medium", "high"}, default="medium"
        ``"low"``: ridge regressions and small networks only. ``"medium"``: larger ones are tried where smaller ones fall short by
        one percent of the squared error or more. ``"high"``: they are tried sooner.
    n_folds : int or "auto", default="auto"
        ``"auto"``: 10 up to 2,000 rows, then fewer, down to 5.
    members_per_fold : int, default=1
        Networks of each kind for each fold.
    keep_prob : float in (0, 1], default=0.9
        Probability that a hidden unit is kept by a network's mask.
    noise_model : {"auto", "constant", "networks"}, default="auto"
        ``"constant"``: the noise is the same everywhere. ``"networks"``: it depends on x; small networks are fitted to the
        logarithms of squared errors on held-out rows, at least 100 of them. ``"auto"``: networks where that is possible and
        they are likelier on errors that they have not seen.
    interval : {"calibrated", "total"}, default="calibrated"
        Predictive variance: ``"total"`` is spread + noise; ``"calibrated"`` is a * spread + b * noise, with a and b fitted to
        held-out errors, so that the width adapts to x.
    {chosen_distribution}
    {distance}
    device : {"cpu", "cuda"}, default="cpu"
        Where networks are trained and predict. ``"cuda"`` needs an NVIDIA GPU and CuPy (``pip install cupy-cuda12x``).
    {chosen_target}
    {common}

    Attributes
    ----------
    settings_ : dict
        ``n_folds``, ``noise_model``, ``distribution``, ``target_transform`` (of every output, with commas between them), and ``models``: a list of what was trained, with the settings, the
        ``weight`` in the stack (0 for what was tried and is not in it), and ``r2``, the share of the variance explained on
        rows that were left out.
    held_out_scores_ : dict
        What to expect on new rows: ``rmse``, and ``interval_score`` and ``coverage`` of 90 % intervals, from errors on
        held-out rows. The weights and the interval's factors come from the same rows, so of few rows they say little.
    noise_variance_ : float or array of shape (n_outputs,)
        Residual variance in squared units of the target; None where it depends on x.
    degrees_of_freedom_ : float or array of shape (n_outputs,), or None
        Of Student's t as predictive distribution; None where it has another shape.
    calibration_ : array of shape (2,) or (2, n_outputs)
        Factors a and b of ``interval="calibrated"``.
    {fit_info}

    Examples
    --------
    >>> from extranets import StackedNetsRegressor
    >>> from extranets.data import nonlinear_process
    >>> X_train, y_train, X_test, y_test = nonlinear_process(600, random_state=0).split(500)
    >>> model = StackedNetsRegressor(random_state=0).fit(X_train, y_train)
    >>> lower, upper = model.predict_interval(X_test, coverage=0.9).T
    >>> bool(((lower <= y_test) & (y_test <= upper)).mean() > 0.8)
    True
    """

    _: KW_ONLY
    effort: Effort = "medium"
    n_folds: int | Literal["auto"] = "auto"
    members_per_fold: int = 1
    keep_prob: float = 0.9
    noise_model: Literal["auto", "constant", "networks"] = "auto"
    interval: Literal["calibrated", "total"] = "calibrated"
    distribution: str = "auto"
    distance_factor: float = 1.0
    bounds: tuple[float | None, float | None] | Literal["auto"] | None = "auto"
    target_transform: Literal["auto", "log", "sqrt"] | float | None = "auto"
    device: engine.Device = "cpu"

    intervals: ClassVar[tuple[type[Interval], ...]] = OFFERED
    changeable: ClassVar[tuple[str, ...]] = ("interval", "distribution")
    leaves_rows_out: ClassVar[bool] = True
    fits_blocks: ClassVar[bool] = True
    expects: ClassVar[bool] = True
    source_kind: ClassVar[type[Source]] = Stack
    noise_kinds: ClassVar[tuple[type[Noise], ...]] = (ConstantNoise, NetworkNoise)
    extra_types: ClassVar[dict[str, Any]] = {"settings_": dict[str, Any]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: COMMON_CONSTRAINTS[name]
            for name in ("bounds", "target_transform", "n_jobs", "random_state", "verbose")
        },
        "effort": [StrOptions({"low", "medium", "high"})],
        "n_folds": [StrOptions({"auto"}), *HELD_OUT_CONSTRAINTS["n_folds"]],
        "members_per_fold": [Range(Integral, 1, 1000, closed="both")],
        "keep_prob": [Range(Real, 0, 1, closed="right")],
        "noise_model": [StrOptions({"auto", "constant", "networks"})],
        "interval": [StrOptions({kind.name for kind in OFFERED})],
        "distribution": [StrOptions(set(LEARNERS))],
        "device": TRAINING_CONSTRAINTS["device"],
        **DISTANCE_CONSTRAINTS,
    }

    settings_: dict[str, Any] = field(init=False)

    def _fit(self, sample: Sample, units: Units) -> Fit:
        seed = draw_seed(self.random_state)
        noise_model = self._possible_noise_model(len(sample.y))
        warn_of_copies(sample)
        found = grow(
            sample,
            n_folds=None if isinstance(self.n_folds, str) else self.n_folds,
            members_per_fold=self.members_per_fold,
            keep_prob=self.keep_prob,
            effort=self.effort,
            seed=seed,
            machine=self._machine(),
            watch=self._watch,
        )
        source = Stack([part.networks for part in found.parts], found.weights)
        step = -(-len(found.rows) // ENOUGH_ROWS)
        rows = found.rows[::step]  # of many, some from every fold
        noise, held = self._noise_from(found.held.every(step), sample.X[rows], source, noise_model, seed)
        evidence = Evidence(held, source.n_members)
        learn_shape = LEARNERS[self.distribution]
        with self._watch("Fitting intervals", minor=True):
            model = Predictor.from_rows(units, source, noise, evidence, OFFERED, self.interval, learn_shape)
            model = model.expecting(evidence, sample.y[rows]).widening(sample.X, self.distance_factor, self._machine())
        chosen = {"noise_model": name_of(noise), "distribution": model.distribution.name}
        chosen["target_transform"] = "none" if units.link.powers is None else units.link.powers.names()
        return Fit(model, {"settings_": {"n_folds": found.n_folds, "models": found.tried, **chosen}})

    def _possible_noise_model(self, n_rows: int) -> str:
        """What is asked for, as far as the rows allow it."""
        if self.noise_model == "networks" and n_rows < FEWEST_ROWS:
            raise ValueError(
                f"noise_model='networks' needs at least {FEWEST_ROWS} rows, got {n_rows}; use 'auto' or 'constant'."
            )
        return self.noise_model if n_rows >= FEWEST_ROWS else "constant"

    def _noise_from(
        self, held: HeldOut, X: Float32, source: Source, noise_model: str, seed: int
    ) -> tuple[Noise, HeldOut]:
        """The noise, and held-out errors with what it gives their rows. Shape: X ``(n, k)``, the rows of ``held``."""
        with self._watch("Fitting the noise", minor=True):
            return learn_noise(noise_model, held, X, source.n_members, seed, self._machine())

    def _machine(self) -> Machine:
        return {"device": self.device, "n_threads": thread_count(self.n_jobs)}

    def check_extras(self, model: Predictor, extras: dict[str, Any], n_rows: int) -> None:
        source, chosen = model.source, extras["settings_"]
        of_folds = isinstance(source, Stack) and all(type(each) is FoldNetworks for each in source.sources)
        require(of_folds, "the networks are not those of folds")
        check_types(chosen, CHOSEN | SINCE, optional=SINCE)
        require(chosen["distribution"] in DISTRIBUTIONS, "there is no such distribution")
        require(1 <= chosen["n_folds"] <= n_rows, "so many folds cannot be")
        for each in chosen["models"]:
            check_types(each, OF_MODELS | OF_NETWORKS, optional=OF_NETWORKS)
            require(-np.inf < each["r2"] <= 1, "a model's r2 cannot be")
            numbers = [value for name, value in each.items() if name != "r2" and fits(value, float)]
            require(all(0 <= value < np.inf for value in numbers), "a model's settings are negative or not finite")
        require(abs(sum(each["weight"] for each in chosen["models"]) - 1) < 1e-6, "the models' weights do not make one")
