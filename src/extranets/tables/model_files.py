"""Model files of tables: the model, and what was noted about the table when it was fitted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from extranets import model_file
from extranets._arrays import Array
from extranets.evaluation import LEVELS, Predictions, drawn_rows, predict_with_targets
from extranets.model_file import ModelFileError
from extranets.stacking import summary
from extranets.tables.labelled import Labelled
from extranets.tables.regressor import TableRegressor
from extranets.tables.values import STYLES

COVERAGE = 0.9  # of intervals, where the file names no other


@dataclass(frozen=True)
class TableModel:
    """A table's model with what was noted when it was fitted; None for what was not noted."""

    model: TableRegressor
    target: str | None = None
    target_style: str | None = None  # how the target was written, if it was text
    id: str | None = None  # the column that names rows
    group: str | None = None  # the column that names groups
    time: str | None = None  # the column that rows are in the order of
    coverage: float = COVERAGE

    def style_of(self, target: str) -> str | None:
        """How a column is written that is judged as the target, as far as the file tells."""
        return self.target_style if target == self.target else None

    def judge(
        self,
        table: Labelled,
        *,
        levels: Sequence[float] | Array = LEVELS,
        members: bool = False,
        max_rows: int | None = None,
    ) -> Predictions:
        """Predict rows whose targets are known; the model's own coverage is always among the levels.

        Parameters
        ----------
        table : read with the texts that stand for missing values in the model, and in :meth:`style_of` its target
        levels : coverages of the intervals
        members : whether to keep the predictions of the single networks
        max_rows : so many rows of a larger table, drawn at random
        """
        n_rows = len(table)
        table = table.part(drawn_rows(n_rows, max_rows or n_rows, seed=0))
        X, y = table.X, table.y
        network = self.model.regressor_
        about = {
            "table": table.file,
            "rows": f"{len(y):,} of {n_rows:,}, drawn at random" if len(y) < n_rows else f"{n_rows:,}",
            "method": type(network).__name__,
            "trained": f"{network.fit_info_['finished'][:10]}, on {network.fit_info_['n_rows']:,} rows",
            "stack": _stack(network),
        }
        return predict_with_targets(
            self.model,
            X,
            y,
            groups=table.groups,
            time=table.time,
            levels=[*levels, self.coverage],
            members=members,
            target=table.target,
            features=self.model.schema_.read(X),
            about=about,
        )


def _stack(network: Any) -> list[str] | None:
    settings = getattr(network, "settings_", None) or {}
    return summary(settings["models"]) if "models" in settings else None


def load_table_model(path: str | os.PathLike[str]) -> TableModel:
    """Load the model of a table with one target. What was noted is read with suspicion: nobody vouches for a file.

    Raises
    ------
    ModelFileError
        If the file is damaged, or holds something else.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from extranets import ExtraNetsRegressor
    >>> from extranets.data import simulated_rents
    >>> flats = simulated_rents(100, random_state=0)
    >>> model = TableRegressor(ExtraNetsRegressor(3, max_iter=20, random_state=0), kinds={"flat": "ignore"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rents.xnet")
    ...     model.fit(flats.drop(columns="rent"), flats["rent"]).save(path, about={"target": "rent", "coverage": 0.8})
    ...     found = load_table_model(path)
    >>> found.target, found.coverage, found.id
    ('rent', 0.8, None)
    """
    about = model_file.read_info(path).get("about") or {}
    model = model_file.load(path)
    if not isinstance(model, TableRegressor):
        raise ModelFileError(
            f"{path} holds a {type(model).__name__}, which takes arrays, not tables. Fit with `extranets fit`, or wrap the "
            "estimator in extranets.tables.TableRegressor and save that."
        )
    if not model.regressor_.target_is_vector_:
        raise ModelFileError(f"{path} predicts several targets at once; a model of one target is needed here.")
    names = {name: about[name] for name in ("target", "id", "group", "time") if isinstance(about.get(name), str)}
    style, coverage = about.get("target_style"), about.get("coverage")
    return TableModel(
        model,
        **names,
        target_style=style if style in STYLES else None,
        coverage=coverage if isinstance(coverage, float) and 0 < coverage < 1 else COVERAGE,
    )
