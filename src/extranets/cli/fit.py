"""``extranets fit``: from a table to a model file."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from extranets._json import plain
from extranets.cli._reading import Labelled, read_labelled
from extranets.cli._shared import (
    Delimiter,
    DropMissing,
    Encoding,
    Features,
    Id,
    Jobs,
    Json,
    Kinds,
    Missing,
    Quiet,
    Seed,
    TableFile,
    Target,
    check_coverage,
    check_folds,
    check_output,
    count,
    figure,
    hint,
    kinds,
    percent,
    print_json,
    say,
    settings,
    show,
    take_target_style,
)

MOST_COLUMNS = 60  # that the summary shows


def fit(
    table: TableFile,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path("model.xnet"),
    features: Features = None,
    method: Annotated[str, typer.Option(help="extra-nets, bootstrap, mc-dropout, deep-ensemble, ...")] = "extra-nets",
    coverage: Annotated[float, typer.Option(help="Coverage of the intervals, between 0 and 1.")] = 0.9,
    preset: Annotated[
        str | None, typer.Option(help="Settings of extra-nets by name: fast, accurate or paper; --set overrides.")
    ] = None,
    set: Annotated[list[str] | None, typer.Option(help="NAME=VALUE of the method's parameters; repeatable.")] = None,
    tune: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Search for settings of extra-nets for so long, the fit included (the cross-validation after it is not; --folds 0 "
            "leaves that out). What --set and --preset give stays.",
        ),
    ] = None,
    id: Id = None,
    kind: Kinds = None,
    na: Missing = None,
    drop_missing_target: DropMissing = False,
    strict: Annotated[bool, typer.Option(help="New categories and new gaps stop a prediction, not just warn.")] = False,
    folds: Annotated[int, typer.Option(min=0, help="Folds of the cross-validation; 0 leaves it out.")] = 5,
    seed: Seed = 0,
    jobs: Jobs = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train networks on a table and write them to a file.

    Prints what the columns were taken for and the cross-validated error, coverage and width. Large tables are not held out
    wholly: 10,000 held-out rows are enough.

    Examples:

      extranets fit train.csv --target price -o model.xnet

      extranets fit train.parquet -t price --id house --method bootstrap --set n_estimators=200

      extranets fit train.csv -t price --tune 120 --set n_estimators=32

      extranets fit train.csv -t price --preset fast

      cat train.csv | extranets fit - -t price --features area,rooms,city
    """
    from sklearn.base import clone

    from extranets.tables import Schema, TableRegressor

    begin = time.perf_counter()
    (level,) = check_coverage([coverage])
    check_output(output, table)
    if folds == 1:
        raise typer.BadParameter("--folds must be at least 2, or 0 for no cross-validation.")
    network, given = _network(method, preset, set, seed, jobs, quiet)
    _check_tune(tune, method)
    missing = tuple(na or ())
    column_kinds = kinds(kind)
    training = read_labelled(
        table,
        target,
        delimiter=delimiter,
        encoding=encoding,
        drop_missing=drop_missing_target,
        na=missing,
        style=take_target_style(column_kinds, target),
    ).select(features, id)
    check_folds(folds, len(training.y))
    schema = Schema.learn(training.X, column_kinds, na_values=missing)
    if not json:
        show(_data_table(schema, training, target))
    model = TableRegressor(network, kinds=column_kinds, na_values=missing, strict=strict)
    if tune is not None:
        _tune(model, training, tune, given, quiet)
    # Every fold takes the columns for what all rows show them to be; what else there is to learn, it learns from its own rows.
    judge = clone(model).set_params(kinds=schema.kinds(), strict=False)
    judged = _cross_validate(judge, training, level, folds, seed, quiet) if folds else None
    if tune is None:
        if not quiet:
            say("All rows:")
        model.fit(training.X, training.y)
    _forget_this_machine(model)
    about = {
        "command": "fit",
        "file": training.file,
        "target": target,
        "target_style": training.style,
        "id": id,
        "method": method,
        "preset": preset,
        "tuned_for": tune,
        "coverage": level,
        "cross_validation": judged,
    }
    model.save(output, about=plain(about))
    seconds = time.perf_counter() - begin
    if json:
        columns = [{"name": column.name, "kind": column.kind} for column in model.schema_.columns]
        chosen = getattr(model, "settings_", None)
        print_json(
            {
                **about,
                "settings": chosen,
                "n_rows": len(training.y),
                "columns": columns,
                "seconds": seconds,
                "model": str(output),
            }
        )
        return
    _print_judgement(judged, level)
    say(f"Model: {output} ({output.stat().st_size / 1e6:.2f} MB), {seconds:.1f} s in all.")


