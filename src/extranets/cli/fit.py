"""``extranets fit``: from a table to a model file."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from rich.table import Table

from extranets._json import plain
from extranets.cli._arguments import (
    check_coverage,
    check_folds,
    check_name,
    check_output,
    kinds,
    named_bounds,
    named_transform,
    settings,
)
from extranets.cli._large import Large, held_out_table
from extranets.cli._options import (
    Coverage,
    Delimiter,
    DropMissing,
    Encoding,
    Features,
    Group,
    Id,
    Jobs,
    Json,
    Kinds,
    MaxCategories,
    Missing,
    Quiet,
    Seed,
    TableFile,
    Target,
    Time,
)
from extranets.cli._printing import count, figure, percent, print_json, say, show
from extranets.cli._reading import Named, Reading, read_training
from extranets.cli._stack import models_table

if TYPE_CHECKING:
    from extranets.tables import Labelled, Listener, Schema, TableRegressor

MOST_COLUMNS = 60  # that the summary shows
HELD_OUT = {None: "", "groups": " of whole groups", "time": ", each later than the rows of its fit"}

Output = Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")]
Method = Annotated[
    str | None,
    typer.Option(
        help="stack, extra-nets, bootstrap, mc-dropout, deep-ensemble, mean-variance, delta, variational or pbp. "
        "Default: stack."
    ),
]
Effort = Annotated[
    str | None,
    typer.Option(
        help="How large the networks of stack may become: low, medium (the default) or high. low is the fastest."
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(help="Fit extra-nets, the method of the paper, with settings by name: fast, accurate or paper."),
]
Set = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the method's estimator. Repeatable.")
]
Tune = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Search for settings of stack. The seconds are for the search and the fit to all rows; the cross-validation "
        "comes on top (--folds 0 leaves it out). What --set and --effort give is not searched for.",
    ),
]
Bounds = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="LOW HIGH",
        help="What the target is never below and never above; none for no bound: --bounds 0 none. By default a target that is "
        "never negative in the table is never predicted to be (stack and extra-nets); --bounds none none allows it.",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Keep networks in this folder as they are trained. The same command goes on from there after a crash or a stop, and "
        "writes the same model.",
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="The most memory to take, such as 2GB: the table is then read block by block and may be larger. It may be a folder of "
        "files. There is no cross-validation, but scores on rows that networks left out.",
    ),
]
ScratchFolder = Annotated[
    Path | None,
    typer.Option(
        "--scratch",
        metavar="FOLDER",
        help="Where a fit with --max-memory keeps the rows meanwhile; about as large as the table.",
    ),
]
Transform = Annotated[
    str | None,
    typer.Option(
        "--target-transform",
        metavar="NAME",
        help="What the networks learn: log, sqrt or another power between 0 and 1 of a target that is never negative; none; or auto, "
        "which decides by held-out scores. Everything is printed in the target's own units. Default: auto for stack, else none.",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Let new categories and new gaps stop a prediction, instead of only warning.")
]
Folds = Annotated[int, typer.Option(min=0, help="Folds of the cross-validation; 0 leaves it out.")]


def fit(
    table: TableFile,
    target: Target,
    output: Output = Path("model.xnet"),
    features: Features = None,
    method: Method = None,
    coverage: Coverage = 0.9,
    effort: Effort = None,
    preset: Preset = None,
    set: Set = None,
    tune: Tune = None,
    bounds: Bounds = None,
    target_transform: Transform = None,
    id: Id = None,
    group: Group = None,
    time: Time = None,
    kind: Kinds = None,
    max_categories: MaxCategories = 30,
    na: Missing = None,
    drop_missing_target: DropMissing = False,
    strict: Strict = False,
    checkpoint: Checkpoint = None,
    max_memory: MaxMemory = None,
    scratch: ScratchFolder = None,
    folds: Folds = 5,
    seed: Seed = 0,
    jobs: Jobs = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train networks on a table and write them to a model file.

    Prints what the columns were taken for, which networks were chosen, and the cross-validated error, coverage and width. Of a
    large table, only as many folds are held out as make 10,000 rows.

    Examples:

      extranets fit train.csv --target price -o model.xnet

      extranets fit train.parquet -t price --id house --method bootstrap --set n_estimators=200

      extranets fit train.csv -t price --effort low --folds 0

      extranets fit train.csv -t price --tune 120

      extranets fit train.csv -t price --preset paper

      extranets fit train.csv -t price --kind zip=category --max-categories 200

      extranets fit train.csv -t price --time sold

      extranets fit train.csv -t share --bounds 0 100

      extranets fit large.parquet -t price --checkpoint fit-of-large

      extranets fit folder-of-parquet -t price --max-memory 2GB

      cat train.csv | extranets fit - -t price --features area,rooms,city
    """
    from extranets.engine import keeping
    from extranets.tables import TableRegressor, fit_table, forget_this_run

    begin = perf_counter()
    (level,) = check_coverage([coverage])
    check_output(output, table)
    method = method or ("stack" if preset is None else "extra-nets")
    _check_search(folds, tune, method)
    _check_checkpoint(checkpoint, tune, method)
    named = _named_settings(method, effort, preset) | named_bounds(bounds) | named_transform(target_transform)
    network, given = _network(method, named, set, seed, jobs, quiet)
    column_kinds, style = kinds(kind, target)
    reading = Reading(delimiter, encoding, tuple(na or ()), drop_missing_target)
    model = TableRegressor(
        network, kinds=column_kinds, max_categories=max_categories, na_values=reading.na_values, strict=strict
    )
    asked = {
        "id": id,
        "group": group,
        "time": time,
        "method": method,
        "preset": preset,
        "effort": effort,
        "tuned_for": tune,
        "coverage": level,
    }
    large = Large(table, max_memory, scratch)
    if large.asked_for:
        large.check(tune=tune, checkpoint=checkpoint, group=group, time=time)
        noted = large.fit(model, target, features, id, style, reading)
        forget_this_run(model)
        about = _save(model, output, noted | asked)
        if not json:
            show(_columns_table(model.schema_, noted["file"], model.regressor_.fit_info_["n_rows"]))
        _tell(model, output, about, model.regressor_.fit_info_["n_rows"], perf_counter() - begin, json)
        return
    training = read_training(table, target, features, Named(id, group, time), column_kinds, style, reading)
    check_folds(folds, len(training))
    told = _listener(training, columns=not json, progress=not quiet, final_fits=int(tune is None))
    judged: dict[str, Any] = {"coverage": level, "n_folds": folds, "seed": seed}
    with keeping(checkpoint):
        held_out = fit_table(
            model, training.X, training.y, budget=tune, fixed=given, listener=told, **judged, **training.order
        )
    noted = {"file": training.file, "target": training.target, "target_style": training.style}
    noted["cross_validation"] = None if held_out is None else held_out.as_dict()
    about = _save(model, output, noted | asked)
    _tell(model, output, about, len(training), perf_counter() - begin, json)


