"""From simulated data to prediction intervals: what `make demo` runs.

Fits extra-nets to the paper's nonlinear process, compares them with one plain network, and draws the intervals.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from extranets import ExtraNetsRegressor, build_info
from extranets.data import nonlinear_process

LEVELS = [0.90, 0.95, 0.99]


def summary(model: ExtraNetsRegressor, X: np.ndarray, y: np.ndarray) -> dict[str, list[float]]:
    """RMSE, and coverage and mean width of the intervals at every level."""
    bounds = model.predict_interval(X, LEVELS)
    inside = (bounds[:, 0] <= y[:, None]) & (y[:, None] <= bounds[:, 1])
    return {
        "rmse": [float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))],
        "coverage": inside.mean(axis=0).tolist(),
        "width": (bounds[:, 1] - bounds[:, 0]).mean(axis=0).tolist(),
    }


def print_table(console: Console, columns: dict[str, tuple[dict[str, list[float]], float]], noise_sd: float) -> None:
    table = Table("300 test rows", *columns, title=f"The paper's nonlinear process, noise sd {noise_sd}")
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("fit", *(f"{seconds:.1f} s" for _, seconds in columns.values()))
    table.add_row("RMSE", *(f"{figures['rmse'][0]:.2f}" for figures, _ in columns.values()))
    for k, level in enumerate(LEVELS):
        table.add_row(f"coverage at {level:.0%}", *(f"{figures['coverage'][k]:.1%}" for figures, _ in columns.values()))
    for k, level in enumerate(LEVELS):
        table.add_row(f"width at {level:.0%}", *(f"{figures['width'][k]:.2f}" for figures, _ in columns.values()))
    console.print(table)


def draw(path: Path, model: ExtraNetsRegressor, X: np.ndarray, y: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    mean = model.predict(X)
    lower, upper = model.predict_interval(X, 0.9).T
    order = np.argsort(mean)
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=[1, 1])
    fig.suptitle("Extra-nets on the paper's nonlinear process: 90 % prediction intervals on 300 test rows")
    left.errorbar(
        mean, y, xerr=[mean - lower, upper - mean], fmt="o", ms=2.5, lw=0.6, color="tab:blue", ecolor="lightsteelblue"
    )
    left.axline((mean.min(), mean.min()), slope=1, color="black", lw=0.8)
    left.set(xlabel="prediction and interval", ylabel="observed", title="Predicted and observed")
    rank = np.arange(len(y))
    outside = (y < lower) | (y > upper)
    right.fill_between(
        rank, (lower - mean)[order], (upper - mean)[order], color="lightsteelblue", label="90 % interval"
    )
    residual = (y - mean)[order]
    right.plot(rank, residual, ".", color="tab:blue", ms=4, label="inside")
    right.plot(
        rank[outside[order]],
        residual[outside[order]],
        ".",
        color="tab:red",
        ms=5,
        label=f"outside ({outside.mean():.1%})",
    )
    right.set(xlabel="test rows, by prediction", ylabel="observed - predicted", title="Errors and intervals")
    right.legend(fontsize=8)
    fig.tight_layout()
    fig.savefig(path, dpi=110)
    plt.close(fig)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo.png"), help="where the picture goes")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    console = Console()
    info = build_info()
    console.print(f"extranets, {info['variant']} kernels, {info['threads']} threads")
    data = nonlinear_process(1500, random_state=arguments.seed)
    X_train, y_train, X_test, y_test = data.split(1200)
    models = {
        "extra-nets, 70 networks": ExtraNetsRegressor(random_state=arguments.seed, verbose=1),
        "a single network": ExtraNetsRegressor(n_estimators=1, keep_prob=1.0, random_state=arguments.seed),
    }
    rows = {}
    for name, model in models.items():
        begin = time.perf_counter()
        model.fit(X_train, y_train)
        rows[name] = (summary(model, X_test, y_test), time.perf_counter() - begin)
    print_table(console, rows, data.noise_sd)
    draw(arguments.out, models["extra-nets, 70 networks"], X_test, y_test)
    console.print(f"Picture: {arguments.out.resolve()}")


if __name__ == "__main__":
    main()
