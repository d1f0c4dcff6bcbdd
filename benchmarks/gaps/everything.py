"""All methods by name: those that are reported, and ideas that are measured on inner tables alone."""

from __future__ import annotations

from functools import partial

from benchmarks.contest.methods import Method
from benchmarks.gaps.methods import METHODS as REPORTED
from benchmarks.gaps.priors import RandomisedPriors

MEASURED: dict[str, Method] = {
    "randomised priors, 1 and 0.5": Method(("extranets",), partial(RandomisedPriors, size=1.0, length=0.5)),
    "randomised priors, 2 and 1": Method(("extranets",), partial(RandomisedPriors, size=2.0, length=1.0)),
}
METHODS: dict[str, Method] = {**REPORTED, **MEASURED}