def _check_search(folds: int, tune: float | None, method: str) -> None:
    if folds == 1:
        raise typer.BadParameter("--folds must be at least 2, or 0 for no cross-validation.")
    if tune is None:
        return
    if method != "stack":
        raise typer.BadParameter(f"--tune is for --method stack; the settings of {method} are not searched for.")
    if not 0 < tune < float("inf"):
        raise typer.BadParameter(f"--tune takes a positive number of seconds; got {tune:g}.")


def _check_checkpoint(checkpoint: Path | None, tune: float | None, method: str) -> None:
    from extranets.estimators import METHODS

    if checkpoint is None:
        return
    if tune is not None:
        raise typer.BadParameter(
            "--checkpoint and --tune do not go together: what a search tries depends on the clock."
        )
    if method in METHODS and not METHODS[method].keeps_networks:
        raise typer.BadParameter(
            f"{method} trains a single network, of which no part could be kept; leave --checkpoint out."
        )
    if checkpoint.exists() and not checkpoint.is_dir():
        raise typer.BadParameter(f"--checkpoint takes a folder; {checkpoint} is a file.")


def _network(
    method: str, named: dict[str, Any], set: list[str] | None, seed: int, jobs: int | None, quiet: bool
) -> tuple[Any, dict[str, Any]]:
    """The unfitted estimator, and those of its parameters that were asked for."""
    from extranets._progress import thread_count
    from extranets.estimators import METHODS

    check_name("--method", method, list(METHODS))
    network = METHODS[method](random_state=seed, n_jobs=jobs, verbose=0 if quiet else 1)
    given = named | settings(set, network)
    network.set_params(**given)
    try:
        network.check_parameters()
        thread_count(jobs)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return network, given


def _named_settings(method: str, effort: str | None, preset: str | None) -> dict[str, Any]:
    """What --effort or --preset stands for."""
    from extranets.estimators.extra_nets import PRESETS
    from extranets.stacking import Effort as EffortName

    for option, name, owner in (("--effort", effort, "stack"), ("--preset", preset, "extra-nets")):
        if name is not None and method != owner:
            raise typer.BadParameter(f"{option} is for --method {owner}; {method} has none.")
    if preset is not None:
        check_name("--preset", preset, sorted(PRESETS))
        return dict(PRESETS[preset])
    if effort is not None:
        check_name("--effort", effort, get_args(EffortName))
        return {"effort": effort}
    return {}


