"""Figures of predictions with known targets, in the manner of scikit-learn's displays.

A display holds the numbers of one figure. ``from_estimator`` and ``from_predictions`` compute and draw; ``plot`` draws
again, into any ``ax``; ``words`` says what is seen. Drawing needs ``pip install ".[report]"`` in a checkout.

>>> from extranets import ExtraNetsRegressor
>>> from extranets.data import nonlinear_process
>>> from matplotlib.figure import Figure
>>> X, y, X_test, y_test = nonlinear_process(400, random_state=0).split(300)
>>> model = ExtraNetsRegressor(n_estimators=5, max_iter=20, random_state=0).fit(X, y)
>>> ax = Figure().subplots()
>>> display = PredictionIntervalDisplay.from_estimator(model, X_test, y_test, coverage=0.9, ax=ax)
>>> display.ax_ is ax, len(display.y)
(True, 100)
"""

from extranets.plots.calibration import CalibrationDisplay, CoverageByWidthDisplay
from extranets.plots.correlation import CorrelationDisplay
from extranets.plots.display import Display, NothingToShow
from extranets.plots.features import WidthByFeatureDisplay
from extranets.plots.growth import GrowthDisplay
from extranets.plots.intervals import PredictionIntervalDisplay
from extranets.plots.learners import LearnersDisplay
from extranets.plots.learning import LearningCurveDisplay
from extranets.plots.members import MembersDisplay
from extranets.plots.paper import PaperDisplay
from extranets.plots.parts import CoverageByGroupDisplay, CoverageOverTimeDisplay, NoveltyDisplay, PartsDisplay
from extranets.plots.regions import RegionsDisplay
from extranets.plots.residuals import ResidualsDisplay
from extranets.plots.studies import StudyDisplay

__all__ = [
    "CalibrationDisplay",
    "CorrelationDisplay",
    "CoverageByGroupDisplay",
    "CoverageByWidthDisplay",
    "CoverageOverTimeDisplay",
    "Display",
    "GrowthDisplay",
    "LearnersDisplay",
    "LearningCurveDisplay",
    "MembersDisplay",
    "NothingToShow",
    "NoveltyDisplay",
    "PaperDisplay",
    "PartsDisplay",
    "PredictionIntervalDisplay",
    "RegionsDisplay",
    "ResidualsDisplay",
    "StudyDisplay",
    "WidthByFeatureDisplay",
]
