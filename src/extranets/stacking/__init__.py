"""Stacks: several kinds of models, each trained once for every fold of the rows, and weights by their out-of-fold errors.

``kinds`` says which networks there are and how their settings follow the table, ``linear`` fits ridge regressions, ``growing``
trains kinds on folds and predicts the rows that they left out, ``search`` decides which kinds a table deserves, ``transforms`` which transform of the target, ``telling`` says in words what it chose.
"""

from extranets.stacking.growing import Growing, Part
from extranets.stacking.kinds import Kind
from extranets.stacking.search import Effort, Found, grow
from extranets.stacking.telling import in_words, ranked, summary
from extranets.stacking.transforms import likely_powers

__all__ = ["Effort", "Found", "Growing", "Kind", "Part", "grow", "in_words", "likely_powers", "ranked", "summary"]
