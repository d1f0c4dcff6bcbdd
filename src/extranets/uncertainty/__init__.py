"""From member predictions and residuals to variances and intervals: pure functions on arrays."""
