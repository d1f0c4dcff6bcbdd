"""The empirical study of Section 6 (Table 3): ten public data sets, each split many times into training and test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from extranets._arrays import Array
from extranets.data import uci
from extranets.estimators import (
    BootstrapNetsRegressor,
    DeepEnsembleRegressor,
    DeltaMethodRegressor,
    ExtraNetsRegressor,
    MCDropoutRegressor,
    MeanVarianceRegressor,
    PBPRegressor,
    VariationalRegressor,
)
from extranets.studies.runs import UnitResult
from extranets.studies.scores import network_scores, summary, training_scores, tree_scores

Noise = Literal["train", "cv"]
Record = dict[str, Any]

LARGE = ("protein", "year")  # data sets with wider networks


class PaperColumn(NamedTuple):
    """Extra-nets as the paper has them, with one hidden layer or five."""

    deep: bool
    n_members: int

    def hidden(self, dataset: str) -> tuple[int, ...]:
        if self.deep:
            return (20 if dataset in LARGE else 10,) * 5
        return (width(dataset),)


PAPER_COLUMNS = {
    "extra-nets T=5": PaperColumn(deep=False, n_members=5),
    "extra-nets T=70": PaperColumn(deep=False, n_members=70),
    "extra-nets deep T=5": PaperColumn(deep=True, n_members=5),
    "extra-nets deep T=70": PaperColumn(deep=True, n_members=70),
}

# Estimators with their default settings, given the width of the hidden layer.
NETWORK_COLUMNS: dict[str, Callable[[int], Any]] = {
    "extra-nets default": lambda width: ExtraNetsRegressor(),
    "Bootstrap": lambda width: BootstrapNetsRegressor(hidden_layer_sizes=(width,)),
    "MC dropout": lambda width: MCDropoutRegressor(hidden_layer_sizes=(width,)),
    "Deep ensemble": lambda width: DeepEnsembleRegressor(hidden_layer_sizes=(width,)),
    "Mean-variance": lambda width: MeanVarianceRegressor(hidden_layer_sizes=(width,)),
    "Delta method": lambda width: DeltaMethodRegressor(),  # ten units: it needs fewer weights than rows
    "VI": lambda width: VariationalRegressor(hidden_layer_sizes=(width,)),
    "PBP": lambda width: PBPRegressor(hidden_layer_sizes=(width,)),
}
TREES = "Extra-trees"
COLUMNS = (*PAPER_COLUMNS, *NETWORK_COLUMNS, TREES)

# The documentation says so; there is no need to repeat it for every unit.
EXPECTED_WARNINGS = "noise='train'|J'J is near singular"


def width(dataset: str) -> int:
    return 100 if dataset in LARGE else 50


class Split(NamedTuple):
    """Training and test rows, in the file's units. Shapes: ``X (n, k)``, ``y (n,)``, and the same for the test rows."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True)
