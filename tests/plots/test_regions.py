"""The search for badly covered regions finds what is there, and no more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from extranets import plots
from extranets.plots.regions import holm
from tests.report.examples import made


def spoiled(p, rows, by=4.0):
    """Predictions with targets far outside their intervals in some rows."""
    return replace(p, y=np.where(rows, p.y + by, p.y))


def test_a_bad_category_is_found_with_its_numbers():
    p = made(1500)
    bad = p.features["group"] == "b"
    shown = plots.RegionsDisplay.of(spoiled(p, bad))
    worst = shown.regions[0]
    assert worst.where == "group = b" and worst.n == bad.sum() and worst.verdict == "too low"
    assert worst.coverage == pytest.approx(1 - worst.missed / worst.n) and worst.low < worst.coverage < worst.high
    assert not shown.as_hoped and "group = b" in shown.words()


def test_parts_of_a_listed_region_are_not_listed_again():
    p = made(1500)
    shown = plots.RegionsDisplay.of(spoiled(p, p.features["group"] == "b"))
    assert not any("group = b" in region.where for region in shown.regions[1:])


def test_a_bad_corner_of_two_features_is_found():
    p = made(3000)
    rows = (p.features["group"] == "a") & (p.features["noise"] > np.quantile(p.features["noise"], 0.75))
    worst = plots.RegionsDisplay.of(spoiled(p, rows)).regions[0]
    assert "group = a" in worst.where and "noise > " in worst.where and worst.verdict == "too low"


def test_noise_is_not_sold_as_a_finding():
    """Of 60 fair tables at most 5 % should show anything beyond chance: more than 8 has a probability below 0.5 %."""
    rng = np.random.default_rng(0)
    found = 0
    for seed in range(60):
        features = {f"x{j}": rng.normal(size=300) for j in range(6)}
        shown = plots.RegionsDisplay.of(made(300, seed=seed, levels=np.array([0.9]), features=features))
        assert shown.n_searched > 24  # including pairs
        found += shown.n_beyond_chance > 0
    assert found <= 8


def test_the_lowest_looks_bad_without_the_adjustment():
    """Otherwise the test above would show nothing."""
    features = {f"x{j}": np.random.default_rng(j).normal(size=600) for j in range(8)}
    regions = plots.RegionsDisplay.of(made(features=features)).regions
    assert regions[0].probability < 0.05 < regions[0].adjusted and regions[0].verdict == "may be chance"


def test_probabilities_are_those_of_the_binomial():
    for region in plots.RegionsDisplay.of(made()).regions:
        expected = stats.binom.cdf(region.n - region.missed, region.n, 0.9)
        assert region.probability == pytest.approx(expected, rel=1e-6)


def test_regions_that_cover_enough_are_not_called_low():
    regions = plots.RegionsDisplay.of(made(scale=0.3)).regions
    assert {region.verdict for region in regions} == {"not low"}


def test_labels_keep_features_apart_whatever_their_names():
    features = {"heat and power": made().features["group"]}
    shown = plots.RegionsDisplay.from_predictions(made(features=features), ax=Figure().subplots())
    assert all(len(region.parts) == 1 and region.where.startswith("heat and power = ") for region in shown.regions)
    assert not any("\n" in label.get_text() for label in shown.ax_.get_yticklabels())


def test_small_regions_are_not_searched():
    with pytest.raises(plots.NothingToShow, match="20 rows"):
        plots.RegionsDisplay.of(made(15))
    shown = plots.RegionsDisplay.of(made(100))
    assert min(region.n for region in shown.regions) >= 20


def test_holm_follows_its_definition():
    p = np.random.default_rng(0).uniform(size=40) ** 3
    order = np.sort(p)
    expected = [max(min(1, (40 - i) * order[i]) for i in range(np.searchsorted(order, value) + 1)) for value in p]
    assert holm(p) == pytest.approx(expected)


def test_missing_values_are_a_region():
    p = made(1000)
    missing = np.random.default_rng(0).random(1000) < 0.2
    features = {"size": np.where(missing, np.nan, p.features["noise"])}
    worst = plots.RegionsDisplay.of(spoiled(replace(p, features=features), missing)).regions[0]
    assert worst.where == "size is missing"
