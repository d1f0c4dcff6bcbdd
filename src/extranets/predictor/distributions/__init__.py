"""One file per shape of the predictive distribution. A new one is named here, and nowhere else."""

from extranets.predictor.distributions.empirical import Empirical
from extranets.predictor.distributions.likeliest import learn_likeliest
from extranets.predictor.distributions.normal import Normal
from extranets.predictor.distributions.student import Student
from extranets.predictor.part import Distribution, LearnShape

KINDS: tuple[type[Distribution], ...] = (Student, Normal, Empirical)

DISTRIBUTIONS: dict[str, type[Distribution]] = {kind.name: kind for kind in KINDS}

# What the parameter `distribution` may be, and how a fit learns it.
LEARNERS: dict[str, LearnShape] = {"auto": learn_likeliest, **{kind.name: kind.learn for kind in KINDS}}

__all__ = ["DISTRIBUTIONS", "KINDS", "LEARNERS", "Empirical", "Normal", "Student"]
