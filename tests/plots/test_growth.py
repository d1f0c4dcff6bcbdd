"""The figures of the decorrelation and the correlation study."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from extranets.plots import GrowthDisplay, LearnersDisplay, NothingToShow

SIZES = (2, 20, 200)


def grown(data, variant, one, left):
    """Rows of one curve: ``left`` is the part of a network's error that no number of them takes away."""
    return [
        {"data": data, "variant": variant, "T": T, "member_error": one, "error": one * (left + (1 - left) / T)}
        for T in SIZES
    ]


def test_errors_are_in_units_of_one_network_with_other_first_weights_only():
    rows = grown("linear", "initialisation", 4.0, 0.5) + grown("linear", "bins", 2.0, 0.5)
    (curves,) = GrowthDisplay.of(rows[::-1]).curves.values()  # in whatever order the rows come
    np.testing.assert_allclose(curves["initialisation"].sizes, [1, *SIZES])
    np.testing.assert_allclose(curves["initialisation"].errors, [1.0, 0.75, 0.525, 0.5025])
    np.testing.assert_allclose(curves["bins"].errors, [0.5, 0.375, 0.2625, 0.25125])


def test_every_panel_has_the_line_of_independent_networks_and_the_same_scale():
    rows = [row for name, one in (("linear", 1.0), ("boston", 50.0)) for row in grown(name, "initialisation", one, 0.9)]
    rows += grown("boston", "rows", 100.0, 0.9)
    display = GrowthDisplay.of(rows)
    axes = [display.plot(Figure().subplots(), panel=panel).ax_ for panel in display.panels]
    assert display.panels == ("linear", "boston") and axes[0].get_ylim() == axes[1].get_ylim()
    for ax in axes:
        (line,) = [line for line in ax.lines if line.get_label() == "independent: 1 / T"]
        np.testing.assert_allclose(line.get_ydata(), [1.0, 0.5, 0.05, 0.005])
    words = display.words("boston")
    assert "of 200 networks on boston" in words and "would leave 0.5 %" in words and "with rows: 180.1 %" in words
    picture = display.picture()
    assert [ax.get_title() for ax in picture.axes] == ["linear", "boston"] and len(picture.legends) == 1


def learners(version, shift):
    rows = [
        {"kind": "learner", "version": version, "learner": number}
        | {f"q{q:02d}": shift + number + q / 100 for q in (5, 25, 50, 75, 95)}
        for number in (0, 3, 4)
    ]
    average = {"kind": "average", "version": version, "observed_mean": 72.0, "average_correlation": 0.25}
    return [*rows, average]


def test_the_papers_figure_has_a_box_for_every_learner():
    display = LearnersDisplay.of(learners("separate", 70.0) + learners("joint", 60.0))
    assert display.panels == ("separate", "joint")
    for panel, shift in (("separate", 70.0), ("joint", 60.0)):
        ax = display.plot(Figure().subplots(), panel=panel).ax_
        tops = {max(line.get_ydata()) for line in ax.lines}
        assert {shift + number + 0.95 for number in (0, 3, 4)} <= tops  # the upper whiskers
        (observed,) = [line for line in ax.lines if line.get_label() == "observed mean"]
        assert set(observed.get_ydata()) == {72.0}
        assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "3", "4"]
    assert "70.5 to 74.5" in display.words("separate") and "0.250" in display.words()


@pytest.mark.parametrize("display", [GrowthDisplay, LearnersDisplay])
def test_without_units_there_is_nothing_to_show(display):
    with pytest.raises(NothingToShow):
        display.of([])
