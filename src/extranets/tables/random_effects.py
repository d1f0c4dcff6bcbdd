"""Effects of the levels of several columns at once: random effects, with variances that the rows tell.

The model: target = regression on other features + sum over terms of effect[level] * slope + noise. A term is a column, with a slope of one in every row, or a
column and a number x, with slope x: then the number means more or less in each level. The effects of a term are drawn around
zero with a variance of the term's own, so their best prediction is a mean that is shrunken the more, the fewer rows a level has
and the more noise there is. Arrays only; levels are whole numbers from 0 on.

Variances come from the method of moments (Gao and Owen 2017, Electronic Journal of Statistics 11): they are unbiased for
crossed and for nested columns, and take a few passes over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from extranets._arrays import Array, Float32
from extranets.tables.ridge import Ridge

Codes = npt.NDArray[np.intp]

MOST_SWEEPS = 50
ENOUGH_CHANGE = 1e-3  # of a sweep, in standard deviations of the target: far less than what rows can tell
ROUNDS = 3  # of variances, and of the regression that they depend on
MOST_SLOPES = 3  # of all columns together
SURE = 3.0  # standard errors by which a slope must be more than noise
LEAST_SLOPE = 1e-3  # of the variance of the target: a smaller variance is not worth a feature
LEAST_NOISE = 1e-6  # of the variance of the target, so that levels of single rows are not taken at their word


@dataclass(frozen=True)
class Term:
    """An effect for each level, times ``slope`` in every row; None: times one. Shapes: codes, slope ``(n,)``."""

    codes: Codes
    n_levels: int
    slope: Array | Float32 | None = None

    def sums(self, values: Array) -> Array:
        """Of values times slope, by level. Shape: ``(n,)`` -> ``(n_levels,)``."""
        weighted = values if self.slope is None else values * self.slope
        return np.bincount(self.codes, weighted, self.n_levels).astype(np.float64, copy=False)

    def information(self, weight: Array) -> Array:
        """Sum of squared slopes by level: how many rows tell about it. Shape: ``(n,)`` -> ``(n_levels,)``."""
        return self.sums(weight if self.slope is None else weight * self.slope)

    def in_rows(self, effects: Array) -> Array:
        """Shape: ``(n_levels,)`` -> ``(n,)``."""
        return effects[self.codes] if self.slope is None else effects[self.codes] * self.slope


class Variances(NamedTuple):
    """Of the effects of each term, and of the noise. Shape: terms ``(n_terms,)``."""

    terms: Array
    noise: float


class Slope(NamedTuple):
    """Which number means more or less in the levels of which column: their positions."""

    column: int
    number: int


class Fit(NamedTuple):
    """Effects ``(n_levels,)`` of each term, what the regression explains ``(n,)``, and what is left ``(n,)``."""

    effects: list[Array]
    explained: Array
    rest: Array


def fit_effects(
    terms: Sequence[Term], variances: Variances, target: Array, weight: Array, ridge: Ridge | None = None
) -> Fit:
    """The best linear predictions of all effects, and the regression, together: Gauss-Seidel sweeps of shrunken means.

    Rows of weight zero do not count; weight two counts as two rows.

    Parameters
    ----------
    terms : of n rows each
    variances : of the terms and the noise
    target, weight : arrays of shape (n,)
    ridge : regression on other features of the rows, made with the same weights; without it, a mean

    Examples
    --------
    Four rows of one level and one of another, with the same variance of effects and noise:

    >>> term, weight = Term(np.array([0, 0, 0, 0, 1]), 2), np.ones(5)
    >>> found = fit_effects([term], Variances(np.ones(1), 1.0), np.array([1.0, 1, 1, 1, -1]), weight)
    >>> found.effects[0].round(3).tolist()
    [0.615, -0.615]
    """
    effects = [np.zeros(term.n_levels) for term in terms]
    total = weight.sum()
    explained = np.zeros(len(target))
    if not total > 0:
        return Fit(effects, explained, target)
    rest = target - weight @ target / total
    spread = weight @ rest**2 / total
    noise = max(variances.noise, LEAST_NOISE * spread)
    active = [number for number, variance in enumerate(variances.terms) if variance > 0 and spread > 0]
    information = {number: terms[number].information(weight) for number in active}
    enough = ENOUGH_CHANGE**2 * spread
    for sweep in range(MOST_SWEEPS):
        change = 0.0
        for number in active:
            term, known = terms[number], information[number]
            step, mean = _step(term, known, noise / variances.terms[number], effects[number], weight * rest)
            effects[number] += step
            rest -= term.in_rows(step) + mean
            change = max(change, known @ step**2 / total)
        # The regression takes as long as many sweeps: only after those with the numbers 1, 2, 4, 8, ... and at the end.
        if ridge is not None and (change <= enough or sweep & (sweep + 1) == 0):
            more = ridge.fitted(rest + explained) - explained
            explained += more
            rest -= more
            change = max(change, weight @ more**2 / total)
        if change <= enough:
            break
    return Fit(effects, explained, rest)


def _step(term: Term, known: Array, penalty: float, effects: Array, weighted: Array) -> tuple[Array, float]:
    """How far one term's effects are from what is best while all else stays, and the mean of all rows, which is not shrunken.

    Shapes: known (information), effects ``(n_levels,)``; weighted (what is left, times the weights) ``(n,)``.
    """
    sums = term.sums(weighted) + known * effects
    if term.slope is not None:
        return sums / (known + penalty) - effects, 0.0
    mean = float((sums / (known + penalty)).sum() / (known / (known + penalty)).sum())
    return (sums - mean * known) / (known + penalty) - effects, mean


class Moments:
    """Variances of the effects of columns and of the noise, by moments: sums of squares within levels and in all rows.

    A sum of squares within the levels of one column holds no effects of that column, but all those of the others, as far as they
    vary there. The expectations are linear in the variances; the equations are solved with none below zero. So of two columns
    that say the same, one gets all.

    Parameters
    ----------
    terms : without slopes, of n rows each
    weight : array of shape (n,)
    """

    def __init__(self, terms: Sequence[Term], weight: Array) -> None:
        k, total = len(terms), weight.sum()
        self._terms, self._weight = terms, weight
        self._sizes = [term.information(weight) for term in terms]
        self._expected = np.full(
            (k + 1, k + 1), total - 1
        )  # a row for each sum of squares; the last one is that of all rows
        for i, size in enumerate(self._sizes):
            self._expected[i, i], self._expected[i, k] = 0.0, total - (size > 0).sum()
            self._expected[k, i] = total - size @ size / total
            for j in range(i):
                shared = _shared(terms, self._sizes, weight, i, j)
                self._expected[i, j], self._expected[j, i] = total - shared

    def variances(self, target: Array) -> Variances:
        """Of the columns' effects and the noise in a target. Shape: ``(n,)``."""
        rest = target - self._weight @ target / self._weight.sum()
        found = np.full(len(self._sizes) + 1, self._weight @ rest**2)
        for i, (term, size) in enumerate(zip(self._terms, self._sizes, strict=True)):
            there = size > 0
            found[i] -= (term.sums(self._weight * rest)[there] ** 2 / size[there]).sum()
        scale = np.maximum(np.abs(self._expected).max(axis=1), 1.0)
        solved, _ = nnls(self._expected / scale[:, None], found / scale)
        return Variances(solved[:-1], float(solved[-1]))


