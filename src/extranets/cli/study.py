"""``extranets study``: the paper's studies as resumable runs, and their comparison with the printed tables."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from extranets.cli._printing import say

app = typer.Typer(
    no_args_is_help=True,
    help="Re-run the paper's studies. A command that was stopped goes on where it stopped, when you give it again.",
)

Format = Literal["table", "csv", "parquet", "markdown", "latex"]
Noise = Literal["test", "holdout", "cv", "train"]
Triangle = Literal["upper", "lower", "mean"]

Out = Annotated[
    Path, typer.Option("--out", help="Folder for the run; made if it does not exist. A run that is there is continued.")
]
Jobs = Annotated[int, typer.Option(help="Number of processes; -1 for one on every core.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.")]
Shape = Annotated[Format, typer.Option("--format", help="How the results are printed.")]
File = Annotated[Path | None, typer.Option("--file", help="Write the results here instead of printing them.")]

SIMULATION_COLUMNS = (
    "process",
    "method",
    "p",
    "T",
    "mape",
    "mspe",
    "non_coverage_01",
    "non_coverage_05",
    "non_coverage_10",
    "n_dropped",
)
UCI_COLUMNS = (
    "dataset",
    "column",
    "n_splits",
    "rmse",
    "coverage",
    "width",
    "interval_score",
    "log_likelihood",
    "crps",
    "seconds",
)

HYPOTHESES_COLUMNS = (
    "hypothesis",
    "process",
    "method",
    "replications",
    "printed",
    "mspe",
    "smallest",
    "as_small",
    "n_networks",
    "explained",
    "tested",
)


@app.command()
def simulation(
    out: Out,
    replications: Annotated[int, typer.Option(min=1, help="Simulated data sets of each process.")] = 100,
    noise: Annotated[
        Noise, typer.Option(help="Rows that the residual variance comes from; the paper takes those of the test.")
    ] = "test",
    correlation: Annotated[
        Triangle, typer.Option(help="How to read the paper's correlation matrix, which is not symmetric.")
    ] = "upper",
    starts: Annotated[
        int, typer.Option(min=1, help="Starts of each network; the one with the least training loss is kept.")
    ] = 1,
    seed: Seed = 0,
    jobs: Jobs = -1,
    format: Shape = "table",
    file: File = None,
) -> None:
    """Re-run Table 1: extra-nets, MC dropout and bootstrap on the two simulated processes.

    Example: extranets study simulation --out runs/simulation
    """
    from extranets.studies.simulation import SimulationStudy

    study = SimulationStudy(replications, noise, correlation, starts, seed)
    _run(study, out, jobs, format, file, SIMULATION_COLUMNS)


@app.command()
def correlation(
    out: Out,
    resamples: Annotated[
        int, typer.Option("--resamples", "-B", min=2, help="Number of resamples of the test rows.")
    ] = 100,
    learners: Annotated[int, typer.Option("--learners", "-T", min=2, help="Number of networks.")] = 30,
    fresh: Annotated[
        int, typer.Option(min=2, help="Number of fresh training sets, from which the true quantities are found.")
    ] = 60,
    figure: Annotated[Path | None, typer.Option(help="Draw the paper's figure, too, into this file.")] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    format: Shape = "table",
    file: File = None,
) -> None:
    """Re-run Table 2 and its figure: are the learners independent?

    Example: extranets study correlation --out runs/correlation --figure correlation.png
    """
    from extranets.studies import correlation as module

    study = module.CorrelationStudy(B=resamples, T=learners, fresh=fresh, seed=seed)
    records = _run(study, out, jobs, format, file, None)
    if figure is not None:
        module.figure(records, figure)


@app.command()
def uci(
    out: Out,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Run this data set. Repeatable. Default: all that are there.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help='Run this column of the table. Repeatable; "all" for every method.')
    ] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, help="Run only the first so many splits of each data set.")
    ] = None,
    rate: Annotated[float, typer.Option(min=0, help="Learning rate of the paper's columns.")] = 0.01,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of the paper's columns.")] = 40,
    noise: Annotated[
        Literal["train", "cv"], typer.Option(help="Rows that the residual variance of the paper's columns comes from.")
    ] = "train",
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data sets. Default: EXTRANETS_DATA.")] = None,
    download: Annotated[bool, typer.Option(help="Fetch missing data sets into a cache first.")] = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
    format: Shape = "table",
    file: File = None,
) -> None:
    """Re-run Table 3: the UCI data sets on their fixed splits.

    Example: extranets study uci --out runs/uci --data-dir data/uci
    """
    from extranets.studies.uci import UciStudy

    if download:
        from extranets.data.download import download_missing

        download_missing(dataset or (), data_dir, begin=lambda name: say(f"Fetching {name}"))
    chosen: dict[str, Any] = {} if not column else {"columns": "all" if column == ["all"] else tuple(column)}
    settings: dict[str, Any] = {
        "splits": splits,
        "rate": rate,
        "epochs": epochs,
        "noise": noise,
        "seed": seed,
        "data_dir": data_dir,
    }
    study = UciStudy(datasets=tuple(dataset or ()), **settings, **chosen)
    _require(study.datasets, data_dir)
    _run(study, out, jobs, format, file, UCI_COLUMNS)


@app.command()
def hypotheses(
    out: Out,
    replications: Annotated[
        int, typer.Option(min=1, help="Simulated data sets of each process for each hypothesis.")
    ] = 40,
    seed: Seed = 0,
    jobs: Jobs = -1,
    format: Shape = "table",
    file: File = None,
) -> None:
    """Ask what could explain the paper's point errors: Table 1 with one thing changed at a time.

    Example: extranets study hypotheses --out runs/hypotheses
    """
    from extranets.studies.hypotheses import HypothesesStudy

    _run(HypothesesStudy(replications, seed), out, jobs, format, file, HYPOTHESES_COLUMNS)


@app.command()
def decorrelation(
    out: Out,
    replications: Annotated[
        int, typer.Option(min=1, help="Data sets of each process, and splits of each UCI set.")
    ] = 5,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data sets. Default: EXTRANETS_DATA.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw likeness against error, too, into this file.")] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    format: Shape = "table",
    file: File = None,
) -> None:
    """Ask if masks make members less alike and their mean better, beside what else makes members differ.

    Example: extranets study decorrelation --out runs/decorrelation --data-dir data/uci
    """
    from extranets.studies import decorrelation as module

    study = module.DecorrelationStudy(replications, seed=seed, data_dir=data_dir)
    records = _run(study, out, jobs, format, file, None)
    if figure is not None:
        module.figure(study.summarise(records), figure)


@app.command()
def figures(
    out: Annotated[Path, typer.Option("--out", help="Folder for the pictures; it must exist.")] = Path(),
    format: Annotated[Literal["png", "svg", "pdf"], typer.Option("--format", help="Format of the pictures.")] = "png",
) -> None:
    """Draw the paper's figures that need no run: the variance of the masks against p, and the two processes.

    Example: extranets study figures --out docs/images
    """
    from matplotlib.figure import Figure

    from extranets.plots import PaperDisplay

    display = PaperDisplay.of()
    for name, panels in {"masks": display.panels[:1], "processes": display.panels[1:]}.items():
        drawing = Figure(figsize=(4.5 * len(panels), 3), layout="constrained")
        for ax, panel in zip(drawing.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            display.plot(ax, panel=panel)
            ax.set_title(display.title(panel))
        path = out / f"{name}.{format}"
        drawing.savefig(path)
        say(str(path))


@app.command()
def compare(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")], format: Shape = "table", file: File = None
) -> None:
    """Show a run's figures beside those that the paper prints.

    Example: extranets study compare runs/uci --format markdown
    """
    from extranets.studies import registry, runs
    from extranets.studies.compare import COLUMNS
    from extranets.studies.compare import compare as beside

    found = runs.load(run)
    _show(beside(found.study(registry()), found.records), COLUMNS, format, file)
    if not found.done:
        say(f"{len(found.results)} of {len(found.units)} units are done; the figures are of those.")


def _require(datasets: tuple[str, ...], data_dir: Path | None) -> None:
    from extranets.data.uci import available

    missing = [name for name in datasets if name not in available(data_dir)]
    if missing:
        raise ValueError(
            f"No data for {', '.join(missing)}. Give --data-dir, set EXTRANETS_DATA to a folder that has them, or add --download."
        )


def _run(study: Any, out: Path, jobs: int, format: Format, file: Path | None, columns: Any) -> list[dict[str, Any]]:
    from extranets.studies import runs, summary
    from extranets.studies.tables import figures

    try:
        records = runs.run(study, out, jobs=jobs)
    except runs.RunInterrupted as stop:
        say(f"\n{stop}\n  {shlex.join(['extranets', *sys.argv[1:]])}")
        raise typer.Exit(130) from None
    shown = columns if format in ("table", "markdown", "latex") else None  # the others keep every column
    _show(figures(summary(runs.load(out))), shown, format, file)
    return records


def _show(rows: list[dict[str, Any]], columns: Any, format: Format, file: Path | None) -> None:
    from extranets.studies.tables import render

    if format == "parquet":
        if file is None:
            raise typer.BadParameter("parquet is written to a file; give --file PATH.")
        render(rows, columns, "parquet", file)
        return
    rendered = render(rows, columns, format)
    if file is not None:
        with file.open("w", encoding="utf-8") as stream:
            Console(file=stream, width=200).print(rendered) if format == "table" else print(rendered, file=stream)
    elif format == "table":
        console = Console()
        (console if console.is_terminal else Console(width=200)).print(rendered)
    else:
        print(rendered)
