"""``extranets demo``: the other commands, one after the other, on simulated data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from extranets.cli._options import Seed
from extranets.cli._printing import say
from extranets.cli.evaluate import evaluate
from extranets.cli.fit import fit
from extranets.cli.predict import predict
from extranets.cli.report import report

FILES = ("train.csv", "test.csv", "model.xnet", "predictions.csv", "report.html", "report.summary.json")


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder for the files; made if it does not exist.")] = Path("demo"),
    rows: Annotated[int, typer.Option(min=200, help="Rows to train on. As many others are predicted.")] = 1500,
    seed: Seed = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files of these names in the folder.")] = False,
) -> None:
    """Simulate the rents of flats, then fit, predict, evaluate and report, as you would with files of your own.

    Every command is shown before it runs.

    Examples:

      extranets demo

      extranets demo my-folder --rows 5000
    """
    from extranets.data import simulated_rents

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / name for name in FILES]
    there = [str(file) for file in files if file.exists()]
    if there and not force:
        raise typer.BadParameter(f"{', '.join(there)} would be overwritten: name another folder, or add --force.")
    train, test, model, predictions, page, _ = files
    rents = simulated_rents(2 * rows, random_state=seed)
    rents[:rows].to_csv(train, index=False)
    rents[rows:].to_csv(test, index=False)
    say(f"Simulated rents of flats: {train} and {test}, {rows:,} rows each.")
    _announce("fit", train, "--target", "rent", "--id", "flat", "--seed", seed, "-o", model)
    fit(str(train), "rent", model, id="flat", seed=seed)
    _announce("predict", model, test, "--coverage", "0.8", "--coverage", "0.95", "-o", predictions)
    predict(str(model), str(test), str(predictions), [0.8, 0.95])
    _announce("evaluate", model, test)
    evaluate(str(model), str(test))
    _announce("report", model, test, "-o", page)
    report(model, str(test), page)
    say(f"\nOpen {page.resolve()} in a browser.")


def _announce(*arguments: object) -> None:
    say(f"\n$ {shlex.join(['extranets', *map(str, arguments)])}")
