"""The decorrelation study: its variants, its measures and its summary."""

from __future__ import annotations

import json

import numpy as np
import pytest

from extranets.plots import StudyDisplay
from extranets.studies import decorrelation
from extranets.studies.decorrelation import SIZES, VARIANTS, DecorrelationStudy, Problem, Variant

SIMPLE = DecorrelationStudy(replications=1, datasets=("boston",))


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return Problem(X[:60], X[:60, :1], X[60:], X[60:, 0])


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_predicts_and_a_smaller_ensemble_begins_a_larger_one(name, problem):
    members, n_parameters = decorrelation.predictions(VARIANTS[name], problem, 6, seed=1)
    assert members.shape == (6, 30) and np.isfinite(members).all() and n_parameters > 200
    fewer, _ = decorrelation.predictions(VARIANTS[name], problem, 3, seed=1)
    np.testing.assert_array_equal(members[:3], fewer)
    plain, _ = decorrelation.predictions(Variant(), problem, 6, seed=1)
    assert (name == "initialisation") == np.array_equal(members, plain)


def test_thinned_networks_have_fifty_units_on_average(problem):
    # 100 units, each kept with p = 0.5: 50 with a standard deviation of 5, and of 5 / sqrt(400) = 0.25 for a mean of 400.
    trainings = [decorrelation.training(Variant(keep_prob=0.5), t, problem.X, problem.y, seed=0) for t in range(400)]
    assert np.mean([each.members.widths[0, 0] for each in trainings]) == pytest.approx(50, abs=1.0)


def test_priors_differ_and_have_their_spread_on_the_training_rows(problem):
    values = [decorrelation.prior_of(0, t, problem.X)(problem.X) for t in (0, 1)]
    for each in values:
        assert each.mean() == pytest.approx(0, abs=1e-12) and each.std() == pytest.approx(decorrelation.PRIOR_SD)
    assert not np.allclose(*values)


def test_the_error_of_a_mean_is_that_of_members_less_their_spread():
    rng = np.random.default_rng(0)
    members, truth = rng.normal(size=(7, 40)), rng.normal(size=40)
    row = decorrelation.measures(members, truth)
    assert row["error"] == pytest.approx(row["member_error"] - 6 / 7 * row["spread"])
    alike = decorrelation.measures(np.tile(members[:1], (3, 1)), truth)
    assert alike["spread"] == pytest.approx(0) and alike["correlation"] == pytest.approx(1)


def records():
    """Two data sets; masks have twice and four times the error."""
    return [
        {"data": "linear", "number": number, "variant": variant, "T": T}
        | dict.fromkeys(decorrelation.MEASURES, 1.0)
        | {"error": factor**power}
        for number, power in ((0, 1), (1, 2))
        for variant, factor in (("initialisation", 1.0), ("masks, p = 0.8", 2.0))
        for T in SIZES
    ]


def test_the_summary_compares_with_other_first_weights_on_the_same_data():
    rows = SIMPLE.summarise(records())
    assert len(rows) == 2 * len(SIZES)
    row = next(row for row in rows if row["variant"] != "initialisation")
    assert (row["ratio"], row["ratio_se"], row["error"], row["replications"]) == (3.0, 1.0, 3.0, 2)


def test_dots_show_one_network_and_the_mean():
    shown = StudyDisplay.of("decorrelation", SIMPLE.summarise(records()))
    assert shown.panels == ("linear",) and shown.charts[0].series[1].value == [1.0, 3.0]


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "bins, 50 units"])
def test_all_networks_cost_the_same(name):
    """Rounding to a unit changes the number of weights by at most half a unit's: with 5 inputs and 16 bins of each, by 10 %.

    Masks and numbers of bins are drawn: the mean of 50 networks has a tenth of that, or less.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    trainings = [decorrelation.training(VARIANTS[name], t, X, X[:, :1], seed=0) for t in range(50)]
    counts = [each.members.n_parameters for each in trainings]
    assert np.mean(counts) == pytest.approx(50 * 7 + 1, rel=0.05)


@pytest.mark.slow
def test_a_unit_has_every_variant_and_size():
    found = SIMPLE.run("linear-00").records
    assert [(r["variant"], r["T"]) for r in found] == [(v, T) for v in VARIANTS for T in SIZES]
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("unit", ["cubic-00", "linear-01", "linear"])
def test_unknown_units_are_refused(unit):
    with pytest.raises(ValueError, match="No unit"):
        SIMPLE.run(unit)


@pytest.mark.parametrize("wrong", [{"replications": 0}, {"seed": -1}, {"datasets": ("moon",)}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        DecorrelationStudy(**wrong)