class UciStudy:
    """Errors and intervals of extra-nets, and of other methods on request, on the splits of the public benchmark.

    The columns of the paper's table are extra-nets with 5 and 70 networks of one hidden layer: 50 units (100 for protein and
    year), p = 0.95, Adam with a constant rate of 0.01, batches of 32. The deep ones have five layers of 10 units (20). Inputs
    and targets are standardised. The first 5 of the 70 networks are those of T = 5, as they would be in a fit of their own.

    Further columns, all with their default settings and one hidden layer of the same width: ``"extra-nets default"`` is
    ``ExtraNetsRegressor()`` as it comes (its units follow the rows), then ``"Bootstrap"``, ``"MC dropout"``, ``"Deep ensemble"``,
    ``"Mean-variance"``, ``"Delta method"`` (10 units), ``"VI"`` and ``"PBP"``. ``"Extra-trees"`` is scikit-learn's
    ``ExtraTreesRegressor()``; its interval runs between the 5 % and 95 % quantiles of the single trees' predictions, with
    nothing added. Trees grow until their leaves are pure, so each predicts the target of a training row near x, noise and all.

    A record's measures, on the test rows and in the target's units: ``rmse``, which is all that the paper shows;
    ``coverage``, ``width`` and ``interval_score`` of 90 % intervals; ``log_likelihood`` and ``crps`` of the
    predictive distribution, which is Student's t for ``"extra-nets default"`` and Normal for the others. For trees the
    CRPS is that of the sample of their predictions, and there is no density. The paper's columns have three more:
    ``train_rmse``, the error on the training rows; ``noise_ratio``, the noise variance in the intervals over the mean squared
    training residual; and ``coverage_plain``, the coverage of 90 % intervals whose noise is that plain mean.

    Parameters
    ----------
    datasets : tuple of str, default=()
        Short names, see :data:`extranets.data.DATASETS`. Empty: all that are found, see :func:`extranets.data.available`.
        The year data set has half a million rows; by its size it should take longer than all others together.
    columns : tuple of str or "all", default: the four of ``PAPER_COLUMNS``
        Names as above.
    splits : int or None, default=None
        The number of splits of every data set, from the first. None: all, which are 20, but 5 of protein and 1 of year.
    rate : float, default=0.01
        Learning rate of the paper's columns, which the paper does not print.
    epochs : int, default=40
        Epochs of the paper's columns.
    noise : {"train", "cv"}, default="train"
        What measures the noise in the intervals of the paper's columns: training residuals, corrected for degrees of
        freedom, or out-of-fold residuals, which take two to five times as long. Training residuals are too small where
        networks overfit, as they do on the small data sets. The correction multiplies their mean square by n / (n - parameters
        of a network), at most 2, which the paper does not do. ``noise_ratio`` and ``coverage_plain`` show what it changes. With
        many more epochs take ``"cv"``. Errors are the same with both.
    seed : int, default=0
    data_dir : path-like or None, default=None
        Where the data sets are, see :func:`extranets.data.load`. It is not part of the configuration: results do not depend on
        it, and a copy made by ``dataclasses.replace`` forgets it.

    Examples
    --------
    >>> study = UciStudy(datasets=("yacht", "protein"), splits=2)
    >>> study.units()
    ['yacht-00', 'yacht-01', 'protein-00', 'protein-01']
    """

    name: ClassVar[str] = "uci"

    datasets: tuple[str, ...] = ()
    columns: tuple[str, ...] | Literal["all"] = tuple(PAPER_COLUMNS)
    splits: int | None = None
    rate: float = 0.01
    epochs: int = 40
    noise: Noise = "train"
    seed: int = 0
    data_dir: InitVar[uci.PathLike | None] = None

    def __post_init__(self, data_dir: uci.PathLike | None) -> None:
        chosen = {
            "datasets": tuple(self.datasets) or uci.available(data_dir),
            "columns": COLUMNS if self.columns == "all" else tuple(self.columns),
            "_root": data_dir,  # not a field, so that it is not recorded
        }
        for name, value in chosen.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not self.datasets:
            raise ValueError(
                f"No data set was found. Name some, and pass data_dir=..., set {uci.ENVIRONMENT_VARIABLE}, or download them."
            )
        for field, known in (("datasets", tuple(uci.DATASETS)), ("columns", COLUMNS)):
            unknown = [name for name in getattr(self, field) if name not in known]
            if unknown or not getattr(self, field):
                raise ValueError(f"{field} must be some of {', '.join(known)}; got {unknown or 'none'}.")
        if self.noise not in get_args(Noise):
            raise ValueError(f"noise must be one of {get_args(Noise)}; got {self.noise!r}.")
        for field, least in (("splits", 1), ("epochs", 1), ("seed", 0)):
            if getattr(self, field) is not None and getattr(self, field) < least:
                raise ValueError(f"{field} must be at least {least}; got {getattr(self, field)!r}.")

    def units(self) -> list[str]:
        """One unit is one split of one data set, with all columns."""
        counts = {name: uci.DATASETS[name].n_splits for name in self.datasets}
        return [
            f"{name}-{number:02d}"
            for name, count in counts.items()
            for number in range(count if self.splits is None else min(count, self.splits))
        ]

    def run(self, unit: str) -> UnitResult:
        """All columns on one split. Timings are seconds to fit; T = 70 is counted with the T = 5 that it begins with."""
        dataset, number = parsed(unit)
        split = split_of(dataset, number, vars(self)["_root"])
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        scores: dict[str, Record] = {}
        timings: dict[str, float] = {}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=EXPECTED_WARNINGS)
            for column, model, seconds in self._fits(dataset, split, seed):
                measure = tree_scores if column == TREES else network_scores
                scores[column], timings[column] = measure(model, split.X_test, split.y_test), seconds
                if column in PAPER_COLUMNS:
                    scores[column] |= training_scores(model, *split)
        records = [{"dataset": dataset, "split": number, "column": name, **scores[name]} for name in self.columns]
        return UnitResult(records, timings)

    def summarise(self, records: list[Record]) -> list[Record]:
        """Mean and standard error of every measure over the splits, by data set and column; None where there is no figure."""
        rows = []
        for dataset in self.datasets:
            for column in self.columns:
                own = [record for record in records if (record["dataset"], record["column"]) == (dataset, column)]
                if own:
                    rows.append({"dataset": dataset, "column": column, "n_splits": len(own)} | summary(own))
        return rows

    def _fits(self, dataset: str, split: Split, seed: int) -> Iterator[tuple[str, Any, float]]:
        """Fitted models with their columns and seconds. A model changes when the next one is asked for."""
        for deep in (False, True):
            chosen = {
                name: column for name, column in PAPER_COLUMNS.items() if column.deep == deep and name in self.columns
            }
            yield from self._paper_fits(chosen, dataset, split, seed)
        for name, make in NETWORK_COLUMNS.items():
            if name in self.columns:
                model = make(width(dataset)).set_params(random_state=seed, n_jobs=1)
                yield name, model, seconds_to_fit(model, split)
        if TREES in self.columns:
            from sklearn.ensemble import ExtraTreesRegressor  # slow to import

            model = ExtraTreesRegressor(random_state=seed, n_jobs=1)
            yield TREES, model, seconds_to_fit(model, split)

    def _paper_fits(
        self, chosen: dict[str, PaperColumn], dataset: str, split: Split, seed: int
    ) -> Iterator[tuple[str, Any, float]]:
        """From the smallest ensemble to the largest: each goes on from the one before, with the same result as alone."""
        model = paper_model(self.rate, self.epochs, self.noise, seed)
        seconds = 0.0
        for name, column in sorted(chosen.items(), key=lambda item: item[1].n_members):
            model.set_params(n_estimators=column.n_members, hidden_layer_sizes=column.hidden(dataset))
            seconds += seconds_to_fit(model, split)
            yield name, model, seconds


