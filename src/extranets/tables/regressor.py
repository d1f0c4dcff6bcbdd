"""Any regressor, for tables of mixed columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from extranets import model_file
from extranets._sklearn import BaseEstimator, MetaEstimatorMixin, RegressorMixin, remember_names
from extranets._warnings import warn_user
from extranets.estimators import StackedNetsRegressor
from extranets.estimators.base import NetsRegressor
from extranets.model_file.typed import check_types
from extranets.parting import Parting
from extranets.tables.by_blocks import fit_table_by_blocks, is_read_by_blocks
from extranets.tables.encoded import MOST_BLOCK_ROWS, blocks_of, encode, learn_encoding
from extranets.tables.encoding import column_transformer
from extranets.tables.errors import TableWarning
from extranets.tables.frames import array_names, as_frame, has_names
from extranets.tables.learning import IGNORE
from extranets.tables.levels import LevelEffects
from extranets.tables.notes import Notes
from extranets.tables.novelty import note_outside
from extranets.tables.order import check_parting, column_groups, column_times, columns_beside, warn_of_order
from extranets.tables.predictions import TablePredictions, naming_rows
from extranets.tables.schema import Schema

if TYPE_CHECKING:
    from typing_extensions import Self

STORED_TYPES: dict[str, Any] = {
    "parameters": dict[str, Any],
    "feature_names": list[str] | None,
    "n_features": int,
    "schema": dict[str, Any],
    "levels": dict[str, LevelEffects],
    "beside": dict[str, str],
    "fit_info": dict[str, Any] | None,
    "regressor": BaseEstimator,
}
NEW = {"levels", "beside"}  # entries that files of earlier versions lack
PARAMETER_TYPES: dict[str, Any] = {
    "estimator": BaseEstimator | None,
    "kinds": dict[str, str] | None,
    "max_categories": int,
    "na_values": list[str] | tuple[str, ...],
    "strict": bool,
}
LEARNED = ("schema_", "levels_", "transformer_", "regressor_", "beside_columns_")
BLOCK_VALUES = 1 << 20  # encoded numbers that are held at a time: 8 MB, and several times that on the way

T = TypeVar("T")


@model_file.storable("TableRegressor")
class TableRegressor(TablePredictions, MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """A regressor for tables: numbers, truth values, dates, categories, and gaps in all of them.

    Learns from the training rows what the columns are (:class:`Schema`), encodes them as numbers with a scikit-learn
    ``ColumnTransformer``, and hands these to a regressor. Columns are known by name: at prediction their order does not
    matter, and columns that training did not have are ignored. A missing column is an error that names it. A new category, or
    a gap where training had none, gives a warning that names column and values.

    Parameters
    ----------
    estimator : regressor, optional
        Gets the encoded table. ``StackedNetsRegressor()`` if not given.
    kinds : dict of str, optional
        What columns are, where the guess is wrong: ``{"zip": "category", "day": "date:%d/%m/%Y", "id": "ignore"}``.
    max_categories : int, default=30
        A column of up to so many categories has a feature for each of them. The categories of a column with more of them get a
        few numbers each: how many rows it has, and what the target tells about it beyond what the other columns do, as an effect
        that is shrunken towards 0 the more, the fewer rows there are; perhaps also slopes, where a number means more or less
        in some categories. Training rows get effects that were learned from other rows.
    na_values : sequence of str
        Texts that stand for missing values, besides the usual ones such as ``NA``.
    strict : bool, default=False
        Refuse new categories and new gaps at prediction, instead of warning of them.

    Attributes
    ----------
    schema_ : Schema
        What was learned about the columns.
    levels_ : dict of LevelEffects
        What was learned from the target, for each column of many categories.
    transformer_ : ColumnTransformer
        Made from these two alone. It encodes new rows.
    regressor_ : regressor
        Fitted to the encoded table.
    beside_columns_ : dict of str
        Columns with the groups and weights that conformal intervals need, if `conformalize` got their names.
    n_features_in_ : int
        Columns of the training table.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, if they had any.

    Examples
    --------
    >>> import pandas
    >>> from extranets.tables import TableRegressor
    >>> table = pandas.DataFrame({"area": [30.0, 55, None, 80] * 25, "city": ["Ulm", "Bonn", "Ulm", "Bonn"] * 25})
    >>> rent = table["area"].fillna(60) * 10 + (table["city"] == "Bonn") * 100
    >>> model = TableRegressor().fit(table, rent)
    >>> model.predict_interval(table[:3], coverage=0.9).shape
    (3, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        kinds: Mapping[str, str] | None = None,
        max_categories: int = 30,
        na_values: Sequence[str] = (),
        strict: bool = False,
    ) -> None:
        self.estimator = estimator
        self.kinds = kinds
        self.max_categories = max_categories
        self.na_values = na_values
        self.strict = strict

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
        """Learn what the columns are, and fit a clone of the regressor to them.

        Intervals are learned from errors on rows that networks left out: at random, unless rows have something in common. Give
        ``groups`` where new rows will be of other groups (persons, schools), and ``time`` where they will be later: whole groups
        are then left out, or networks are judged by later rows than those that they saw.

        Parameters
        ----------
        X : data frame (pandas, polars, Arrow table) or array of shape (n_samples, n_columns)
            Or a table that is read block by block: the path of a file or of a folder of files, a ``pyarrow.dataset.Dataset``, an array
            or data frame of Dask.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Of a table that is read block by block, the name of the column to predict.
        sample_weight : array of shape (n_samples,), optional
        groups : name of a column of X, or array of shape (n_samples,), optional
            What names the group of each row. A column that is named here is no feature.
        time : name of a column of X, or array of shape (n_samples,), optional
            Dates or numbers. A column that is named here stays a feature.
        checkpoint : path of a folder, optional
            Networks are kept there as they are trained, so that the same fit goes on after a stop. Needs a regressor with an integer
            ``random_state``.
        max_memory : int or str, optional
            The most memory that the process takes, such as ``"2GB"``. Any table is then read block by block. docs/scale.md says how
            such a fit differs from the usual one. Without it, tables that are read block by block may take half of the machine's.
        scratch : path of a folder, optional
            Where such a fit keeps the rows meanwhile. The system's folder for temporary files if not given.

        Returns
        -------
        self

        Examples
        --------
        >>> import pandas
        >>> from extranets import ExtraNetsRegressor
        >>> from extranets.tables import TableRegressor
        >>> table = pandas.DataFrame({"day": pandas.date_range("2024-01-01", periods=200), "price": [1.5, 2.0, 1.0, 3.0] * 50})
        >>> model = TableRegressor(ExtraNetsRegressor(3, max_iter=20, random_state=0))
        >>> model.fit(table, table["price"] ** 2, time="day").predict_interval(table[:3]).shape
        (3, 2)
        """
        if max_memory is not None or is_read_by_blocks(X):
            beside = {"sample_weight": sample_weight, "groups": groups, "time": time, "checkpoint": checkpoint}
            fit_table_by_blocks(self, X, y, max_memory, scratch, beside)
            return self
        if isinstance(y, str):
            raise TypeError(
                f"y={y!r} names a column, which is for files and tables that are read block by block. Of a table in memory, give the "
                f"features and the target apart: fit(table.drop(columns={y!r}), table[{y!r}])."
            )
        frame = as_frame(X)
        if isinstance(time, str):
            time = column_times(frame, time, self.kinds, self.na_values)
        if isinstance(groups, str):
            name, groups = groups, column_groups(frame, groups, self.na_values)
            X = frame.drop(columns=name)
        given = {"sample_weight": sample_weight, "groups": groups, "time": time}
        given = {name: values for name, values in given.items() if values is not None}
        kept = {} if checkpoint is None else {"checkpoint": checkpoint}
        self._refuse_strangers(given | kept)
        return self.fit_with(X, y, lambda encoded: clone(self._unfitted()).fit(encoded, y, **given, **kept), **given)

    def _refuse_strangers(self, given: Mapping[str, Any]) -> None:
        """Groups, times or a checkpoint that the regressor does not ask for."""
        inside = self._unfitted()
        for name in ("groups", "time"):
            if name in given and not has_fit_parameter(inside, name):
                raise TypeError(
                    f"{name} says which rows are left out together, but {type(inside).__name__} takes none."
                )
        if "checkpoint" in given and not has_fit_parameter(inside, "checkpoint"):
            raise TypeError(f"{type(inside).__name__} has no networks to keep; leave checkpoint out.")

    @property
    def leaves_rows_out(self) -> bool:
        """Whether the regressor learns from rows that it leaves out, so that ``groups`` and ``time`` have a say."""
        return bool(getattr(self._inside(), "leaves_rows_out", False))

    def learn_schema(self, X: Any) -> Schema:
        """What the columns are, as :meth:`fit` finds it out. Fits nothing.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns), as for :meth:`fit`

        Examples
        --------
        >>> import pandas
        >>> from extranets.tables import TableRegressor
        >>> table = pandas.DataFrame({"answer": ["yes", "no"] * 50, "flat": range(100)})
        >>> TableRegressor(kinds={"flat": "ignore"}).learn_schema(table).kinds()
        {'answer': 'boolean', 'flat': 'ignore'}
        """
        self.check_parameters()
        frame = as_frame(X)
        if not len(frame):
            raise ValueError(
                "Found array with 0 sample(s) (n_samples=0) while a minimum of 2 is required: the table has no rows."
            )
        return Schema.learn(frame, self.kinds, max_categories=self.max_categories, na_values=self.na_values)

    def fit_with(
        self,
        X: Any,
        y: Any,
        train: Callable[[pandas.DataFrame], Any],
        *,
        sample_weight: Any = None,
        groups: Any = None,
        time: Any = None,
        schema: Schema | None = None,
    ) -> Self:
        """Learn what the columns are, and let a function make the regressor: one that chooses its parameters, say.

        Parameters
        ----------
        X : table of shape (n_samples, n_columns), as for :meth:`fit`
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            What categories of columns with many of them are learned from.
        train : callable
            Takes the encoded table and returns a regressor that is fitted to it. ``estimator`` is not used.
        sample_weight : array of shape (n_samples,), optional
            As ``y``.
        groups, time : arrays of shape (n_samples,), optional
            As ``y``. What ``train`` is to know of them it must know by itself.
        schema : Schema, optional
            What :meth:`learn_schema` found in ``X``, so that it need not be found out again.

        Returns
        -------
        self

        Examples
        --------
        >>> import pandas
        >>> from extranets import ExtraNetsRegressor
        >>> from extranets.tables import TableRegressor
        >>> table, y = pandas.DataFrame({"answer": ["yes", "no"] * 50}), [1.0, 0.0] * 50
        >>> model = TableRegressor().fit_with(table, y, lambda encoded: ExtraNetsRegressor(3, max_iter=20).fit(encoded, y))
        >>> model.predict(table[:3]).shape
        (3,)
        """
        self.check_parameters()
        self._forget()
        frame = as_frame(X)
        schema = self.learn_schema(frame) if schema is None else schema
        remember_names(self, frame if has_names(X) else X)
        parting = check_parting(groups, time, len(frame))
        levels, transformer, encoded = learn_encoding(schema, frame, y, sample_weight, parting)
        regressor = train(encoded)
        if levels and hasattr(regressor, "compare_with"):  # new rows have numbers that all training rows have a part in
            regressor.compare_with(encode(schema, transformer, frame, Notes(), strict=False))
        self._settle(schema, levels, transformer, regressor, frame, parting)
        return self

    def _forget(self) -> None:
        for name in LEARNED:  # a fit that fails leaves no fitted estimator
            self.__dict__.pop(name, None)

    def _settle(
        self,
        schema: Schema,
        levels: dict[str, LevelEffects],
        transformer: Any,
        regressor: Any,
        frame: pandas.DataFrame,
        parting: Parting | None,
    ) -> None:
        """Tell what is odd; and become fitted, as nothing failed."""
        unasked = {name: why for name, why in schema.dropped.items() if (self.kinds or {}).get(name) != IGNORE}
        if unasked:
            reasons = "; ".join(f"{name!r}: {why}" for name, why in unasked.items())
            warn_user(f"Columns that are not used: {reasons}.", TableWarning)
        if parting is None and self.leaves_rows_out:
            warn_of_order(schema, frame)
        self.schema_, self.levels_, self.transformer_, self.regressor_ = schema, levels, transformer, regressor
        self.n_features_in_ = frame.shape[1]
        self.beside_columns_: dict[str, str] = {}

    def check_parameters(self) -> None:
        """Raise a ValueError that names the first parameter that cannot be used. Those of ``estimator`` are its own matter."""
        whole = isinstance(self.max_categories, int | np.integer) and not isinstance(self.max_categories, bool)
        if not whole or self.max_categories < 1:
            raise ValueError(f"max_categories must be a whole number of at least 1; got {self.max_categories!r}.")
        if isinstance(self.na_values, str) or not all(isinstance(word, str) for word in self.na_values):
            raise ValueError(f"na_values must be a list of texts, such as ['n.a.', '-999']; got {self.na_values!r}.")

    def _unfitted(self) -> Any:
        return StackedNetsRegressor() if self.estimator is None else self.estimator

    def _inside(self) -> Any:
        return self.regressor_ if hasattr(self, "regressor_") else self._unfitted()

    # -- from rows to numbers ------------------------------------------------------------------------------------------

    def encode(self, X: Any, notes: Notes | None = None) -> pandas.DataFrame:
        """The numbers that ``regressor_`` takes. For large files: read blocks of ``block_rows``, encode each once, and call
        ``regressor_`` as often as needed.

        Parameters
        ----------
        X : table of shape (n_samples, ...)
        notes : Notes, optional
            Collects new categories and new gaps over several calls; without it they are warned of at once.

        Returns
        -------
        DataFrame of shape (n_samples, n_encoded), with the index of ``X``
        """
        frame = self._frame(X)
        own = Notes() if notes is None else notes
        encoded = encode(self.schema_, self.transformer_, frame, own, self.strict)
        if notes is None:
            own.warn()
        return encoded

    @property
    def block_rows(self) -> int:
        """How many rows are encoded and predicted at a time: fewer if there are many categories, to bound the memory."""
        check_is_fitted(self)
        return max(1, min(MOST_BLOCK_ROWS, BLOCK_VALUES // len(self.transformer_.get_feature_names_out())))

    def _frame(self, X: Any) -> pandas.DataFrame:
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        names = array_names(self.n_features_in_) if known is None else list(known)
        frame = as_frame(X, names)
        if known is None and has_names(X) and frame.shape[1] == len(names):
            warn_user(f"X has feature names, but {type(self).__name__} was fitted without feature names")
            return frame.set_axis(names, axis=1)
        if known is not None and not has_names(X):
            warn_user(f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names")
        return frame

    def _each_block(
        self, X: Any, use: Callable[[pandas.DataFrame, dict[str, Any]], T], beside: Mapping[str, Any] | None = None
    ) -> list[T]:
        """What a function makes of each encoded block of rows, and of these rows' part of what is ``beside``."""
        frame, notes = self._frame(X), Notes()
        if not len(frame):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: the table has no rows.")
        found, begin = [], 0
        for block in blocks_of(frame, self.block_rows):
            encoded = encode(self.schema_, self.transformer_, block, notes, self.strict)
            own = {name: np.asarray(each)[begin : begin + len(block)] for name, each in (beside or {}).items()}
            begin += len(block)
            with naming_rows(encoded):
                note_outside(self.schema_, self.regressor_, encoded, notes)
                found.append(use(encoded, own))
        notes.warn()
        return found

    def beside(self, X: Any, groups: Any = None, weights: Any = None) -> dict[str, Any]:
        """Groups and weights of rows, as far as ``regressor_`` needs them: what users give, else the columns that `conformalize` was
        told of.

        Parameters
        ----------
        X : table of shape (n_samples, ...)
        groups, weights : names of columns, or columns of shape (n_samples,), optional

        Returns
        -------
        dict with the keys of those that are needed
        """
        needed = getattr(self.regressor_, "needs_beside_", ())
        columns = {name: column for name, column in self.beside_columns_.items() if name in needed}
        given = {"groups": groups, "weights": weights}
        return columns_beside(
            self._frame(X), columns | {name: each for name, each in given.items() if each is not None}, self.na_values
        )

    def _remember_beside(self, X: Any, groups: Any, weights: Any) -> dict[str, Any]:
        given = {"groups": groups, "weights": weights}
        self.beside_columns_ = {name: each for name, each in given.items() if isinstance(each, str)}
        return (
            columns_beside(self._frame(X), given, self.na_values)
            if any(each is not None for each in given.values())
            else {}
        )

    @property
    def loss_curve_(self) -> Any:
        """The regressor's own, if it has one."""
        return self.regressor_.loss_curve_

    @property
    def degrees_of_freedom_(self) -> Any:
        """The regressor's own, if it has any."""
        return self.regressor_.degrees_of_freedom_

    @property
    def distribution_(self) -> Any:
        """The regressor's own, if it has one."""
        return self.regressor_.distribution_

    @property
    def settings_(self) -> Any:
        """The regressor's own, if it has any."""
        return self.regressor_.settings_

    @property
    def held_out_scores_(self) -> Any:
        """The regressor's own, if it has any."""
        return self.regressor_.held_out_scores_

    # -- model files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, about: dict[str, Any] | None = None) -> None:
        """Write the fitted regressor to a model file, which :func:`extranets.model_file.load` reads: no code, all bits.

        Parameters
        ----------
        path : str or path
            By custom ``*.xnet``. A file that is there is replaced.
        about : dict, optional
            What else is worth keeping, as JSON has it. :func:`extranets.model_file.read_info` gives it back.
        """
        check_is_fitted(self)
        if not isinstance(self.regressor_, NetsRegressor):
            raise TypeError(
                f"A model file cannot hold a {type(self.regressor_).__name__}, only the regressors of extranets, such as "
                "StackedNetsRegressor."
            )
        model_file.save(self, path, about=about)

    def _to_stored(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        parameters = self.get_params(deep=False)
        return {
            "parameters": {
                **parameters,
                "kinds": None if self.kinds is None else dict(self.kinds),
                "na_values": self.na_values if isinstance(self.na_values, list | tuple) else sorted(self.na_values),
            },
            "feature_names": None if names is None else list(names),
            "n_features": self.n_features_in_,
            "schema": self.schema_.to_dict(),
            "levels": self.levels_,
            "beside": self.beside_columns_,
            "fit_info": getattr(self.regressor_, "fit_info_", None),  # for those who read the file without loading it
            "regressor": self.regressor_,
        }

    @classmethod
    def _from_stored(cls, stored: dict[str, Any]) -> Self:
        check_types(stored, STORED_TYPES, optional=NEW)
        check_types(stored["parameters"], PARAMETER_TYPES, optional=PARAMETER_TYPES)  # new ones take their defaults
        model = cls(**stored["parameters"])
        model.check_parameters()
        model.schema_ = Schema.from_dict(stored["schema"])
        model.levels_ = stored.get("levels", {})
        model.beside_columns_ = stored.get("beside", {})
        model_file.require(
            model.beside_columns_.keys() <= {"groups", "weights"}, "columns beside the table that mean nothing"
        )
        known = {column.name for column in model.schema_.learned}
        model_file.require(model.levels_.keys() == known, "the effects are those of other columns")
        model.transformer_ = column_transformer(model.schema_, model.levels_)
        model.regressor_, model.n_features_in_ = stored["regressor"], stored["n_features"]
        encoded = list(model.transformer_.get_feature_names_out())
        taken = list(getattr(model.regressor_, "feature_names_in_", encoded))
        same = taken == encoded and getattr(model.regressor_, "n_features_in_", None) == len(encoded)
        model_file.require(same, "the networks take another table")
        names = stored["feature_names"]
        if names is not None:
            model_file.require(len(names) == model.n_features_in_, "the columns' names do not fit their number")
            model.feature_names_in_ = np.array(names, dtype=object)
        given = array_names(model.n_features_in_) if names is None else names
        strange = {column.name for column in model.schema_.columns} - {*given}
        model_file.require(not strange, "the kinds are those of other columns")
        return model

    # -- scikit-learn --------------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "regressor_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inside = self._unfitted().__sklearn_tags__()
        tags.target_tags.multi_output = inside.target_tags.multi_output
        tags.regressor_tags.poor_score = inside.regressor_tags.poor_score
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
