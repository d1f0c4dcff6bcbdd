"""Parameters of `StackedNetsRegressor` that suit a table, searched for within a budget of time.

``candidates`` says what is tried and what it costs, ``search`` fits candidates and keeps the best; neither looks at the clock.
``budget`` does, and holds :func:`tune`.
"""

from extranets.tuning.budget import tune

__all__ = ["tune"]