def _network(
    method: str, preset: str | None, set: list[str] | None, seed: int, jobs: int | None, quiet: bool
) -> tuple[Any, dict[str, Any]]:
    """The unfitted estimator, and those of its parameters that were asked for."""
    from extranets._progress import thread_count
    from extranets.estimators import METHODS

    if method not in METHODS:
        raise typer.BadParameter(f"--method: there is no {method}.{hint(method, list(METHODS))}")
    network = METHODS[method](random_state=seed, n_jobs=jobs, verbose=0 if quiet else 1)
    given = _preset(preset, method) | settings(set, network)
    network.set_params(**given)
    try:
        network._check_parameters()
        thread_count(jobs)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return network, given


def _preset(preset: str | None, method: str) -> dict[str, Any]:
    from extranets.estimators.extra_nets import PRESETS

    if preset is None:
        return {}
    if method != "extra-nets":
        raise typer.BadParameter(f"--preset is for --method extra-nets; {method} has none.")
    if preset not in PRESETS:
        raise typer.BadParameter(f"--preset: there is no {preset}.{hint(preset, sorted(PRESETS))}")
    return dict(PRESETS[preset])


def _check_tune(seconds: float | None, method: str) -> None:
    if seconds is None:
        return
    if method != "extra-nets":
        raise typer.BadParameter(f"--tune is for --method extra-nets; the settings of {method} are not searched for.")
    if not 0 < seconds < float("inf"):
        raise typer.BadParameter(f"--tune takes a positive number of seconds; got {seconds:g}.")


def _tune(model: Any, training: Labelled, seconds: float, given: dict[str, Any], quiet: bool) -> None:
    """Fit the table's model with settings that are searched for, and leave them in its ``estimator``."""
    from sklearn.base import clone

    from extranets.tuning import tune

    named = {name: getattr(model.estimator, name) for name in ("random_state", "n_jobs", "verbose")}
    fixed = {name: value for name, value in given.items() if name not in named}
    model.fit_with(training.X, lambda encoded: tune(encoded, training.y, seconds, **named, **fixed))
    # Folds show their progress as they do without a search.
    model.set_params(estimator=clone(model.regressor_).set_params(verbose=named["verbose"]))
    if quiet or not model.regressor_.tuning_:
        return
    best = model.regressor_.tuning_[0]
    found = ", ".join(f"{name}={value!r}" for name, value in best["parameters"].items())
    say(
        f"Tuned: {found}; interval score {best['score']:.3f} of the default's."
        if found
        else "Tuned: the default is best."
    )


def _cross_validate(model: Any, training: Labelled, level: float, folds: int, seed: int, quiet: bool) -> dict[str, Any]:
    from extranets.evaluation import cross_validate
    from extranets.tables import TableWarning

    def begin_fold(number: int, n_folds: int) -> None:
        if not quiet:
            say(f"Fold {number} of {n_folds}:")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)  # that a fold has no row of some category is no news
        found = cross_validate(
            model, training.X, training.y, coverage=level, n_folds=folds, seed=seed, begin_fold=begin_fold
        )
    scores, spread = found.scores(), float(found.y.var())
    r2 = 1 - scores["rmse"] ** 2 / spread if spread > 0 else float("nan")
    return {"n_folds": found.n_folds, "n_judged": found.n_judged, "n_rows": len(found.y), **scores, "r2": r2}


def _forget_this_machine(model: Any) -> None:
    """Threads and progress are this run's choice, not the model's."""
    for network in (model.estimator, model.regressor_):
        network.set_params(n_jobs=None, verbose=0)


def _data_table(schema: Any, training: Labelled, target: str) -> Table:
    table = Table("column", "taken for", "missing", "values", title=f"{training.file}: {count(len(training.y))}")
    missing_in = schema.read(training.X).isna().sum()
    for column in schema.columns[:MOST_COLUMNS]:
        missing = int(missing_in[column.name])
        table.add_row(column.name, column.kind, f"{missing:,}" if missing else "", column.described())
    if len(schema.columns) > MOST_COLUMNS:
        table.add_row("...", "", "", f"{len(schema.columns) - MOST_COLUMNS} more columns")
    for name, reason in list(schema.dropped.items())[:MOST_COLUMNS]:
        table.add_row(name, "not used", "", reason)
    table.add_section()
    y = training.y
    table.add_row(target, "target", "", f"{figure(y.min())} to {figure(y.max())}, mean {figure(y.mean())}")
    return table


def _print_judgement(judged: dict[str, Any] | None, level: float) -> None:
    if judged is None:
        return
    title = (
        f"Cross-validated: {count(judged['n_rows'], 'held-out row')}, {judged['n_judged']} of {judged['n_folds']} folds"
    )
    table = Table("score", "value", title=title)
    table.columns[1].justify = "right"
    limits = f"({percent(judged['coverage_low'])} to {percent(judged['coverage_high'])})"
    table.add_row("RMSE", figure(judged["rmse"]))
    table.add_row("R²", figure(judged["r2"]))
    table.add_row(f"coverage at {percent(level)}", f"{percent(judged['coverage'])} {limits}")
    table.add_row("mean width", figure(judged["mean_width"]))
    table.add_row("interval score", figure(judged["interval_score"]))
    show(table)
