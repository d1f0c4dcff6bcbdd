"""Settings of `ExtraNetsRegressor` that suit a table, searched for within a budget of time.

``candidates`` says what is tried, ``trials`` how one is judged, ``halving`` who stays; none of these looks at the clock.
``budget`` does, and holds :func:`tune`.
"""

from extranets.tuning.budget import tune

__all__ = ["tune"]
