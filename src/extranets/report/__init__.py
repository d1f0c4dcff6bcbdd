"""Reports: predictions with known targets, or a study's run folder, as one HTML file that needs nothing else.

Summarise, plot, render: :func:`summarise` and :func:`summarise_run` make numbers and sentences, ``extranets.plots`` draws them,
:func:`write` makes the page, and the summary as JSON if wanted. Nothing here trains or loads a model.

>>> import tempfile
>>> from pathlib import Path
>>> from extranets import ExtraNetsRegressor
>>> from extranets.data import linear_process
>>> from extranets.evaluation import predict_with_targets
>>> X, y, X_test, y_test = linear_process(300, random_state=0).split(200)
>>> model = ExtraNetsRegressor(n_estimators=3, max_iter=10, random_state=0).fit(X, y)
>>> summary = summarise(predict_with_targets(model, X_test, y_test, target="price"))
>>> with tempfile.TemporaryDirectory() as folder:
...     write(summary, Path(folder) / "report.html")
...     (Path(folder) / "report.html").read_text(encoding="utf-8")[:15]
'<!doctype html>'
"""

from extranets.report.html import render, write
from extranets.report.runs import RunSummary, summarise_run
from extranets.report.summary import Summary, summarise

__all__ = ["RunSummary", "Summary", "render", "summarise", "summarise_run", "write"]
