"""The parameters that estimators share: what they may be, and their documentation. Each is described once."""

from __future__ import annotations

import inspect
import textwrap
from numbers import Integral, Real
from typing import Any, TypeVar

from extranets import engine
from extranets._sklearn import Range, StrOptions
from extranets.encodings import MOST_BINS
from extranets.engine.options import LOSSES, MOST_COUNT, SCHEDULES
from extranets.estimators.settings import ENCODINGS
from extranets.held_out import FOLD_BITS
from extranets.predictor.distributions import DISTRIBUTIONS, LEARNERS
from extranets.predictor.powers import NAMES

MEMBER_COUNT = Range(Integral, 1, (1 << FOLD_BITS) - 1, closed="left")
LOSS = StrOptions(set(LOSSES))

COMMON_CONSTRAINTS: dict[str, list[Any]] = {
    "hidden_layer_sizes": ["array-like", Range(Integral, 1, None, closed="left")],
    "bounds": [None, StrOptions({"auto"}), "array-like"],
    "target_transform": [None, StrOptions({"auto", *NAMES}), Range(Real, 0, 1, closed="both")],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
ADAM_CONSTRAINTS: dict[str, list[Any]] = {
    **COMMON_CONSTRAINTS,
    "learning_rate_init": [Range(Real, 0, None, closed="neither")],
    "learning_rate_schedule": [StrOptions(set(SCHEDULES))],
    "max_iter": [StrOptions({"auto"}), Range(Integral, 1, MOST_COUNT, closed="left")],
    "batch_size": [Range(Integral, 1, MOST_COUNT, closed="left")],
    "beta_1": [Range(Real, 0, 1 - 1e-6, closed="both")],
    "beta_2": [Range(Real, 0, 1 - 1e-6, closed="both")],
    "epsilon": [Range(Real, 1e-30, None, closed="left")],
}
TRAINING_CONSTRAINTS: dict[str, list[Any]] = {
    **ADAM_CONSTRAINTS,
    "device": [StrOptions(set(engine.DEVICES))],
    "numeric_encoding": [None, StrOptions(set(ENCODINGS))],
    "n_bins": [Range(Integral, 1, MOST_BINS, closed="both")],
    "alpha": [Range(Real, 0, None, closed="left")],
    "max_grad_norm": [None, Range(Real, 0, None, closed="neither")],
    "early_stopping": ["boolean", StrOptions({"auto"})],
    "validation_fraction": [Range(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Range(Integral, 1, MOST_COUNT, closed="left")],
    "tol": [Range(Real, 0, None, closed="left")],
    "n_starts": [Range(Integral, 1, MOST_COUNT, closed="left")],
    "max_restarts": [Range(Integral, 0, MOST_COUNT, closed="left")],
    "collapse_r2": [Range(Real, None, 1, closed="neither")],
}
WARM_UP_CONSTRAINTS: dict[str, list[Any]] = {"warm_up": [Range(Real, 0, 1, closed="left")]}
HELD_OUT_CONSTRAINTS: dict[str, list[Any]] = {
    "noise": [StrOptions({"cv", "holdout", "train"})],
    "n_folds": [Range(Integral, 2, 200, closed="both")],
    "holdout_fraction": [Range(Real, 0, 1, closed="neither")],
}
DISTANCE_CONSTRAINTS: dict[str, list[Any]] = {"distance_factor": [Range(Real, 0, None, closed="left")]}


def _target_paragraphs(default: str, transform: str) -> str:
    return f"""
bounds : None, "auto" or a pair of numbers, default={default}
    What the target is never below and never above, such as ``(0, 100)`` or ``(0, None)``. All that is predicted stays between:
    means, intervals, quantiles and distributions, whose mass beyond a bound lies at the bound. (Near a bound, the mean of
    ``predict_dist`` is therefore a little farther inside than ``predict``, the networks' mean.) ``"auto"``: a target that is never
    negative in training is never predicted to be. None: nothing is a bound; for a target that may well be negative, although it
    never was.
target_transform : None, "auto", "log", "sqrt" or float in [0, 1], default={transform}
    What the networks are trained on: the target's logarithm, its square root, or another power of it (0 is the logarithm, 1 the target
    itself), for counts and other targets that are never negative; a small number is added first where some are nearly 0. Beyond
    the least and the largest training target the transform goes on straight, so that nothing becomes absurdly large. All answers
    are in the target's own units, and ``predict`` gives the mean of the predictive distribution, not the mean of logarithms brought back.
    ``"auto"``: the logarithm or the square root where held-out CRPS and interval scores of quick models are clearly better with it, and
    squared errors no worse; of fewer than 100 rows, None.
"""


SHARED_DOCS = {
    "hidden": """
hidden_layer_sizes : tuple of int, default=(50,)
    Units per hidden layer; ``()`` makes linear models.
""",
    "adam": """
learning_rate_init : float, default=0.01
    First step size of Adam.
{schedule}
max_iter : int or "auto", default="auto"
    Epochs. ``"auto"``: 400, fewer when that would pass 20,000 mini-batches, never under 40.
batch_size : int, default=32
beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-7
    Adam's constants.
""",
    "schedule": """
learning_rate_schedule : {"linear", "cosine", "constant"}, default="linear"
    How the step size falls to zero over the whole training.
""",
    "training": """
numeric_encoding : {"piecewise_linear", "periodic"} or None, default=None
    What the networks see of a column with more than two values, besides the column itself. ``"piecewise_linear"``: its
    position, from 0 to 1, within each of ``n_bins`` bins between quantiles of the training rows, so that the first layer can
    bend at every edge; beyond the smallest and the largest training value only the column itself still counts.
    ``"periodic"``: sines and cosines of ``n_bins // 2`` frequencies.
{n_bins}
alpha : float, default=0.0
    Decoupled weight decay.
{starts}
""",
    "n_bins": """
n_bins : int, default=16
    Inputs that ``numeric_encoding`` adds for a column, at most 255. A column with few values has fewer bins, one between
    each two of them.
""",
    "starts": """
max_grad_norm : float or None, default=None
    Largest Euclidean norm of a mini-batch's gradient.
early_stopping : bool or "auto", default="auto"
    Hold out ``validation_fraction`` of each network's rows, stop when the loss on them has not improved by ``tol`` for
    ``n_iter_no_change`` epochs, and restore the best weights. ``"auto"``: for networks that predict a variance, which long
    training makes far too small.
validation_fraction : float in (0, 1), default=0.1
n_iter_no_change : int, default=20
tol : float, default=1e-4
    In units of the loss on standardised targets.
n_starts : int, default=1
    Starts of each network, of which the one with the smallest training loss is kept.
max_restarts : int, default=5
    How many starts of a network may be replaced because the loss overflowed or the network collapsed.
collapse_r2 : float, default=1e-4
    A network counts as collapsed when its training R^2 is below this (its units have died and it predicts a constant).
device : {"cpu", "cuda"}, default="cpu"
    Where networks are trained and predict. ``"cuda"`` needs an NVIDIA GPU and CuPy (``pip install cupy-cuda12x``). The
    random numbers are the same, the results agree to rounding. A model file does not depend on it: what was trained on a GPU
    loads on any machine, with ``device="cpu"``.
""",
    "warm_up": """
warm_up : float in [0, 1), default=0.5
    Share of the epochs in which only the mean is trained, with the variance held at one. A variance that is trained from the
    start explains away errors that the mean has not learned yet.
""",
    "held_out": """
noise : {"cv", "holdout", "train"}, default="cv"
    Where the residual variance comes from: out-of-fold predictions (the final networks still see all rows), a held-out
    share of the rows, or training residuals corrected for degrees of freedom.
n_folds : int, default=5
    Folds of ``noise="cv"``. An ensemble gives each fold n_estimators / n_folds networks of its own (at least six, at most
    n_estimators), so with 30 networks or more the folds cost about one more fit.
holdout_fraction : float in (0, 1), default=0.2
    Share of the rows that ``noise="holdout"`` keeps from training.
""",
    "distance": """
distance_factor : float, default=1.0
    How much the epistemic variance grows with the distance from the training rows: in gaps of a column and beyond its ends,
    by what the networks' mean varies over such a distance elsewhere, times this factor. Rows that lie among the training rows
    in every column get nothing. 0: networks alone decide. Intervals that need no distribution (such as ``"cv+"``) do without.
""",
    "warm_start": """
warm_start : bool, default=False
    Keep the networks of the last fit and train only those that a larger ``n_estimators`` adds (and the folds' networks
    anew). The data and all other parameters must be the same.
""",
    "bounds": _target_paragraphs("None", "None"),
    "bounded": _target_paragraphs('"auto"', "None"),
    "chosen_target": _target_paragraphs('"auto"', '"auto"'),
    "common": """
n_jobs : int or None, default=None
    Threads. None uses all cores (or ``OMP_NUM_THREADS``). Results do not depend on it.
random_state : int, RandomState or None, default=None
verbose : int, default=0
    1 shows a progress line.
""",
    "fitted": """
restarts_ : array of shape (n_members,)
    Starts of each network that were replaced.
loss_curve_ : array of shape (n_members, max_iter)
    Mean training loss per epoch; NaN after an early stop.
n_iter_ : int
    Epochs of the longest training.
{fit_info}
""",
    "fit_info": """
fit_info_ : dict
    What the fit was: ``n_rows`` (of positive weight), ``n_features``, ``seconds``, and the time it ``finished``, in UTC.
""",
}


AUTO_DISTRIBUTION = """
``"auto"``: "empirical" where it is clearly likelier than "student" on held-out errors that neither was learned from; else
"student".
"""


def _distribution_paragraph(default: str) -> str:
    """Every kind in its own words: the first paragraph of its class's documentation."""
    names = ", ".join(f'"{name}"' for name in LEARNERS)
    kinds = [f'``"{name}"``: {inspect.getdoc(kind)}'.split("\n\n")[0] for name, kind in DISTRIBUTIONS.items()]
    words = " ".join(["Shape of the predictive distribution.", *kinds, AUTO_DISTRIBUTION]).split()
    body = textwrap.fill(" ".join(words), 116, initial_indent="    ", subsequent_indent="    ")
    return f'distribution : {{{names}}}, default="{default}"\n{body}'


SHARED_DOCS["distribution"] = _distribution_paragraph("student")
SHARED_DOCS["chosen_distribution"] = _distribution_paragraph("auto")

T = TypeVar("T")


def documented(cls: type[T]) -> type[T]:
    """Put the shared paragraphs in place of ``{name}`` lines of a class's documentation."""
    if cls.__doc__:
        for name, text in SHARED_DOCS.items():
            indented = text.strip().replace("\n", "\n    ")
            cls.__doc__ = cls.__doc__.replace("{" + name + "}", indented)
    return cls