def _save(model: TableRegressor, output: Path, noted: dict[str, Any]) -> dict[str, Any]:
    """Write the model, and return what was noted in its file."""
    about = {"command": "fit", **noted}
    model.save(output, about=plain(about))
    return about


# -- what is printed -----------------------------------------------------------------------------------------------------


def _listener(training: Labelled, columns: bool, progress: bool, final_fits: int) -> Listener:
    """Prints the columns, and the steps with the time that they leave; ``final_fits`` follow the cross-validation."""
    from extranets._progress import in_words
    from extranets.tables import Listener

    class Told(Listener):
        begin = 0.0  # of the first fold

        def learned(self, schema: Schema) -> None:
            if columns:
                show(_data_table(schema, training))

        def tuned(self, model: TableRegressor) -> None:
            if progress and model.regressor_.tuning_:
                say(_tuned(model.regressor_.tuning_[0]))

        def begins_fold(self, number: int, n_folds: int) -> None:
            to_come = n_folds - number + 1 + final_fits
            if number == 1:
                self.begin, left = perf_counter(), f"{to_come} fits in all"
            else:
                left = f"about {in_words((perf_counter() - self.begin) / (number - 1) * to_come)} left"
            if progress:
                say(f"Fold {number} of {n_folds}, {left}:")

        def begins_fit(self) -> None:
            if progress:
                say("All rows:")

    return Told()


def _tuned(best: dict[str, Any]) -> str:
    found = ", ".join(f"{name}={value!r}" for name, value in best["parameters"].items())
    if not found:
        return "Tuned: the default settings are the best."
    return f"Tuned: {found}; its held-out RMSE is {best['score']:.3f} times that of the default settings."


def _data_table(schema: Schema, training: Labelled) -> Table:
    table = _columns_table(schema, training.file, len(training))
    table.add_section()
    y = training.y
    table.add_row(training.target, "target", "", f"{figure(y.min())} to {figure(y.max())}, mean {figure(y.mean())}")
    return table


def _columns_table(schema: Schema, file: str, n_rows: int) -> Table:
    table = Table("column", "taken for", "missing", "values", title=f"{file}: {count(n_rows)}")
    for column in schema.columns[:MOST_COLUMNS]:
        missing = f"{column.n_missing:,}" if column.missing else ""
        table.add_row(column.name, column.kind, missing, column.described())
    if len(schema.columns) > MOST_COLUMNS:
        table.add_row("...", "", "", f"{len(schema.columns) - MOST_COLUMNS} more columns")
    for name, reason in list(schema.dropped.items())[:MOST_COLUMNS]:
        table.add_row(name, "not used", "", reason)
    return table


def _tell(model: TableRegressor, output: Path, about: dict[str, Any], n_rows: int, seconds: float, json: bool) -> None:
    if json:
        columns = [{"name": column.name, "kind": column.kind} for column in model.schema_.columns]
        chosen = getattr(model, "settings_", None)
        counts = {"settings": chosen, "n_rows": n_rows, "columns": columns, "seconds": seconds}
        print_json({**about, **counts, "model": str(output)})
        return
    models = models_table(getattr(model, "settings_", None))
    if models is not None:
        show(models)
    if about["cross_validation"] is not None:
        show(_judgement(about["cross_validation"], about["coverage"]))
    if about.get("held_out") is not None:
        show(held_out_table(about["held_out"]))
    say(f"Model: {output} ({output.stat().st_size / 1e6:.2f} MB), {seconds:.1f} s in all.")


def _judgement(judged: dict[str, Any], level: float) -> Table:
    rows = count(judged["n_rows"], "held-out row")
    how = HELD_OUT[judged["parting"]]
    title = f"Cross-validated: {rows}, {judged['n_judged']} of {judged['n_folds']} folds{how}"
    table = Table("score", "value", title=title)
    table.columns[1].justify = "right"
    limits = f"({percent(judged['coverage_low'])} to {percent(judged['coverage_high'])})"
    table.add_row("RMSE", figure(judged["rmse"]))
    table.add_row("R²", figure(judged["r2"]))
    table.add_row(f"coverage at {percent(level)}", f"{percent(judged['coverage'])} {limits}")
    table.add_row("mean width", figure(judged["mean_width"]))
    table.add_row("interval score", figure(judged["interval_score"]))
    return table
