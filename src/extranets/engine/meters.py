"""The share of a call's work that is done, over several calls of the engine."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[float], object]


class Meter:
    """Tells the share of the work that is done."""

    def __init__(self, progress: Report | None, total: float, done: float = 0.0) -> None:
        self.progress, self.total, self.done = progress, total, done
        self.add(0.0)

    def add(self, amount: float) -> None:
        """So much more is done."""
        self.done += amount
        if self.progress is not None:
            self.progress(min(1.0, self.done / self.total) if self.total > 0 else 1.0)

    def within(self, amount: float) -> Report | None:
        """For work of which shares are told while it goes on."""
        if self.progress is None:
            return None
        progress, done = self.progress, self.done
        return lambda share: progress(min(1.0, (done + share * amount) / self.total))
