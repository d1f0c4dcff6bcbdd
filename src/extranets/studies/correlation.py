"""The correlation study of Section 5.3 (Table 2 and its figure), its control, and the quantity that it was meant to measure.

The paper trains T learners on one data set, resamples the test rows B times *for each learner separately*, and finds the
learners' predictions uncorrelated. Separate resampling makes the draws of two learners independent whatever the learners are:
identical ones would pass as well. The control resamples the same rows for all learners. The quantity in the decomposition
bias^2 + sigma_omega^2 / T + (T - 1) / T c is the covariance c over fresh training sets, which is simulated here too.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from extranets import engine
from extranets._arrays import Array
from extranets._random import Purpose
from extranets.studies._summaries import standard_error
from extranets.studies.paper_networks import N_ROWS, N_TRAIN, SETTINGS, data_set, extra_nets, scaled, seeds
from extranets.studies.runs import UnitResult
from extranets.uncertainty.decomposition import mspe_decomposition

Record = dict[str, Any]

STUDY, TEST_ROWS = 1, 2  # in `seeds`
VERSIONS = ("separate", "joint")
PROCESS = "nonlinear"  # of the paper's exercise
KEEP_PROB = 0.995
SETS_PER_UNIT = 10
QUANTILES = (5, 25, 50, 75, 95)  # of a learner's bootstrap means, in per cent: what the figure shows


@dataclass(frozen=True)
class CorrelationStudy:
    """Correlation between learners: as the paper measured it, with joint resampling, and over fresh training sets.

    Records have a ``kind``. The first two belong to a ``version`` of the paper's exercise, ``"separate"`` (the paper's) or
    ``"joint"`` resampling of the test rows. A learner's bootstrap means are one number per row position: the mean of the B
    predictions that were drawn there.

    - ``"learner"``: mean prediction on the test rows (``mean_prediction``), and of the 300 bootstrap means their mean, standard
      deviation, kurtosis (3 for a Normal), skewness, Shapiro-Wilk p-value and quantiles.
    - ``"average"``: over pairs of learners, ``average_covariance`` of the B draws at a position (averaged over positions), and
      ``average_correlation`` and ``average_absolute_correlation`` of the bootstrap means over positions; the mean observed
      target; the numbers of learners, of learners that were dropped (null or collapsed), and of Shapiro-Wilk tests that reject
      at 5 %; and ``ensemble_shapiro_wilk``, the p-value for the bootstrap means averaged over learners.
    - ``"truth"``: squared bias, variance (sigma_omega^2) and covariance (c) of the learners over fresh training sets, averaged
      over 300 fixed test rows. Initial weights, masks and shuffles are fresh as well.

    Parameters
    ----------
    B : int, default=100
        Resamples of the test rows.
    T : int, default=30
        Learners, before null and collapsed ones are dropped.
    fresh : int, default=60
        Fresh training sets per process.
    seed : int, default=0

    Examples
    --------
    >>> study = CorrelationStudy(fresh=20)
    >>> study.units()[:4]
    ['separate', 'joint', 'fresh-nonlinear-00', 'fresh-nonlinear-01']
    >>> for version in ("separate", "joint"):
    ...     average = study.run(version).records[-1]
    ...     print(version, average["kind"], round(average["average_correlation"], 1))
    separate average -0.0
    joint average 1.0
    """

    name: ClassVar[str] = "correlation"

    B: int = 100
    T: int = 30
    fresh: int = 60
    seed: int = 0

    def __post_init__(self) -> None:
        for field, least in (("B", 2), ("T", 2), ("fresh", 2), ("seed", 0)):
            if getattr(self, field) < least:
                raise ValueError(f"{field} must be at least {least}; got {getattr(self, field)!r}.")

    def units(self) -> list[str]:
        """Both versions of the paper's exercise, then blocks of about ten fresh training sets for each process."""
        blocks = range(len(self._blocks()))
        return [*VERSIONS, *(f"fresh-{process}-{block:02d}" for process in SETTINGS for block in blocks)]

    def run(self, unit: str) -> UnitResult:
        """One version of the exercise, or one block of fresh training sets."""
        start = time.perf_counter()
        if unit not in self.units():
            raise ValueError(f"No unit {unit!r}; there are {', '.join(self.units())}.")
        if unit in VERSIONS:
            records = exercise(unit, self.B, self.T, self.seed)
        else:
            _, process, block = unit.split("-")
            records = [truth(process, int(block), self._blocks()[int(block)], self.T, self.seed)]
        return UnitResult(records, {"seconds": time.perf_counter() - start})

    def summarise(self, records: list[Record]) -> list[Record]:
        """The learners' rows, the averages, and the true quantities of each process.

        True quantities are means over blocks of training sets, with standard errors between blocks. ``correlation`` is the mean
        covariance over the mean variance; ``variance_ratio`` is how many times the variance of the ensemble's mean exceeds
        sigma_omega^2 / T: 1 + (T - 1) correlation.
        """
        rows = [record for kind in ("learner", "average") for record in records if record["kind"] == kind]
        blocks = {
            process: [r for r in records if r["kind"] == "truth" and r["process"] == process] for process in SETTINGS
        }
        return rows + [true_row(process, found, self.T) for process, found in blocks.items() if found]

    def _blocks(self) -> list[range]:
        """Numbers of the training sets in each block; at least two, for a variance."""
        n_blocks = max(1, self.fresh // SETS_PER_UNIT)
        borders = [self.fresh * i // n_blocks for i in range(n_blocks + 1)]
        return [range(first, last) for first, last in itertools.pairwise(borders)]


# -- the paper's exercise ----------------------------------------------------------------------------------------------


def exercise(version: str, n_resamples: int, n_members: int, seed: int) -> list[Record]:
    """Records of the learners, then their average."""
    data_seed, network_seed = seeds(seed, STUDY, PROCESS, 0)
    data = data_set(PROCESS, "upper", data_seed)
    learners = extra_nets(SETTINGS[PROCESS], KEEP_PROB, data.X, data.y, n_members, network_seed)
    predictions = learners.predict(data.X_test)
    streams = learners.numbers if version == "separate" else np.zeros_like(learners.numbers)
    drawn = resampled(predictions, streams, n_resamples, network_seed)
    rows = [
        {"learner": int(number), "mean_prediction": float(own.mean()), **moments(means)}
        for number, own, means in zip(learners.numbers, predictions, drawn.mean(axis=1), strict=True)
    ]
    counted = {"n_learners": len(rows), "n_dropped": learners.n_dropped(n_members)}
    target = {"observed_mean": float(data.y_test.mean())}
    return [
        *({"kind": "learner", "version": version, **row} for row in rows),
        {"kind": "average", "version": version, **counted, **target, **averages(rows), **between_learners(drawn)},
    ]


def averages(rows: list[Record]) -> Record:
    means = ("mean_prediction", "bootstrap_mean", "sd")
    return {
        **{name: float(np.mean([row[name] for row in rows])) for name in means},
        "n_rejected": sum(row["shapiro_wilk"] < 0.05 for row in rows),
    }


def resampled(predictions: Array, streams: npt.ArrayLike, n_resamples: int, seed: int) -> Array:
    """Predictions at rows drawn with replacement, as many as there are, ``n_resamples`` times.

    Learners with the same stream get the same rows.

    Shape: predictions ``(m, n)``, streams ``(m,)`` -> ``(m, n_resamples, n)``.

    Examples
    --------
    >>> drawn = resampled(np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]), [0, 0], 4, seed=0)
    >>> drawn.shape, bool((drawn[1] == 10 * drawn[0]).all())
    ((2, 4, 3), True)
    """
    n = predictions.shape[1]
    drawn = np.empty((len(predictions), n_resamples, n))
    for out, own, stream in zip(drawn, predictions, np.asarray(streams).tolist(), strict=True):
        words = engine.random_words(seed, stream, Purpose.RESAMPLE, out.size)
        out[:] = own[(words.astype(np.uint64) * np.uint64(n) >> np.uint64(32)).astype(np.intp)].reshape(out.shape)
    return drawn


def moments(means: Array) -> Record:
    """Moments of a learner's bootstrap means. Shape: means ``(n,)``."""
    from scipy import stats  # slow to import

    quantiles = {f"q{q:02d}": float(np.percentile(means, q)) for q in QUANTILES}
    return {
        "bootstrap_mean": float(means.mean()),
        "sd": float(means.std(ddof=1)),
        "kurtosis": float(stats.kurtosis(means, fisher=False)),
        "skewness": float(stats.skew(means)),
        "shapiro_wilk": float(stats.shapiro(means).pvalue),
        **quantiles,
    }


def between_learners(drawn: Array) -> Record:
    """Mean covariance, correlation and absolute correlation over pairs of learners, and a test of their mean for normality.

    The covariance is that of the draws at one position, averaged over positions; the correlations are those of the bootstrap
    means over positions.

    Shape: drawn ``(m, B, n)``.

    Examples
    --------
    A learner and twice its opposite:

    >>> one = np.array([[[1.0, 2.0, 4.0], [3.0, 4.0, 6.0]]])
    >>> row = between_learners(np.concatenate([one, -2 * one]))
    >>> row["average_covariance"], round(row["average_correlation"], 9)
    (-4.0, -1.0)
    """
    m, n_resamples, _ = drawn.shape
    centred = drawn - drawn.mean(axis=1, keepdims=True)
    of_sum = np.sum(centred.sum(axis=0) ** 2, axis=0) / (n_resamples - 1)
    own = np.sum(centred**2, axis=(0, 1)) / (n_resamples - 1)
    # The variance of a sum is the sum of all m^2 covariances, of which m are variances.
    covariance = (of_sum - own) / (m * (m - 1))
    means = drawn.mean(axis=1)
    unit = means - means.mean(axis=1, keepdims=True)
    unit /= np.sqrt(np.sum(unit**2, axis=1, keepdims=True))
    # Not a matrix product, whose last bits may depend on the number of threads.
    pairs = np.einsum("ik,jk->ij", unit, unit)[np.triu_indices(m, 1)]
    return {
        "average_covariance": float(covariance.mean()),
        "average_correlation": float(pairs.mean()),
        "average_absolute_correlation": float(np.abs(pairs).mean()),
        "ensemble_shapiro_wilk": moments(means.mean(axis=0))["shapiro_wilk"],
    }


# -- over fresh training sets ------------------------------------------------------------------------------------------


def truth(process: str, block: int, numbers: range, n_members: int, seed: int) -> Record:
    """Bias, variance and covariance of learners over the training sets of a block, at 300 rows of the block's own."""
    setting = SETTINGS[process]
    rows_seed, _ = seeds(seed, TEST_ROWS, process, block)
    rows = setting.draw(N_ROWS, random_state=rows_seed)
    predictions = list(fresh_predictions(process, rows.X[N_TRAIN:], numbers, n_members, seed))
    # The formulas need equally many learners from each training set. Learners are exchangeable: take the first.
    fewest = min(len(own) for own in predictions)
    if fewest < 2:
        raise ArithmeticError(f"Fewer than two of {n_members} learners were left on a training set; use a larger T.")
    parts = mspe_decomposition(np.stack([own[:fewest] for own in predictions]), rows.signal[N_TRAIN:])
    names = {"kind": "truth", "process": process, "block": block, "n_sets": len(numbers), "n_learners": fewest}
    return names | {part: float(np.mean(getattr(parts, part))) for part in ("bias2", "variance", "covariance")}


def fresh_predictions(process: str, X: Array, numbers: range, n_members: int, seed: int) -> Iterator[Array]:
    """Predictions of the learners of each training set. Shape: X ``(n, 5)`` unscaled -> ``(at most n_members, n)`` each."""
    setting = SETTINGS[process]
    for number in numbers:
        data_seed, network_seed = seeds(seed, STUDY, process, number + 1)  # 0 is the paper's exercise
        X_train, y_train, _, _ = setting.draw(N_ROWS, random_state=data_seed).split(N_TRAIN)
        X_train, rows = scaled(X_train, X)
        yield extra_nets(setting, KEEP_PROB, X_train, y_train, n_members, network_seed).predict(rows)


def true_row(process: str, blocks: list[Record], n_members: int) -> Record:
    weights = np.array([block["n_sets"] - 1.0 for block in blocks])  # degrees of freedom
    row: Record = {"kind": "truth", "process": process, "n_sets": sum(block["n_sets"] for block in blocks)}
    for part in ("bias2", "variance", "covariance"):
        values = np.array([block[part] for block in blocks])
        row |= {part: float(np.average(values, weights=weights)), f"{part}_se": standard_error(values)}
    variance, correlation = row["variance"], row["covariance"] / row["variance"]
    # Error of a ratio: the error of its numerator minus the ratio times its denominator.
    rest = np.array([block["covariance"] - correlation * block["variance"] for block in blocks])
    error = standard_error(rest / variance)
    row |= {"correlation": correlation, "correlation_se": error}
    ratio_error = None if error is None else (n_members - 1) * error
    return row | {"variance_ratio": 1 + (n_members - 1) * correlation, "variance_ratio_se": ratio_error}
