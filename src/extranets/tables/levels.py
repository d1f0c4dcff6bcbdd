"""Categories of many levels as a few numbers each: what the target tells about a level.

The numbers are shrunken means of what the other columns do not explain (``random_effects.py``), for all such columns together.
Training rows get numbers that were learned from other rows: with their own target in it, a number would promise more than it
holds in new rows, and most of all for levels with few rows. New rows get what was learned from all rows, and a level that was
not there gets the mean, 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas

from extranets import model_file
from extranets._arrays import Array, Float32
from extranets._blas import one_blas_thread
from extranets._random import Purpose, generator
from extranets.parting import Parting, fold_of_row
from extranets.tables.columns import CategoryColumn
from extranets.tables.random_effects import Codes, Structure, Term, find_structure
from extranets.tables.ridge import Ridge, standard_column, standardised, strongest

N_FOLDS = 5
SEED = 0  # of the folds: what a level is worth does not depend on the networks' seed
FOLDS_PART = 1  # of the stream of random numbers: estimators draw their folds from part 0
MOST_FEATURES = 100  # of the ridge regression
MOST_NUMBERS = 10  # that are tried as slopes

Mask = npt.NDArray[np.bool_]


@model_file.storable("LevelEffects")
@dataclass(frozen=True)
class LevelEffects:
    """The numbers that stand for the levels of one column. Effects are in standard deviations of the target.

    Shape: values ``(n_levels, n_features)``, in the order of ``CategoryColumn.encoded``.
    """

    names: list[str]
    values: Float32

    def _check_stored(self) -> None:
        model_file.require(self.values.ndim == 2 and len(self.names) == self.values.shape[1], "effects without names")
        model_file.require(len(self.names) > 0 and np.isfinite(self.values).all(), "effects must be finite numbers")

    def in_rows(self, codes: Codes) -> Array:
        """Shape: ``(n,)`` -> ``(n, n_features)``; zeros for the code -1."""
        return np.where(codes[:, None] < 0, 0.0, self.values[codes].astype(np.float64))


def level_codes(levels: Sequence[str], values: npt.ArrayLike) -> Codes:
    """The level's position for each value, and -1 for a value that is none of the levels. Shape: ``(n,)``."""
    return pandas.Index(levels, dtype=object).get_indexer(pandas.Index(np.asarray(values, dtype=object), dtype=object))


def learn_levels(
    columns: Sequence[CategoryColumn],
    table: pandas.DataFrame,
    features: pandas.DataFrame,
    numbers: Sequence[str],
    y: Array,
    weight: Array,
    parting: Parting | None = None,
) -> tuple[dict[str, LevelEffects], Array]:
    """What the target tells about the levels of some columns.

    Parameters
    ----------
    columns : those to learn about
    table : data frame of shape (n, ...), with what the schema reads in these columns
    features : data frame of shape (n, n_features)
        All other columns, encoded. Only what they do not explain by a ridge regression counts as an effect of levels.
    numbers : names of the features that may mean more or less in a level
    y : array of shape (n,) or (n, n_outputs)
    weight : array of shape (n,)
        All zeros count as all ones.
    parting : Parting, optional
        What rows have in common: training rows then get numbers that were learned from other groups, or from earlier rows.

    Returns
    -------
    effects : dict of LevelEffects
        By column, for new rows.
    found : array of shape (n, ...)
        The training rows' features, those of one column after the other. Effects are learned from the rows of other folds.

    Examples
    --------
    >>> from extranets.tables import Schema
    >>> table = pandas.DataFrame({"city": ["Ulm", "Bonn"] * 50})
    >>> (column,) = Schema.learn(table, max_categories=1).columns
    >>> y = np.array([1.0, 3.0] * 50)
    >>> effects, found = learn_levels([column], table, pandas.DataFrame(index=table.index), [], y, np.ones(100))
    >>> effects["city"].names, dict(zip(column.encoded, effects["city"].values[:, 1].round(1).tolist()))
    (['city: rows', 'city: effect'], {'Bonn': 1.0, 'Ulm': -1.0})
    >>> found.shape
    (100, 2)
    """
    weight = weight / weight[weight > 0].mean() if (weight > 0).any() else np.ones(len(weight))
    target = np.column_stack([standard_column(output, weight) for output in y.reshape(len(weight), -1).T])
    terms = [Term(level_codes(column.encoded, table[column.name]), len(column.encoded)) for column in columns]
    rows = _Rows(terms, features, numbers, target, weight)
    with one_blas_thread():  # sums over rows in one order, whatever the machine
        structures = rows.structures()
        effects = rows.tables(structures, weight, rows.weight)
        found = rows.cross_fitted(structures, effects, parting)
    names = rows.names([column.name for column in columns], structures)
    stored = {
        column.name: LevelEffects(names_of, values.astype(np.float32))
        for column, names_of, values in zip(columns, names, effects, strict=True)
    }
    return stored, np.hstack(found)


