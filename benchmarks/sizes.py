"""How large and how often everything is measured: in full, and for a quick check that it runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.problem import Problem


@dataclass(frozen=True)
class Sizes:
    fit: Problem
    large: Problem
    encoded: Problem
    presets: tuple[Problem, ...]
    pbp: Problem
    pbp_reference: Problem
    dropout: Problem
    dropout_passes: int
    predict_rows: int
    predict_repeats: int
    repeats: int  # of short timings
    large_repeats: int
    peer_repeats: int | None  # None: as many as each peer asks for
    peak_seconds: float
    imports: int
    first_fits: int
    patience: float  # seconds per figure to spend on waiting for other processes
    targets: bool

    def target(self, value: float) -> float | None:
        """Targets are for the full sizes only."""
        return value if self.targets else None


FULL = Sizes(
    fit=Problem(),
    large=Problem(rows=463_715, inputs=90, units=100, members=4, epochs=12),
    encoded=Problem(rows=200_000, inputs=10, members=2, epochs=1),
    presets=(Problem(rows=1_000, inputs=10), Problem(rows=50_000, inputs=10)),
    pbp=Problem(rows=10_000, members=1),
    pbp_reference=Problem(rows=2_000, members=1, epochs=1),
    dropout=Problem(rows=1_000, members=1),
    dropout_passes=10_000,
    predict_rows=1_000_000,
    predict_repeats=5,
    repeats=7,
    large_repeats=3,
    peer_repeats=None,
    peak_seconds=0.3,
    imports=7,
    first_fits=3,
    patience=60.0,
    targets=True,
)

QUICK = Sizes(
    fit=Problem(rows=100, members=4, epochs=2),
    large=replace(FULL.large, rows=1_000, members=2, epochs=6),
    encoded=Problem(rows=2_000, inputs=10, members=2, epochs=1),
    presets=(Problem(rows=60, inputs=3),),
    pbp=Problem(rows=200, members=1, epochs=2),
    pbp_reference=Problem(rows=50, members=1, epochs=1),
    dropout=Problem(rows=50, members=1),
    dropout_passes=20,
    predict_rows=20_000,
    predict_repeats=1,
    repeats=1,
    large_repeats=1,
    peer_repeats=1,
    peak_seconds=0.01,
    imports=1,
    first_fits=1,
    patience=0.0,
    targets=False,
)
