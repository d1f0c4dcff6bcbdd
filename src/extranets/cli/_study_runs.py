"""What all commands of ``extranets study`` share: a run from the check of its files to its table and its picture."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import joblib
import typer
from rich.console import Console

from extranets._extras import require
from extranets.cli._arguments import check_output
from extranets.cli._printing import say

Format = Literal["table", "csv", "parquet", "markdown", "latex"]


@dataclass(frozen=True)
class Workers:
    """Who does the work: processes of this machine or, where a backend of joblib is named, its workers."""

    jobs: int
    backend: str | None
    scheduler: str | None

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Within it, the backend's workers are asked."""
        if self.scheduler is not None and self.backend not in ("dask", "ray"):
            raise typer.BadParameter("--scheduler is the address of a cluster: add --backend dask or --backend ray.")
        if self.backend is None:
            yield
            return
        connected = {"dask": self._dask, "ray": self._ray, "loky": nullcontext}[self.backend]
        with connected(), joblib.parallel_config(backend=self.backend, n_jobs=self.jobs):
            yield

    def _dask(self) -> AbstractContextManager[Any]:
        if self.scheduler is None:
            raise typer.BadParameter("--backend dask: give --scheduler ADDRESS, which `dask scheduler` prints.")
        require("--backend dask", "distributed", "distributed")
        from distributed import Client

        return Client(self.scheduler, timeout="30s")

    @contextmanager
    def _ray(self) -> Iterator[None]:
        require("--backend ray", "distributed", "ray")
        import ray
        from ray.util.joblib import register_ray

        ray.init(self.scheduler, log_to_driver=False)
        register_ray()
        try:
            yield
        finally:
            ray.shutdown()


def run_study(
    study: Any, out: Path, workers: Workers, format: Format, file: Path | None, columns: Any, figure: Path | None = None
) -> list[dict[str, Any]]:
    from extranets.studies import runs, summary
    from extranets.studies.tables import figures

    check_files(format, file, figure)  # before minutes of work
    try:
        with workers.asked():
            records = runs.run(study, out, jobs=workers.jobs)
    except runs.RunInterrupted as stop:
        say(f"\n{stop}\n  {shlex.join(['extranets', *sys.argv[1:]])}")
        raise typer.Exit(130) from None
    shown = columns if format in ("table", "markdown", "latex") else None  # the others keep every column
    show_rows(figures(summary(runs.load(out))), shown, format, file)
    return records


def check_files(format: Format, file: Path | None, figure: Path | None = None) -> None:
    """Refuse files that cannot be written, or not in their format."""
    if format == "parquet" and file is None:
        raise typer.BadParameter("parquet is written to a file; give --file PATH.")
    for option, path in (("--file", file), ("--figure", figure)):
        if path is not None:
            check_output(path, option=option)
    if figure is not None:
        from matplotlib.figure import Figure

        known = Figure().canvas.get_supported_filetypes()
        if figure.suffix.lstrip(".").lower() not in known:
            raise typer.BadParameter(
                f"--figure: the name must end in one of {', '.join(f'.{kind}' for kind in known)}."
            )


def draw_panels(display: Any, panels: tuple[str, ...], path: Path, size: tuple[float, float], rows: int = 1) -> None:
    """Panels into one picture, in so many rows; ``size`` is that of one of them, in inches."""
    from matplotlib.figure import Figure

    columns = len(panels) // rows
    drawing = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    for ax, panel in zip(drawing.subplots(rows, columns, squeeze=False).flat, panels, strict=True):
        display.plot(ax, panel=panel)
        ax.set_title(display.title(panel), loc="left", fontsize="medium")
    drawing.savefig(path)


def show_rows(rows: list[dict[str, Any]], columns: Any, format: Format, file: Path | None) -> None:
    from extranets.studies.tables import render

    if format == "parquet":
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
