"""Progress lines, the time that a fit has left, and who hears of it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from extranets import StackedNetsRegressor
from extranets._progress import ProgressLine, heard_by, progress_line
from extranets.stacking.kinds import QUICK

LONG_AGO = 2.0  # seconds


def begun_long_ago(**options):
    line = ProgressLine("Training", **options)
    line.begin -= LONG_AGO
    return line


@pytest.mark.parametrize(
    ("ahead", "done", "told"),
    [
        (3.0, 0.2, "up to 40 s"),  # ten seconds of its own, of which eight are left, and at most thirty that follow
        (0.0, 0.1, "about 20 s"),  # 18 seconds, in steps of five
        (29.0, 0.5, "up to 2 min"),  # 2 + 116
        (0.0, 0.5, None),  # two seconds: no fit to wait for
        (1.0, 0.5, None),  # six
        (30.0, 0.001, None),  # too little is done to say anything
        (None, 0.1, None),
    ],
)
def test_the_time_that_a_long_fit_has_left_is_told_once(capsys, ahead, done, told):
    line = begun_long_ago(ahead=ahead)
    line(done)
    line(done)
    found = capsys.readouterr().err.split("\n")[:-1]
    assert [text.strip() for text in found] == ([] if told is None else [f"Time left for this fit: {told}."])


def test_no_time_is_told_in_the_first_second(capsys):
    ProgressLine("Training", ahead=100.0)(0.1)
    assert capsys.readouterr().err == ""


def test_the_line_of_a_minor_step_stays_only_if_it_took_a_second(capsys):
    for minor, shown in ((False, True), (True, False)):
        with progress_line("Fitting intervals", 1, minor=minor):
            pass
        assert ("Fitting intervals" in capsys.readouterr().err) == shown
    begun_long_ago(minor=True).close(finished=True)
    assert "0:02" in capsys.readouterr().err
    ProgressLine("Fitting intervals", minor=True).close(finished=False)
    assert "stopped" in capsys.readouterr().err


def test_a_terminal_shows_a_step_from_its_beginning_and_no_trace_of_a_minor_one(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    line = ProgressLine("Fitting intervals", minor=True)
    begun = capsys.readouterr().err
    line.close(finished=True)
    ended = capsys.readouterr().err
    assert begun.startswith("\rFitting intervals") and ended.strip() == "" and len(ended) == len(begun) + 1
    assert "\n" not in begun + ended


def table():
    X = np.random.default_rng(0).normal(size=(300, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1]


def test_a_listener_hears_every_phase_and_nothing_is_printed(capsys):
    heard = []
    with heard_by(lambda title, done: heard.append((title, done))):
        StackedNetsRegressor(n_folds=2, random_state=0, verbose=1).fit(*table())
    titles = list(dict.fromkeys(title for title, _ in heard))
    first, training, *_, noise, intervals = titles
    quick = f"Training {2 * len(QUICK)} networks"
    assert (first, training) == ("Fitting ridge regressions", quick)
    assert (noise, intervals) == ("Fitting the noise", "Fitting intervals")
    assert all(0 <= done <= 1 for _, done in heard) and capsys.readouterr().err == ""
    StackedNetsRegressor(n_folds=2, effort="low", random_state=0, verbose=1).fit(*table())
    assert quick in capsys.readouterr().err  # the listener is gone


def test_what_a_listener_raises_ends_the_fit():
    def stop(title, done):
        raise TimeoutError(title)

    model = StackedNetsRegressor(random_state=0)
    with pytest.raises(TimeoutError, match="ridge"), heard_by(stop):
        model.fit(*table())
    assert not hasattr(model, "model_")