def paper_model(rate: float, epochs: int, noise: Noise, seed: int) -> ExtraNetsRegressor:
    """The paper's extra-nets; their number and their units are still to be set. A larger ensemble goes on from a smaller one."""
    return ExtraNetsRegressor.from_preset(
        "paper",
        learning_rate_init=rate,
        max_iter=epochs,
        noise=noise,
        warm_start=True,
        random_state=seed,
        n_jobs=1,
    )


def with_seconds(rows: list[Record], timings: dict[str, dict[str, float]]) -> list[Record]:
    """Summary rows with the mean seconds of a fit. Clocks differ from run to run, so they are not part of the records.

    Examples
    --------
    >>> with_seconds([{"dataset": "boston", "column": "PBP"}], {"boston-00": {"PBP": 1.0}, "boston-01": {"PBP": 3.0}})
    [{'dataset': 'boston', 'column': 'PBP', 'seconds': 2.0}]
    """

    def mean(dataset: str, column: str) -> float | None:
        found = [times[column] for unit, times in timings.items() if parsed(unit)[0] == dataset and column in times]
        return float(np.mean(found)) if found else None

    return [row | {"seconds": mean(row["dataset"], row["column"])} for row in rows]


def parsed(unit: str) -> tuple[str, int]:
    """Data set and number from a unit's name."""
    dataset, _, number = unit.rpartition("-")
    if dataset not in uci.DATASETS or not number.isdecimal() or int(number) >= uci.DATASETS[dataset].n_splits:
        raise ValueError(f"No unit {unit!r}; units are named like 'boston-07'.")
    return dataset, int(number)


def split_of(dataset: str, number: int, data_dir: uci.PathLike | None) -> Split:
    """Read a data set and take one of its splits."""
    table = uci.read(dataset, data_dir)
    train, test = rows_of(dataset, number, data_dir)
    return Split(table.X[train], table.y[train], table.X[test], table.y[test])


def rows_of(dataset: str, number: int, data_dir: uci.PathLike | None) -> tuple[uci.Rows, uci.Rows]:
    """Training and test rows of a split, compared with the index files where there are any.

    Raises
    ------
    ValueError
        If they differ.
    """
    split = list(uci.DATASETS[dataset].splits())[number]
    stored = uci.stored_split(dataset, number, data_dir)
    if stored is not None and not all(map(np.array_equal, split, stored)):
        raise ValueError(
            f"Split {number} of {dataset}: the index files beside the data hold other rows, or another order, than the "
            "benchmark's recipe makes. Delete them if they belong to another benchmark."
        )
    return split


def seconds_to_fit(model: Any, split: Split) -> float:
    start = time.perf_counter()
    model.fit(split.X, split.y)
    return time.perf_counter() - start
