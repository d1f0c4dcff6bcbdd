"""``extranets study``: the paper's studies as resumable runs, and their comparison with the printed tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from extranets.cli._arguments import check_output
from extranets.cli._printing import say
from extranets.cli._study_runs import Format, Workers, check_files, draw_panels, run_study, show_rows

app = typer.Typer(
    no_args_is_help=True,
    help="Re-run the paper's studies. A command that was stopped goes on where it stopped, when you give it again.",
)

Noise = Literal["test", "holdout", "cv", "train"]
Triangle = Literal["upper", "lower", "mean"]

Out = Annotated[
    Path, typer.Option("--out", help="Folder for the run; made if it does not exist. A run that is there is continued.")
]
Jobs = Annotated[int, typer.Option(help="Number of processes; -1 for one on every core.")]
Backend = Annotated[
    Literal["dask", "ray", "loky"] | None,
    typer.Option(help="Let the workers of a cluster do the work: dask, ray, or loky for processes of this machine."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Where the cluster is, such as tcp://10.0.0.1:8786 for dask."),
]
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
    "train_rmse",
    "rmse",
    "coverage",
    "coverage_plain",
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
    backend: Backend = None,
    scheduler: Scheduler = None,
    format: Shape = "table",
    file: File = None,
) -> None:
    """Re-run Table 1: extra-nets, MC dropout and bootstrap on the two simulated processes.

    Examples:

      extranets study simulation --out runs/simulation

      extranets study simulation --out runs/simulation --backend dask --scheduler tcp://10.0.0.1:8786
    """
    from extranets.studies.simulation import SimulationStudy

    study = SimulationStudy(replications, noise, correlation, starts, seed)
    run_study(study, out, Workers(jobs, backend, scheduler), format, file, SIMULATION_COLUMNS)


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
    backend: Backend = None,
    scheduler: Scheduler = None,
    format: Shape = "table",
    file: File = None,
) -> None:
    """Re-run Table 2 and its figure: are the learners independent?

    Example: extranets study correlation --out runs/correlation --figure correlation.png
    """
    from extranets.studies.correlation import CorrelationStudy

    study = CorrelationStudy(B=resamples, T=learners, fresh=fresh, seed=seed)
    records = run_study(study, out, Workers(jobs, backend, scheduler), format, file, None, figure)
    if figure is not None:
        from extranets.plots import LearnersDisplay

        shown = LearnersDisplay.of(study.summarise(records))
        draw_panels(shown, shown.panels, figure, size=(9, 3), rows=len(shown.panels))


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
    backend: Backend = None,
    scheduler: Scheduler = None,
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
    run_study(study, out, Workers(jobs, backend, scheduler), format, file, UCI_COLUMNS)


@app.command()
def hypotheses(
    out: Out,
    replications: Annotated[
        int, typer.Option(min=1, help="Simulated data sets of each process for each hypothesis.")
    ] = 40,
    seed: Seed = 0,
    jobs: Jobs = -1,
    backend: Backend = None,
    scheduler: Scheduler = None,
    format: Shape = "table",
    file: File = None,
) -> None:
    """Ask what could explain the paper's point errors: Table 1 with one thing changed at a time.

    Example: extranets study hypotheses --out runs/hypotheses
    """
    from extranets.studies.hypotheses import HypothesesStudy

    run_study(
        HypothesesStudy(replications, seed), out, Workers(jobs, backend, scheduler), format, file, HYPOTHESES_COLUMNS
    )


@app.command()
def decorrelation(
    out: Out,
    replications: Annotated[
        int, typer.Option(min=1, help="Data sets of each process, and splits of each UCI set.")
    ] = 10,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the data sets. Default: EXTRANETS_DATA.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw what more networks gain, too, into this file.")] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    backend: Backend = None,
    scheduler: Scheduler = None,
    format: Shape = "table",
    file: File = None,
) -> None:
    """Ask if masks make members less alike and their mean better, beside what else makes members differ.

    Example: extranets study decorrelation --out runs/decorrelation --data-dir data/uci
    """
    from extranets.studies.decorrelation import SETS, DecorrelationStudy

    study = DecorrelationStudy(replications, seed=seed, data_dir=data_dir)
    missing = [name for name in SETS if name not in study.datasets]
    if missing:
        say(f"Without {', '.join(missing)}: no data. Give --data-dir or set EXTRANETS_DATA to a folder that has them.")
    records = run_study(study, out, Workers(jobs, backend, scheduler), format, file, None, figure)
    if figure is not None:
        from extranets.plots import GrowthDisplay

        GrowthDisplay.of(study.summarise(records)).picture().savefig(figure)


@app.command()
def figures(
    out: Annotated[Path, typer.Option("--out", help="Folder for the pictures; it must exist.")] = Path(),
    format: Annotated[Literal["png", "svg", "pdf"], typer.Option("--format", help="Format of the pictures.")] = "png",
) -> None:
    """Draw the paper's figures that need no run: the variance of the masks against p, and the two processes.

    Example: extranets study figures --out docs/images
    """
    from extranets.plots import PaperDisplay

    display = PaperDisplay.of()
    for name, panels in {"masks": display.panels[:1], "processes": display.panels[1:]}.items():
        path = out / f"{name}.{format}"
        check_output(path, option="--out")
        draw_panels(display, panels, path, size=(4.5, 3))
        say(str(path))


@app.command()
def compare(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")], format: Shape = "table", file: File = None
) -> None:
    """Show a run's figures beside those that the paper prints.

    Example: extranets study compare runs/uci --format markdown
    """
    from extranets.studies import registry, runs
    from extranets.studies.compare import COLUMNS, PRINTED
    from extranets.studies.compare import compare as beside

    found = runs.load(run)
    if found.name not in PRINTED:
        raise ValueError(
            f"The paper has no table of the study {found.name!r}, which asks what the paper leaves open. Its own table is printed "
            f"by extranets study {found.name} --out {run}, and shown by extranets report {run}."
        )
    check_files(format, file)
    show_rows(beside(found.study(registry()), found.records), COLUMNS, format, file)
    if not found.done:
        say(f"{len(found.results)} of {len(found.units)} units are done; the figures are of those.")


def _require(datasets: tuple[str, ...], data_dir: Path | None) -> None:
    from extranets.data.uci import available

    missing = [name for name in datasets if name not in available(data_dir)]
    if missing:
        raise ValueError(
            f"No data for {', '.join(missing)}. Give --data-dir, set EXTRANETS_DATA to a folder that has them, or add --download."
        )
