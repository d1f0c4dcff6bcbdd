"""Ours and the peers on the same splits. Run ``python -m benchmarks.accuracy peers``.

- ``forecast.py``: what a method says about test rows, and its scores.
- ``ours.py``, ``scikit.py``, ``boosting.py``, ``forests.py``, ``tabular_networks.py``, ``conformal.py``: one thin wrapper for each
  kind of method; ``methods.py`` names them all.
- ``records.py``: one record for each data set, split and method, in a file of JSON lines.
- ``summary.py``, ``show.py``: records into means, paired differences and ranks, and these into tables.

Every method has the defaults of its library, with these exceptions:

- All have ``THREADS`` threads and the number of the split as seed. NGBoost has no setting for threads. Where other programs share
  the cores, OpenMP's threads wait for each other a hundred times longer than they work, and HistGradientBoosting takes minutes:
  ``OMP_WAIT_POLICY=PASSIVE`` in the environment helps. Times measured on a busy machine say little.
- RealMLP and TabM use a GPU where PyTorch finds one: on two cores a fit to a large data set takes them half an hour.
- Forests have 500 trees instead of 100. It makes them a little better and five times slower.
- scikit-learn's MLP gets standardised inputs and target, as its documentation asks for.
- CatBoost with uncertainty has the loss, the posterior sampling and the ten virtual ensembles of its documentation.

A method without a density has no log-likelihood. CRPS comes from the density where a method predicts one (Normal, or Student's t), and from
100 quantiles for the quantile forest. RealMLP and TabM, like scikit-learn's regressors, predict no intervals: they are compared by RMSE only. Conformal
intervals around them would cost five more fits of the slowest methods here.
"""