def _shared(terms: Sequence[Term], sizes: Sequence[Array], weight: Array, i: int, j: int) -> Array:
    """For two columns, the sum over pairs of levels of squared rows of the pair by rows of the level in one column. Shape: ``(2,)``."""
    first, second = terms[i], terms[j]
    pairs, pair = np.unique(first.codes.astype(np.int64) * second.n_levels + second.codes, return_inverse=True)
    squared = np.bincount(pair.ravel(), weight) ** 2
    by = sizes[i][pairs // second.n_levels], sizes[j][pairs % second.n_levels]
    return np.array([(squared[size > 0] / size[size > 0]).sum() for size in by])


@dataclass(frozen=True)
class Structure:
    """Which terms there are, and their variances: the columns' own first, then those with slopes."""

    slopes: list[Slope]
    variances: Variances

    def effects(
        self, columns: Sequence[Term], numbers: Float32, target: Array, weight: Array, ridge: Ridge | None = None
    ) -> list[list[Array]]:
        """For each column its own effects, and those with slopes. Shapes: ``(n_levels,)``."""
        found = fit_effects(terms_of(columns, self.slopes, numbers), self.variances, target, weight, ridge).effects
        by_column = [[effects] for effects in found[: len(columns)]]
        for slope, effects in zip(self.slopes, found[len(columns) :], strict=True):
            by_column[slope.column].append(effects)
        return by_column


def find_structure(
    columns: Sequence[Term], numbers: Float32, target: Array, weight: Array, ridge: Ridge | None = None
) -> Structure:
    """Variances of the columns' effects, and which numbers mean more or less in the levels of a column.

    One slope after the other: the one with the largest variance among those that are more than noise.

    Parameters
    ----------
    columns : terms without slopes, of n rows each
    numbers : float32 array of shape (n, n_numbers), standardised
    target, weight, ridge : as for :func:`fit_effects`
    """
    moments = Moments(columns, weight)
    variances = moments.variances(target)
    for _ in range(ROUNDS):
        fit = fit_effects(columns, variances, target, weight, ridge)
        variances = moments.variances(target - fit.explained)
    least = LEAST_SLOPE * float(np.cov(target, aweights=weight))
    slopes: list[Slope] = []
    found: list[float] = []
    while len(slopes) < MOST_SLOPES:
        likely = _likely_slopes(columns, numbers, fit.rest, weight, slopes)
        likely = {slope: variance for slope, variance in likely.items() if variance > least}
        if not likely:
            break
        best = max(likely, key=lambda slope: likely[slope])
        noise = float(weight @ fit.rest**2 / weight.sum())
        slopes, found = [*slopes, best], [*found, likely[best]]
        terms = terms_of(columns, slopes, numbers)
        known = Variances(np.array([*variances.terms, *found]), max(noise - likely[best], noise / 10))
        fit = fit_effects(terms, known, target, weight, ridge)
        # What slopes leave tells more about the columns' own effects.
        own = fit.rest + _sum(columns, fit.effects[: len(columns)])
        variances = moments.variances(own)
        fit = fit_effects(
            terms, Variances(np.array([*variances.terms, *found]), variances.noise), target, weight, ridge
        )
    return Structure(slopes, Variances(np.array([*variances.terms, *found]), variances.noise))


def terms_of(columns: Sequence[Term], slopes: Sequence[Slope], numbers: Float32) -> list[Term]:
    """The columns' own terms, and those with slopes."""
    bases = [columns[slope.column] for slope in slopes]
    sloped = [
        Term(base.codes, base.n_levels, numbers[:, slope.number]) for base, slope in zip(bases, slopes, strict=True)
    ]
    return [*columns, *sloped]


def _likely_slopes(
    columns: Sequence[Term], numbers: Float32, rest: Array, weight: Array, known: Sequence[Slope]
) -> dict[Slope, float]:
    """Variances of the slopes that are more than noise.

    Under noise alone, the squared sums of a term, by information, are a chi-squared variable times the noise, with as many degrees
    of freedom as there are levels.
    """
    noise, found = float(weight @ rest**2 / weight.sum()), {}
    for column, base in enumerate(columns):
        for number in range(numbers.shape[1]):
            slope = Slope(column, number)
            if slope in known:
                continue
            (term,) = terms_of([base], [Slope(0, number)], numbers)[1:]
            information = term.information(weight)
            there = information > 1e-9
            excess = (term.sums(weight * rest)[there] ** 2 / information[there]).sum() - noise * there.sum()
            if excess > SURE * noise * np.sqrt(2 * there.sum()):
                found[slope] = float(excess / information.sum())
    return found


def _sum(terms: Sequence[Term], effects: Sequence[Array]) -> Array:
    return np.sum([term.in_rows(effect) for term, effect in zip(terms, effects, strict=True)], axis=0)