class _Rows:
    """Training rows. Shapes: terms of n rows each, target ``(n, n_outputs)``, weight ``(n,)``."""

    def __init__(
        self, terms: list[Term], features: pandas.DataFrame, numbers: Sequence[str], target: Array, weight: Array
    ) -> None:
        matrix = features.to_numpy(np.float64)
        order = strongest(matrix, target, weight)[:MOST_FEATURES]
        likely = set(numbers)
        positions = [at for at in order.tolist() if features.columns[at] in likely][:MOST_NUMBERS]
        self.terms, self.target, self.weight = terms, target, weight
        self.tried = [str(features.columns[at]) for at in positions]
        self.numbers = standardised(matrix[:, positions], weight)
        self.others = standardised(matrix[:, order], weight)

    def structures(self) -> list[Structure]:
        """Slopes and variances for each output."""
        ridge = Ridge(self.others, self.weight)
        return [find_structure(self.terms, self.numbers, output, self.weight, ridge) for output in self.target.T]

    def tables(self, structures: list[Structure], weight: Array, counted: Array) -> list[Array]:
        """For each column an array of shape ``(n_levels, n_features)``: the logarithm of rows, and the effects for each output.

        Learned from rows of positive weight; ``counted`` are the weights of the rows that are counted.
        """
        parts = [[np.log1p(term.sums(counted))] for term in self.terms]
        ridge = Ridge(self.others, weight) if (weight > 0).any() else None
        for structure, output in zip(structures, self.target.T, strict=True):
            found = structure.effects(self.terms, self.numbers, output, weight, ridge)
            for part, effects in zip(parts, found, strict=True):
                part += effects
        return [np.column_stack(part) for part in parts]

    def cross_fitted(self, structures: list[Structure], effects: list[Array], parting: Parting | None) -> list[Array]:
        """Features of the rows, with effects that were learned from other folds. Shapes: ``(n, n_features)``, for each column.

        How many rows a level has need not be hidden, unless groups stay whole: they may have levels of their own.
        """
        found = [values[term.codes] for term, values in zip(self.terms, effects, strict=True)]
        hidden = parting is not None and not parting.looks_back
        first = 0 if hidden else 1
        for held, seen in _other_rows(len(self.weight), parting):
            weight = np.where(seen, self.weight, 0.0)
            others = self.tables(structures, weight, weight if hidden else self.weight)
            for term, features, values in zip(self.terms, found, others, strict=True):
                features[held, first:] = values[term.codes[held], first:]
        return found

    def names(self, columns: Sequence[str], structures: list[Structure]) -> list[list[str]]:
        """Of the features of each column."""
        found = [[f"{column}: rows"] for column in columns]
        for output, structure in enumerate(structures):
            suffix = f", output {output}" if len(structures) > 1 else ""
            for at, (column, names) in enumerate(zip(columns, found, strict=True)):
                slopes = [f"slope of {self.tried[slope.number]}" for slope in structure.slopes if slope.column == at]
                names += [f"{column}: {what}{suffix}" for what in ["effect", *slopes]]
        return found


def _other_rows(n_rows: int, parting: Parting | None) -> Iterator[tuple[Mask, Mask]]:
    """For each fold, its rows and those that it learns from. Shape: ``(n_rows,)`` each.

    Blocks of time learn from earlier ones; the earliest block, which has none, from its own rows at random.
    """
    at_random = generator(SEED, Purpose.ROWS, part=FOLDS_PART).permutation(n_rows) % N_FOLDS
    folds = at_random if parting is None else fold_of_row(n_rows, N_FOLDS, SEED, parting)
    looks_back = parting is not None and parting.looks_back
    for fold in range(int(folds.max()) + 1):
        held = folds == fold
        yield held, ((folds < 0) | (folds > fold)) if looks_back else ~held
    for fold in range(N_FOLDS if looks_back else 0):
        yield (folds < 0) & (at_random == fold), (folds < 0) & (at_random != fold)
