"""``extranets info``: what is inside a model file."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from extranets.cli._arguments import check_input
from extranets.cli._options import Json, ModelFile
from extranets.cli._printing import figure, percent, print_json, show
from extranets.cli._stack import models_table


def info(model: ModelFile, json: Json = False) -> None:
    """Show what a model file holds: method, parameters, columns, and when and how it was trained.

    Examples:

      extranets info model.xnet

      extranets info model.xnet --json
    """
    from extranets.model_file import load, read_info

    check_input(model)
    found, loaded = read_info(model), load(model)  # read_info alone would not notice a damaged array
    if json:
        print_json(found)
        return
    network = getattr(loaded, "regressor_", loaded)
    show(_summary(model, found, network))
    models = models_table(getattr(network, "settings_", None))
    if models is not None:
        show(models)
    schema = getattr(loaded, "schema_", None)
    if schema is not None:
        show(_columns(schema))


def _summary(path: str, found: dict[str, Any], network: Any) -> Table:
    from extranets._sklearn import changed_parameters

    table = Table("", "", title=path, show_header=False)
    fit, provenance, about = network.fit_info_, found["provenance"], found["about"]
    table.add_row(
        "model", found["class"] + (f" of {type(network).__name__}" if found["class"] == "TableRegressor" else "")
    )
    table.add_row(
        "trained",
        f"{fit['finished']}, on {fit['n_rows']:,} rows with {fit['n_features']} inputs, {fit['seconds']:.1f} s",
    )
    for name in ("file", "target", "id", "group", "time", "coverage", "preset", "effort"):
        if about.get(name) is not None:
            table.add_row(name, str(about[name]))
    if about.get("tuned_for") is not None:
        table.add_row("tuned for", f"{about['tuned_for']:g} s")
    if isinstance(about.get("conformal"), dict):
        table.add_row(
            "conformal", _listed({name: value for name, value in about["conformal"].items() if value is not None})
        )
    adaptive = network.model_.adaptive
    if adaptive is not None:
        table.add_row("updated", f"with {adaptive.n_rows:,} rows, which its intervals follow")
    scores = about.get("cross_validation")
    if isinstance(scores, dict):
        table.add_row("cross-validated", _judgement(scores))
    table.add_row("parameters", _listed(changed_parameters(network)) or "defaults")
    if getattr(network, "settings_", None):
        table.add_row("settings", _listed({k: v for k, v in network.settings_.items() if k != "models"}))
    arrays = found["arrays"].values()
    table.add_row("arrays", f"{len(arrays)}, {sum(array['bytes'] for array in arrays) / 1e6:.2f} MB")
    table.add_row("written by", ", ".join(f"{name} {value}" for name, value in provenance.items() if name != "saved"))
    table.add_row("saved", provenance["saved"])
    table.add_row("format version", str(found["format_version"]))
    return table


def _judgement(scores: dict[str, Any]) -> str:
    return (
        f"RMSE {figure(scores['rmse'])}, coverage {percent(scores['coverage'])}, mean width {figure(scores['mean_width'])}, "
        f"interval score {figure(scores['interval_score'])} on {scores['n_rows']:,} held-out rows"
    )


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in sorted(values.items()))


def _columns(schema: Any) -> Table:
    table = Table("column", "kind", "values in training")
    for column in schema.columns:
        table.add_row(column.name, column.kind, column.described())
    for name, reason in schema.dropped.items():
        table.add_row(name, "not used", reason)
    return table
