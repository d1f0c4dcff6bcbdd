"""What a fit makes: a frozen `Predictor`, and the parts that it is made of.

``sources`` predict a mean and a spread, ``noise`` the variance of the noise, ``intervals`` say how these become variances and
bounds, ``distributions`` which shape the predictive distribution has, ``conformal`` what held-out rows promise, ``adaptive`` what rows in order taught, ``distance`` how much
less is known far from the training rows. ``part`` says what
every kind of part promises, ``calibration`` how held-out errors decide on them, ``export`` writes ONNX files.
"""

from extranets.predictor.part import Choice, Evidence, Folds
from extranets.predictor.predictor import Predictor
from extranets.predictor.units import Scaling, Units

__all__ = ["Choice", "Evidence", "Folds", "Predictor", "Scaling", "Units"]
