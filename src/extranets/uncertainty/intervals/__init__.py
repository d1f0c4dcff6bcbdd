"""One file per construction. Each turns member spread and noise into the two variances of the predictive distribution."""

from extranets.uncertainty.intervals import calibrated, paper, total

CONSTRUCTIONS = {"paper": paper.variances, "total": total.variances, "calibrated": calibrated.variances}

__all__ = ["CONSTRUCTIONS", "calibrated", "paper", "total"]
