"""One file per shape of the predictive distribution. A new one is named here, and nowhere else."""

from extranets.predictor.distributions.normal import Normal
from extranets.predictor.distributions.student import Student
from extranets.predictor.part import Distribution

KINDS: tuple[type[Distribution], ...] = (Student, Normal)

DISTRIBUTIONS: dict[str, type[Distribution]] = {kind.name: kind for kind in KINDS}

__all__ = ["DISTRIBUTIONS", "Normal", "Student"]
