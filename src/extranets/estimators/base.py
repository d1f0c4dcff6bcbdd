"""What all estimators of this package share: the frame of `fit`, and the questions that a fitted model answers."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from extranets import model_file
from extranets._arrays import Array, Float32
from extranets._progress import progress_line, thread_count
from extranets._random import draw_seed
from extranets._sklearn import BaseEstimator, RegressorMixin, check_constraints, satisfies_constraints
from extranets.blocks import is_lazy
from extranets.engine import Machine, keeping
from extranets.estimators import storing
from extranets.estimators.by_blocks import fit_by_blocks
from extranets.estimators.fitted import Fit, fit_info
from extranets.estimators.linking import link_for
from extranets.estimators.mean_and_std import MeanAndStd
from extranets.estimators.settings import hidden_units
from extranets.estimators.validation import check_levels, check_table, check_training_table
from extranets.held_out import Sample
from extranets.parting import Parting
from extranets.predictor import Choice, Predictor, Scaling, Units
from extranets.predictor.distributions import LEARNERS, Normal
from extranets.predictor.draws import Draws, covariance
from extranets.predictor.export import export
from extranets.predictor.frames import interval_frame
from extranets.predictor.intervals import Calibrated, Total
from extranets.predictor.limits import Limits, ends_of
from extranets.predictor.novelty import Novelty
from extranets.predictor.part import Distribution, Interval, Noise, Source
from extranets.predictor.powers import Powers
from extranets.predictor.predictive import Predictive
from extranets.predictor.seen import SeenRows
from extranets.predictor.strata import Beside, Strata
from extranets.predictor.units import fingerprint
from extranets.stacking import likely_powers
from extranets.uncertainty.components import Components

if TYPE_CHECKING:
    from scipy.stats._distn_infrastructure import rv_continuous_frozen
    from typing_extensions import Self  # typing has it from Python 3.11 on


@dataclass(eq=False, repr=False)
class NetsRegressor(RegressorMixin, BaseEstimator, ABC):
    """Parameters, the choice of steps (`_fit`), and ``model_``, which answers all questions.

    A dataclass: its fields are the parameters, and the generated constructor stores its arguments and does nothing else, which
    is scikit-learn's rule. Parameters that are positional are declared in each estimator, for they stand in the order of their
    declaration.
    """

    _: KW_ONLY
    n_jobs: int | None = None
    bounds: tuple[float | None, float | None] | Literal["auto"] | None = None
    target_transform: Literal["auto", "log", "sqrt"] | float | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    intervals: ClassVar[tuple[type[Interval], ...]] = (Total,)  # that the estimator offers
    changeable: ClassVar[tuple[str, ...]] = ()  # parameters that may change after fit: some of those of `Choice`
    expects: ClassVar[bool] = (
        False  # whether to keep scores, estimated on held-out rows, that predict those on new rows
    )
    keeps_networks: ClassVar[bool] = True  # whether `engine.train` trains them, which can keep them in a folder
    fits_blocks: ClassVar[bool] = False  # whether tables may be larger than memory
    leaves_rows_out: ClassVar[bool] = False  # whether `Sample.parting` has a say in a fit
    source_kind: ClassVar[type[Source]]  # what predicts
    noise_kinds: ClassVar[tuple[type[Noise], ...]]  # kinds of noise that a fit can learn
    extra_types: ClassVar[dict[str, Any]] = {}  # what fit sets besides the model, by attribute
    _set_by_others: ClassVar[tuple[str, ...]] = ()  # attributes about the last fit that something else sets
    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    model_: Predictor = field(init=False)
    fit_info_: dict[str, Any] = field(init=False)

    # -- fit -----------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        time: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        max_memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train the networks and estimate the noise.

        Intervals are learned from errors on rows that networks left out. Rows are left out at random, which is right where new
        rows are like the others. Where rows belong together, or are in time order, say so: then whole groups are left out, or
        networks are judged by later rows than those that they saw, and intervals become as wide as such errors ask for.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows in the loss and in all averages; rows of weight zero are left out.
        groups : array of shape (n_samples,), optional
            Anything that names the group of each row, such as a person or a place, where new rows will be of other groups. Only
            for estimators that leave rows out.
        time : array of shape (n_samples,), optional
            Numbers or dates. The rows are parted into blocks in their order; networks that are judged by a block saw nothing
            but earlier ones, and the earliest block is never left out. Only for estimators that leave rows out.
        checkpoint : path of a folder, optional
            Networks are kept there as they are trained. The same fit, after a crash or a stop, takes them from there and goes on, with
            the same result to the last bit. Needs an integer ``random_state``. The folder may be deleted after the fit.
        max_memory : int or str, optional
            The most memory that the process takes, such as ``"2GB"``. The table, which may be a ``numpy.memmap``, is then read block
            by block; arrays and data frames of Dask always are. docs/scale.md says how such a fit differs from the usual one.
        scratch : path of a folder, optional
            Where a fit with ``max_memory`` keeps the rows meanwhile. The system's folder for temporary files if not given.

        Returns
        -------
        self

        Notes
        -----
        Within ``joblib.parallel_config(backend="dask")``, or ``"ray"`` or ``"loky"``, the workers of that backend train the networks.
        docs/scale.md says how.
        """
        if max_memory is not None or is_lazy(X):
            beside = {"sample_weight": sample_weight, "groups": groups, "time": time, "checkpoint": checkpoint}
            return fit_by_blocks(self, X, y, max_memory, scratch, beside)
        begin = monotonic()
        self.check_parameters()
        self._check_checkpoint(checkpoint)
        for name in self._set_by_others:
            self.__dict__.pop(name, None)
        if not self._grows():
            self._forget()  # a fit that fails leaves no fitted estimator
        X, y, weight, used = check_training_table(self, X, y, sample_weight, reset=not self.__sklearn_is_fitted__())
        parting = self._parting(groups, time, used)
        columns = y.reshape(len(y), -1)
        x = Scaling.of(X, weight, "X", getattr(self, "feature_names_in_", None))
        inputs = x.apply(X)
        with keeping(checkpoint):
            link = link_for(
                self.bounds, self.target_transform, columns, weight,
                lambda limits: self._chosen_powers(inputs, columns, weight, parting, limits),
            )  # fmt: skip
        units = Units(x, Scaling.of(link.latent(columns), weight, "y"), y.ndim == 1, link)
        data = fingerprint(X, columns, weight, *([] if parting is None else [parting.number]))
        sample = Sample(inputs, units.standardised(columns), weight, data, used, parting)
        with keeping(checkpoint):
            found = self._fit(sample, units)
        model = replace(found.model, seen=SeenRows.of(X, columns), novelty=Novelty.learn(sample.X))
        # Nothing failed: only now is the estimator fitted.
        self.set_fitted(replace(found, model=model), fit_info(X.shape, begin))
        return self

    def _check_checkpoint(self, checkpoint: str | os.PathLike[str] | None) -> None:
        if checkpoint is None:
            return
        if not self.keeps_networks:
            raise ValueError(
                f"{type(self).__name__} trains a single network, of which no part could be kept; leave checkpoint out."
            )
        if not isinstance(self.random_state, Integral):
            raise ValueError(
                f"checkpoint needs an integer random_state, by which a later fit trains the same networks; got {self.random_state!r}."
            )

    def _chosen_powers(
        self, X: Float32, y: Array, weight: Array, parting: Parting | None, limits: Limits | None
    ) -> Powers | None:
        """What ``target_transform="auto"`` becomes. A warm start goes on with what the last fit chose."""
        if self._grows():
            return self.model_.units.link.powers
        return likely_powers(X, y, weight, parting, limits, self._machine(), self._watch)

    def _parting(self, groups: Any, time: Any, used: npt.NDArray[np.bool_]) -> Parting | None:
        """Which of the rows that are used are left out together. Shape: used ``(n_samples,)``."""
        found = Parting.of(groups, time, len(used))
        if found is not None and not self.leaves_rows_out:
            raise ValueError(
                f"{found.kind} says which rows are left out together, but {type(self).__name__} leaves none out; use "
                "StackedNetsRegressor or ExtraNetsRegressor."
            )
        return None if found is None else found.part(used).check()

    @abstractmethod
    def _fit(self, sample: Sample, units: Units) -> Fit:
        """The steps from a standardised sample to a model. Assigns nothing itself."""

    def check_parameters(self) -> None:
        """Refuse parameters that no fit could use, by a ``ValueError`` that names them."""
        self.check_values()
        self._check_combinations()

    def check_values(self) -> None:
        """Refuse parameters that are wrong by themselves."""
        check_constraints(self)
        if self.bounds is not None and not isinstance(self.bounds, str):
            ends_of(self.bounds)
        sizes = self.get_params(deep=False).get("hidden_layer_sizes", "auto")
        if not isinstance(sizes, str):  # "auto"
            hidden_units(sizes)

    def _check_combinations(self) -> None:
        """Refuse parameters that do not go together."""
        return

    def _grows(self) -> bool:
        """Whether a fit adds to the last one."""
        return False

    def set_fitted(self, found: Fit, info: dict[str, Any]) -> None:
        """Make it fitted."""
        self.__dict__.update(found.extras, model_=found.model, fit_info_=info)

    def _forget(self) -> None:
        for name in ("model_", "fit_info_", *self.extra_types):
            self.__dict__.pop(name, None)

    def _machine(self) -> Machine:
        """What does the work."""
        return {"device": "cpu", "n_threads": thread_count(self.n_jobs)}

    def _watch(
        self, title: str, ahead: float | None = None, minor: bool = False
    ) -> AbstractContextManager[Callable[[float], object] | None]:
        """Shows the progress of what the title names, while a block runs; see `ProgressLine`."""
        return progress_line(title, self.verbose, ahead, minor)

    # -- what was learned ----------------------------------------------------------------------------------------------

    @property
    def target_is_vector_(self) -> bool:
        """Whether the target was one-dimensional."""
        return self.model_.units.y_is_vector

    @property
    def noise_variance_(self) -> float | Array | None:
        model = self._readable()
        if model.noise.differs or model.units.link.powers is not None:
            return None
        return self._by_output(model.noise.factor * model.units.y.scale**2)

    @property
    def calibration_(self) -> Array | None:
        if Calibrated not in self.intervals:
            raise AttributeError(f"{type(self).__name__} calibrates nothing")
        found = self.model_.intervals.get(Calibrated.name)
        if not isinstance(found, Calibrated):
            return None
        return found.factors[:, 0] if self.target_is_vector_ else found.factors

    @property
    def distribution_(self) -> Distribution:
        """Shape of the predictive distribution in use."""
        return self._readable().distribution

    @property
    def degrees_of_freedom_(self) -> float | Array | None:
        dof = self._readable().distribution.dof
        return None if dof is None else self._by_output(dof)

    @property
    def held_out_scores_(self) -> dict[str, Any] | None:
        if not self.expects:
            raise AttributeError(f"{type(self).__name__} keeps no scores of held-out rows")
        expected, unit = self.model_.expected, self.model_.units.y.scale
        if expected is None:
            return None
        in_units = {name: values * unit for name, values in expected.items()}
        in_units["coverage"] = np.where(unit > 0, expected["coverage"], 1.0)  # what is constant is always right
        return {name: self._by_output(values) for name, values in in_units.items()}

    def _by_output(self, values: Array) -> float | Array:
        """One number where the target was a vector. Shape: ``(n_outputs,)``."""
        return float(values[0]) if self.target_is_vector_ else values

    @property
    def needs_beside_(self) -> tuple[str, ...]:
        """What intervals need of new rows besides their features: some of "groups" and "weights"."""
        return self._readable().strata.asks_for

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    # -- predictions ---------------------------------------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Point predictions: the mean of the predictive distribution.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the predictive standard deviation, sqrt(epistemic + aleatoric variance).

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        std : array of the same shape, only with ``return_std=True``

        Notes
        -----
        Pipelines pass ``return_std`` on; scikit-learn's TransformedTargetRegressor cannot take the pair. docs/scikit_learn.md
        shows how to get intervals through both, and through ``cross_val_predict``.
        """
        if not return_std:
            return self._chosen().mean(self._rows(X), self._machine())
        parts = self.predict_components(X)
        return MeanAndStd((parts.mean, parts.std))

    def predict_members(self, X: Any) -> Array:
        """Predictions of the single networks, shape (n_members, n_samples[, n_outputs])."""
        return self._chosen().members(self._rows(X), self._machine())

    def predict_components(self, X: Any) -> Components:
        """Predictive mean, and epistemic and aleatoric variance as the chosen ``interval`` builds them.

        Returns
        -------
        Components
            Named tuple ``(mean, epistemic, aleatoric)`` with properties ``total`` and ``std``; every array has shape
            (n_samples,) or (n_samples, n_outputs). Variances are in squared units of the target.
        """
        return self._chosen().components(self._rows(X), self._machine())

    def predict_var(self, X: Any) -> Array:
        """Total predictive variance, shape (n_samples,) or (n_samples, n_outputs)."""
        return self.predict_components(X).total

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] = 0.9,
        *,
        as_frame: bool = False,
        groups: Any = None,
        weights: Any = None,
        novelty: bool = False,
    ) -> Any:
        """Central prediction intervals: quantiles of :meth:`predict_dist`, conformal after :meth:`conformalize`, or those that
        :meth:`update` left.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
        coverage : float or list of float, default=0.9
            Probability, strictly between 0 and 1, that an interval is meant to hold the target.
        as_frame : bool, default=False
            Return a data frame (polars for polars input, else pandas, with the index of ``X``) with columns
            ``prediction, lower_90, upper_90, ...``; with several outputs, ``prediction_0, lower_90_0, ...``.
        groups, weights : arrays of shape (n_samples,), optional
            Of these rows, if :meth:`conformalize` was called with groups or weights.
        novelty : bool, default=False
            Add a column ``novelty`` to the data frame: see :meth:`predict_novelty`.

        Returns
        -------
        array of shape (n_samples, 2), lower bounds first
            A list of levels appends an axis: (n_samples, 2, n_levels). Several outputs stand before the bounds:
            (n_samples, n_outputs, 2[, n_levels]).
        """
        levels, single = check_levels("coverage", coverage)
        if novelty and not as_frame:
            raise ValueError("novelty=True adds a column to a data frame; give as_frame=True, or call predict_novelty.")
        table = self._rows(X)
        beside = Beside.of(groups, weights, table.shape[0])
        parts, bounds = self._chosen().bounds(table, levels, self._machine(), beside)
        if as_frame:
            further = {"novelty": self.predict_novelty(X)} if novelty else {}
            return interval_frame(X, parts.mean, bounds, levels, further)
        return bounds[..., 0] if single else bounds

    def predict_quantiles(
        self, X: Any, alpha: float | Sequence[float] = (0.05, 0.5, 0.95), *, groups: Any = None, weights: Any = None
    ) -> Array:
        """Quantiles of the predictive distribution, shape (n_samples[, n_outputs], n_levels); no last axis for a scalar.

        Central intervals end at them, also after :meth:`conformalize`. ``groups`` and ``weights`` are those of
        :meth:`predict_interval`.
        """
        levels, single = check_levels("alpha", alpha)
        table = self._rows(X)
        beside = Beside.of(groups, weights, table.shape[0])
        values = self._chosen().quantiles(table, levels, self._machine(), beside)
        return values[..., 0] if single else values

    def predict_dist(self, X: Any, *, groups: Any = None, weights: Any = None) -> rv_continuous_frozen:
        """The predictive distribution, as a frozen distribution of scipy: ``scipy.stats.norm``, ``t`` where
        ``degrees_of_freedom_`` are known, or one of its own kind for the shape of held-out errors.

        It has pdf, cdf, ppf, mean, var, interval, rvs. After :meth:`conformalize` it is the distribution that the conformal
        bounds belong to. ``groups`` and ``weights`` are those of :meth:`predict_interval`.
        """
        table = self._rows(X)
        return self._chosen().frozen(table, self._machine(), Beside.of(groups, weights, table.shape[0]))

    def predictive(self, X: Any) -> Predictive:
        """The predictive distributions that the fit learned, with their scores: ``crps(y)``, ``log_likelihood(y)``, and more."""
        return self._chosen().predictive(self._rows(X), self._machine())

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
        *,
        functions: Draws | None = None,
        groups: Any = None,
        weights: Any = None,
    ) -> Array:
        """Draws of the targets of all rows together, shape (n_samples_X[, n_outputs], n_samples).

        Each draw is one function of x, plus noise that is independent from row to row. So sums, differences and maxima over rows have
        the right distribution, as far as networks know what they do not know: the error of the mean is shared by rows that are
        alike. The draws of a single row have the distribution of :meth:`predict_dist`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples_X, n_features)
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
        functions : optional
            From :meth:`draw_functions`, where rows come in several tables; then the other two arguments are not used.
        groups, weights : arrays of shape (n_samples_X,), optional
            As in :meth:`predict_interval`.

        Examples
        --------
        What is the mean of the next 300 targets? Independent draws would give too small an uncertainty.

        >>> from extranets import StackedNetsRegressor
        >>> from extranets.data import linear_process
        >>> X, y, X_new, _ = linear_process(400, random_state=0).split(100)
        >>> model = StackedNetsRegressor(effort="low", random_state=0).fit(X, y)
        >>> means = model.sample_y(X_new, 2000, random_state=0).mean(axis=0)
        >>> bool(means.var() > 1.5 * model.predict_var(X_new).sum() / 300**2)
        True
        """
        X = self._rows(X)
        if functions is None:
            functions = self.draw_functions(n_samples, random_state)
        return functions(X, Beside.of(groups, weights, X.shape[0]))

    def draw_functions(self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None) -> Draws:
        """The functions of :meth:`sample_y`, to be used with several tables: their rows are rows of the same functions.

        Examples
        --------
        >>> from extranets import StackedNetsRegressor
        >>> from extranets.data import linear_process
        >>> X, y, X_new, _ = linear_process(200, random_state=0).split(100)
        >>> model = StackedNetsRegressor(effort="low", random_state=0).fit(X, y)
        >>> functions = model.draw_functions(5, random_state=0)
        >>> parts = [model.sample_y(rows, functions=functions) for rows in (X_new[:40], X_new[40:])]
        >>> bool(np.allclose(np.concatenate(parts), model.sample_y(X_new, 5, random_state=0)))
        True
        """
        if not isinstance(n_samples, int | np.integer) or isinstance(n_samples, bool) or n_samples < 1:
            raise ValueError(f"n_samples must be a whole number of at least 1; got {n_samples!r}.")
        return Draws(self._chosen(), self._machine(), int(n_samples), draw_seed(random_state))

    def predict_covariance(self, X: Any) -> Array:
        """Covariance of the targets of every two rows, shape (n_samples, n_samples[, n_outputs]); that of an output with itself.

        Between two rows it is epistemic: the correlation of the networks' deviations from their mean times both epistemic standard
        deviations. The diagonal is :meth:`predict_var`, noise included; both are those of the fit, also after :meth:`conformalize`.
        Memory grows with the square of the rows.

        Examples
        --------
        The variance of a sum of targets is the sum of all covariances.

        >>> from extranets import StackedNetsRegressor
        >>> from extranets.data import linear_process
        >>> X, y, X_new, _ = linear_process(200, random_state=0).split(100)
        >>> model = StackedNetsRegressor(effort="low", random_state=0).fit(X, y)
        >>> covariance = model.predict_covariance(X_new)
        >>> bool(np.allclose(np.diag(covariance), model.predict_var(X_new))), bool(covariance.sum() > np.trace(covariance))
        (True, True)
        """
        return covariance(self._chosen(), self._rows(X), self._machine())

    def predict_novelty(self, X: Any) -> Array:
        """How far rows are from the training rows: the share of these that are less far from the others.

        Of rows that are drawn as the training rows were, about one in twenty has a score above 0.95. Rows that lie outside of what
        the training rows cover (:meth:`predict_outside`) have a score of 1. Predictions of such rows give a
        :class:`NoveltyWarning`; ``warnings.simplefilter("ignore", extranets.NoveltyWarning)`` silences it.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            Numbers from 0 to 1.

        Notes
        -----
        Distances are those to the nearest of up to 500 training rows that the model keeps, in standard deviations of the
        columns. ONNX graphs do not hold them.

        Examples
        --------
        >>> import warnings
        >>> from extranets import ExtraNetsRegressor, NoveltyWarning
        >>> from extranets.data import linear_process
        >>> X, y, X_new, _ = linear_process(1300, random_state=0).split(300)
        >>> model = ExtraNetsRegressor(n_estimators=5, max_iter=20, random_state=0).fit(X, y)
        >>> bool(abs((model.predict_novelty(X_new) > 0.9).mean() - 0.1) < 0.05)
        True
        >>> model.predict_novelty(X_new[:1] + 50).tolist()
        [1.0]
        """
        return self._chosen().novelty_of(check_table(self, X))

    def predict_outside(self, X: Any) -> npt.NDArray[np.bool_]:
        """Which values lie outside of what the training rows cover of their column.

        A column is covered from its smallest value to its largest, and a margin beyond each: three times as far as the outer twentieth
        of the training rows lies beyond the rest, on average. A value between two others is outside if both are farther away than
        the larger margin. Columns of few values have no margins.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of bool of shape (n_samples, n_features)
        """
        return self._chosen().outside(check_table(self, X))

    def compare_with(self, X: Any) -> Self:
        """Let :meth:`predict_novelty` and :meth:`predict_outside` compare with these rows instead of those of the fit.

        For training rows that were not encoded as new ones are, such as by target statistics that leave the row itself out.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            At least two rows.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.model_ = self.model_.comparing(check_table(self, X))
        return self

    @property
    def knows_novelty(self) -> bool:
        """Whether the model keeps what training rows cover: those of early versions do not."""
        return self.model_.novelty is not None

    def _rows(self, X: Any) -> Any:
        """Checked rows, which are to be predicted, with a warning if some are unlike those of training."""
        X = check_table(self, X)
        fitted = self.__dict__  # quicker than attributes that may not be there
        if "model_" in fitted:
            self.model_.tell_of_novel(X, fitted.get("feature_names_in_"))
        return X

    def _chosen(self) -> Predictor:
        """The model as the parameters that may change after fit ask for it now."""
        check_is_fitted(self)
        if not satisfies_constraints(self, self.changeable):
            check_constraints(self, self.changeable)  # which says what is wrong
        return self.model_.choosing(Choice(**{name: getattr(self, name) for name in self.changeable}))

    def _readable(self) -> Predictor:
        """The same for attributes: while a parameter has a value that cannot be, there is no such attribute."""
        try:
            return self._chosen()
        except ValueError as error:
            raise AttributeError(str(error)) from error

    # -- rows that were held out ---------------------------------------------------------------------------------------

    def estimate_noise(self, X: Any, y: Any) -> Self:
        """Set the residual variance (and the calibration) from rows that the networks never saw: the paper's construction.

        Do not pass rows on which intervals will be judged. What :meth:`conformalize` learned is forgotten.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self
        """
        X, y = self._check_held_out(X, y)
        model = self._chosen()
        model = replace(model, units=model.units.allowing(y))
        sample = Sample(model.units.x.apply(X), model.units.standardised(y), np.ones(len(y)))
        learn_shape = LEARNERS[getattr(self, "distribution", Normal.name)]
        found = model.recalibrated(sample, self._machine(), self.intervals, learn_shape, expects=self.expects)
        self.model_ = replace(found, interval=self.model_.interval)
        return self

    def conformalize(
        self,
        X: Any,
        y: Any,
        *,
        tails: Literal["separate", "joint"] = "separate",
        groups: Any = None,
        weights: Any = None,
    ) -> Self:
        """Make intervals cover by construction, from rows that were not used to fit (split conformal prediction).

        ``predict_interval`` then ends at the mean plus multiples of the predicted standard deviation, which are exact quantiles of
        the held-out rows' errors in such units. If they and the new rows are exchangeable, the coverage
        is at least the one asked for, on average, whatever the distribution; and the width still adapts to x.
        ``predict_quantiles``, ``predict_dist`` and ``sample_y`` follow; means and variances stay as they are. A new ``fit`` forgets it.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            At least (1 + coverage) / (1 - coverage) rows for separate tails, 19 for 0.9 and 199 for 0.99; half as many for joint
            ones. So many in every group. Rows of the fit are recognised and refused.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        tails : {"separate", "joint"}, default="separate"
            Separate: new rows are below the lower bound with a probability of at most (1 - coverage) / 2, and above the upper
            bound likewise. Joint: both bounds are equally far from the mean, and only their sum is promised.
        groups : array of shape (n_samples,), optional
            Anything that names the group of each row. The promise then holds within every group: its bounds come from its own rows
            alone. Predictions need the groups of their rows. In a group that had no rows, intervals are infinite.
        weights : array of shape (n_samples,), optional
            For new rows that are drawn from other places: how much more often they come from there than these rows do, up to a
            factor. Predictions need the weights of their rows. A classifier that tells new rows from these gives such weights, its
            odds. If weights are right, and y given x is as before, the promise holds on average over new rows.

        Returns
        -------
        self

        Notes
        -----
        With n rows and continuous targets, a new row is above the upper bound with a probability of (1 - coverage) / 2, or less by
        1 / (n + 1) at most; so it is below the lower bound. ``predict_dist`` has the level at each bound that the bound attains, a
        multiple of 1 / (n + 1). Between the held-out rows' errors it is linear, and beyond the outermost ones it goes on as before
        ``conformalize``, where intervals and quantiles are infinite. With weights, its levels at bounds are right up to the share of one row.
        Its density is rough; use it for probabilities and quantiles.

        Examples
        --------
        >>> from extranets import ExtraNetsRegressor
        >>> from extranets.data import linear_process
        >>> X_train, y_train, X_rest, y_rest = linear_process(600, random_state=0).split(300)
        >>> model = ExtraNetsRegressor(n_estimators=5, max_iter=40, random_state=0).fit(X_train, y_train)
        >>> model.conformalize(X_rest[:200], y_rest[:200]).predict_interval(X_rest[200:], coverage=0.9).shape
        (100, 2)
        """
        X, y = self._check_held_out(X, y)
        if self.model_.seen is not None:
            self.model_.seen.refuse(X, y)
        strata = Strata.of(tails, groups, weights, len(y))
        found = self._chosen().conformal_of(X, y, strata, self._machine())
        self.model_ = replace(self.model_, adaptive=None, conformal=found)
        return self

    def conformalize_training_rows(
        self, *, tails: Literal["separate", "joint"] = "separate", groups: Any = None, weights: Any = None
    ) -> Self:
        """For ``interval="cv+"`` and ``"jackknife+"``: compare new rows with those of the fit by tail, by group, or with weights.

        These intervals need no rows that are set aside. Right after a fit both tails are ``"joint"``, and there are no groups and no
        weights. What :meth:`conformalize` and :meth:`update` learned is forgotten.

        Parameters
        ----------
        tails, groups, weights
            As for :meth:`conformalize`, of the rows of the fit, in their order.

        Returns
        -------
        self

        Notes
        -----
        With exchangeable rows and alpha = 1 - coverage: new rows are covered with a probability of at least 1 - 2 alpha - sqrt(2 / n)
        by CV+ (Barber et al. 2021), and of about 1 - 2 alpha by the jackknife+-after-bootstrap (Kim et al. 2020); of near 1 - alpha,
        where networks hardly change with a few rows. With separate tails, each is missed with a probability of at most alpha, and the
        same square root, and of near alpha / 2. Within groups all this holds with the number of rows of the group for n,
        where every fold holds as many of them. With weights, 1 - 2 alpha is proven for a fold for every row (Prinster et al. 2022),
        not for fewer.

        Examples
        --------
        >>> from extranets import ExtraNetsRegressor
        >>> from extranets.data import linear_process
        >>> X, y, X_new, y_new = linear_process(400, random_state=0).split(300)
        >>> model = ExtraNetsRegressor(5, max_iter=40, interval="cv+", random_state=0).fit(X, y)
        >>> model = model.conformalize_training_rows(groups=X[:, 0] > 0)
        >>> model.predict_interval(X_new, groups=X_new[:, 0] > 0).shape
        (100, 2)
        """
        model = self._chosen()
        n_rows = len(getattr(model.interval_in_use, "residuals", ())) or self.fit_info_["n_rows"]
        self.model_ = replace(model.stratified(Strata.of(tails, groups, weights, n_rows)), adaptive=None)
        return self

    def update(self, X: Any, y: Any) -> Self:
        """Let intervals follow the errors of new rows in their order: their coverage is then right in the long run.

        For data in order, such as time, that change: predict some rows, wait for their targets, update with these rows, predict the
        next, and so on. The more of the rows are outside an interval, the wider it becomes, each tail on its own; where fewer
        are outside than it promises, it becomes narrower. Nothing is trained. Means, variances, quantiles and ``predict_dist``
        stay as they are; what :meth:`conformalize` learned is forgotten, and a new ``fit`` forgets the updates.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            The rows that were predicted since the fit or the last update, one or more. Each counts once: do not give rows again,
            nor those of the fit. To catch up with many rows, give them as several blocks, the earliest first.
        y : array of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self

        Notes
        -----
        The guarantee needs no assumption about the data. Take K updates with n rows each, and the intervals that the model gave
        these rows just before. Let B be the arcsinh of the largest of their errors, and of the first bounds' distances from the
        mean, in predicted standard deviations, and s the step of an update: 0.03 n, but 2 at most (1.2 for narrow
        intervals). Then of all rows, the share below the lower bound is at most (1 - coverage) / 2 + (2 B + s) / (s K), and so is the share above
        the upper bound. This holds for coverages of 0.1, 0.2, ..., 0.9, 0.95, 0.98 and 0.99; others are between them. The shares
        are not smaller than (1 - coverage) / 2 by more than that either, unless bounds of several coverages met. It is a statement
        about the mean over all updates, not about any single row. The rule is quantile tracking (Angelopoulos, Candès and
        Tibshirani, 2023), a relative of adaptive conformal inference (Gibbs and Candès, 2021).

        Examples
        --------
        Errors that have doubled since the fit:

        >>> from extranets import ExtraNetsRegressor
        >>> from extranets.data import linear_process
        >>> X, y, X_new, y_new = linear_process(1300, random_state=0).split(300)
        >>> model = ExtraNetsRegressor(n_estimators=5, max_iter=40, random_state=0).fit(X, y)
        >>> y_new = y_new + (y_new - model.predict(X_new))
        >>> def coverage():
        ...     lower, upper = model.predict_interval(X_new[500:], coverage=0.9).T
        ...     return float(((lower <= y_new[500:]) & (y_new[500:] <= upper)).mean())
        >>> before = coverage()
        >>> for begin in range(0, 500, 50):
        ...     _ = model.update(X_new[begin : begin + 50], y_new[begin : begin + 50])
        >>> before < 0.75, coverage() > 0.85
        (True, True)
        """
        X, y = self._check_held_out(X, y, fewest=1)
        found = self._chosen().updated(X, y, self._machine())
        self.model_ = replace(self.model_, units=found.units, adaptive=found.adaptive, conformal=None)
        return self

    def _check_held_out(self, X: Any, y: Any, fewest: int = 2) -> tuple[Any, Array]:
        """Checked rows with their targets. Shape: y ``(n, n_outputs)``."""
        check_is_fitted(self)
        X, y, _, _ = check_training_table(self, X, y, None, reset=False, fewest=fewest)
        y = y.reshape(len(y), -1)
        if y.shape[1] != self.model_.n_outputs:
            raise ValueError(f"y has {y.shape[1]} outputs, but the networks were fitted to {self.model_.n_outputs}.")
        return X, y

    # -- files ---------------------------------------------------------------------------------------------------------

    def to_onnx(self, path: str | os.PathLike[str], *, coverage: float | Sequence[float] = 0.9) -> None:
        """Write mean, standard deviation and interval as one ONNX graph, for use without this package or Python.

        The graph has the input ``X``, float64 of shape (n_samples, n_features), with any number of rows, and the outputs
        ``mean``, ``sd``, ``lower`` and ``upper``, float64 of the shape of ``predict``. A list of levels makes outputs
        ``lower_80``, ``upper_80``, ``lower_95``, ... instead. They are what ``predict`` and ``predict_interval`` answer now
        (after ``conformalize`` its intervals, and with the ``n_passes`` that is set) up to rounding, about 1e-6 standard
        deviations of the target. Rows that ``predict`` refuses, such as rows with NaN, are NaN in all outputs. What tells rows unlike those of
        training (:meth:`predict_novelty`) is left out.

        Needs ``pip install ".[onnx]"`` in a checkout. The file is one of opset 18, which onnxruntime reads from version 1.14 on. Its
        metadata hold the names of the features, the levels, the estimator's class and the version of this package. CV+ and
        jackknife+ compare each row with all training rows, of which a graph holds 10,000 at most.

        Parameters
        ----------
        path : str or path
            A file that is there is replaced.
        coverage : float or list of float, default=0.9
            Probability, strictly between 0 and 1, that an interval is meant to hold the target.

        Examples
        --------
        >>> import tempfile, onnxruntime
        >>> from extranets import ExtraNetsRegressor
        >>> from extranets.data import linear_process
        >>> X_train, y_train, X_test, y_test = linear_process(400, random_state=0).split(300)
        >>> model = ExtraNetsRegressor(n_estimators=5, max_iter=40, random_state=0).fit(X_train, y_train)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.to_onnx(f"{folder}/model.onnx", coverage=0.9)
        ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
        >>> mean, sd, lower, upper = session.run(["mean", "sd", "lower", "upper"], {"X": X_test})
        >>> bool(np.allclose(mean, model.predict(X_test), rtol=1e-5, atol=1e-5))
        True
        """
        model = self._chosen()
        levels, single = check_levels("coverage", coverage)
        names = getattr(self, "feature_names_in_", None)
        about = {"estimator": type(self).__name__, "feature_names": None if names is None else list(names)}
        export(model, path, levels, single=single, about=about)

    def save(self, path: str | os.PathLike[str], *, about: dict[str, Any] | None = None) -> None:
        """Write the fitted estimator to a model file, which :func:`extranets.load` reads.

        The file holds arrays and JSON, no code. It is there as a whole or not at all. The loaded estimator predicts the same
        bits (on this machine's CPU; docs/command_line.md says what holds on another one; set ``device`` to predict on a GPU), and
        can be refitted, conformalized, cloned, warm-started and saved again.

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
        return storing.entries_of(self)

    @classmethod
    def _from_stored(cls, stored: dict[str, Any]) -> Self:
        return storing.restored(cls, stored)

    def check_extras(self, model: Predictor, extras: dict[str, Any], n_rows: int) -> None:
        """Refuse, by ``ValueError``, what does not go with the model."""
        return
