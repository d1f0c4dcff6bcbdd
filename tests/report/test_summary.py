"""Numbers and verdicts of a report, also for odd predictions."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from extranets._json import as_json
from extranets.evaluation import coverage_table, scores
from extranets.report import render, summarise
from tests.report.examples import fitted, made


def card(summary, name):
    return next(card for card in summary.cards if card.name.startswith(name))


@pytest.fixture(scope="module")
def summary():
    return summarise(fitted())


def test_the_headline_shows_the_scores_of_the_evaluation(summary):
    assert summary.scores == pytest.approx(scores(fitted()))
    assert [card.name for card in summary.cards] == [
        "RMSE", "Coverage at 90 %", "Mean width at 90 %", "Interval score", "Epistemic share",
    ]  # fmt: skip
    assert card(summary, "RMSE").value == f"{summary.scores['rmse']:.3g}"
    assert card(summary, "Coverage").value == f"{100 * summary.scores['coverage']:.1f} %".replace(".0 %", " %")
    assert summary.n == 500 and not summary.absent and len(summary.findings) == 7


def test_the_distribution_is_named():
    normal, heavy = summarise(made(50)), summarise(made(50, dof=3.0))
    assert (normal.distribution, heavy.distribution) == ("Normal", "Student's t with 3 degrees of freedom")
    assert heavy.scores == pytest.approx(scores(made(50, dof=3.0)))
    assert json.loads(as_json(heavy))["distribution"] == heavy.distribution


def test_every_level_has_its_coverage_and_limits(summary):
    for level, row in zip(summary.levels, coverage_table(fitted()), strict=True):
        assert (level.nominal, level.observed, level.low, level.high) == (row.nominal, row.observed, row.low, row.high)
        assert level.mean_width == row.mean_width and level.verdict == row.verdict


@pytest.mark.parametrize(
    ("scale", "words", "tone"), [(1.0, "As promised", "good"), (1.4, "Too narrow", "bad"), (0.6, "Too wide", "bad")]
)
def test_coverage_is_judged_by_its_limits(scale, words, tone):
    found = card(summarise(made(3000, scale=scale)), "Coverage")
    assert found.verdict.startswith(words) and found.tone == tone


@pytest.mark.parametrize("n", [1, 3, 15])
def test_few_rows_give_no_good_verdict(n):
    summary = summarise(made(n, members=None))
    assert {card.tone for card in summary.cards} == {finding.tone for finding in summary.findings} == {"plain"}
    assert "rows are few" in card(summary, "Coverage").verdict
    for name in ("RMSE", "Mean width", "Interval score"):
        assert f"{'One row is' if n == 1 else f'{n} rows are'} too few to tell" in card(summary, name).verdict
    assert all("too few to tell" in finding.answer for finding in summary.findings)


def test_few_rows_can_give_a_bad_verdict():
    p = made(15, members=None)
    summary = summarise(replace(p, y=p.y + 20))
    assert card(summary, "Coverage").tone == "bad" and {finding.tone for finding in summary.findings} == {"bad"}


def test_levels_count_as_not_kept_if_the_headline_level_is_not():
    """Intervals that are right except those of 90 %, which are halved."""
    p = made(2000)
    bounds = p.bounds.copy()
    at = int(np.argmin(np.abs(p.levels - 0.9)))
    bounds[:, :, at] = p.mean[:, None] + 0.5 * (bounds[:, :, at] - p.mean[:, None])
    summary = summarise(replace(p, bounds=bounds))
    found = next(finding for finding in summary.findings if finding.question == "Are the levels kept?")
    assert card(summary, "Coverage").tone == found.tone == "bad"
    kept = summary.figures["calibration"].kept
    assert kept >= 0.9 * len(p.levels) and f"{kept} of 95 levels, but not at 90 %" in found.answer


def test_errors_and_widths_are_judged_beside_constant_predictions():
    p = made(800)
    good = summarise(p)
    assert card(good, "RMSE").tone == card(good, "Mean width").tone == card(good, "Interval score").tone == "good"
    blind = summarise(replace(p, y=np.random.default_rng(1).permutation(p.y)))
    assert "No better than a constant" in card(blind, "RMSE").verdict and card(blind, "RMSE").tone == "bad"
    assert card(blind, "Interval score").tone == "bad"
    wide = summarise(replace(p, bounds=p.bounds * 100))
    assert card(wide, "Mean width").tone == "bad" and "the inputs tell little" in card(wide, "Mean width").verdict


def test_narrow_intervals_that_cover_too_little_are_not_called_good():
    p = made(800)
    shifted = summarise(replace(p, y=p.y + 5))
    assert card(shifted, "Coverage").tone == "bad"
    assert card(shifted, "Mean width").tone == "plain" and "too narrow" in card(shifted, "Mean width").verdict
    assert "what the model takes for noise" in card(shifted, "Epistemic").verdict


def test_intervals_nearly_as_wide_as_the_targets_are_not_called_good():
    y = np.random.default_rng(0).normal(size=1000)
    lowest, highest = np.quantile(y, [0.05, 0.95])
    bounds = np.broadcast_to(0.95 * np.array([lowest, highest])[:, None], (1000, 2, 1))
    found = card(summarise(made(1000, y=y, mean=np.zeros(1000), bounds=bounds, levels=np.array([0.9]))), "Mean width")
    assert found.tone == "plain" and found.verdict.startswith("95 % of the range") and "tell little" in found.verdict


def test_the_epistemic_share_is_that_of_the_variances():
    p = made(300)
    assert card(summarise(p), "Epistemic").value == "25 %"
    more = card(summarise(replace(p, epistemic=9 * p.aleatoric)), "Epistemic")
    assert more.value == "90 %" and "more data" in more.verdict


def test_the_sample_holds_the_rows_unchanged(summary):
    p, sample = fitted(), summary.sample
    assert sample.n == 500 and len(sample.y) == 400 and sample.lower.shape == (len(p.levels), 400)
    pairs = zip(sample.y, sample.mean, strict=True)  # targets alone are rounded until some are equal
    rows = np.array([np.argmin(np.abs(p.y - y) + np.abs(p.mean - mean)) for y, mean in pairs])
    assert sample.mean == pytest.approx(p.mean[rows], abs=1e-3 * np.ptp(p.mean))
    inside = p.covered[rows].T
    assert np.array([[sign == "1" for sign in text] for text in sample.covered]).tolist() == inside.tolist()
    assert sample.upper - sample.lower == pytest.approx((p.bounds[rows, 1] - p.bounds[rows, 0]).T, rel=0.05, abs=0.01)


def test_rounding_does_not_change_narrow_intervals_far_from_zero():
    p = made(50)
    far = summarise(replace(p, y=p.y + 1e7, mean=p.mean + 1e7, bounds=p.bounds + 1e7)).sample
    assert far.upper - far.lower == pytest.approx((p.bounds[:, 1] - p.bounds[:, 0]).T, abs=0.01)


def test_the_summary_is_strict_json(summary):
    content = json.loads(as_json(summary), parse_constant=pytest.fail)
    assert content["scores"]["rmse"] == summary.scores["rmse"]
    assert content["figures"]["regions"]["n_searched"] == summary.figures["regions"].n_searched
    assert len(content["figures"]["features"]["features"]) == 10  # not only the six that are drawn
    assert set(content) >= {"title", "cards", "findings", "levels", "sample", "absent"}


ODD = {
    "five rows": made(5),
    "one row": made(1, members=None),
    "no features": made(100, features={}),
    "constant feature": made(100, features={"x": np.ones(100)}),
    "no members": made(100, members=None),
    "one member": made(100, members=made(100).members[:1]),
    "equal members": made(100, members=np.zeros((3, 100))),
    "infinite bounds": made(100, bounds=np.stack([np.full((100, 95), -np.inf), np.full((100, 95), np.inf)], axis=1)),
    "zero variance": made(100, epistemic=np.zeros(100), aleatoric=np.zeros(100), bounds=made(100).mean[:, None, None] * np.ones((1, 2, 95))),
    "exact predictions": made(100, y=made(100).mean),
    "constant target": made(100, y=np.ones(100)),
    "tiny numbers": made(100, y=made(100).y * 1e-150, mean=made(100).mean * 1e-150, bounds=made(100).bounds * 1e-150),
    "zero variance of Student's t": made(100, dof=3.0, epistemic=np.zeros(100), aleatoric=np.zeros(100)),
    "one level": made(100, levels=np.array([0.9])),
    "empty losses": made(100, loss_curve=np.full((3, 4), np.nan)),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_predictions_have_a_summary(name):
    summary = summarise(ODD[name])
    json.loads(as_json(summary), parse_constant=pytest.fail)
    assert len(summary.cards) == 5 and not any("nan" in card.verdict for card in summary.cards)
    assert not set(summary.figures) & set(summary.absent)


def test_absent_figures_have_a_reason():
    summary = summarise(ODD["one member"])
    assert "two or more networks" in summary.absent["members"] and "no loss" in summary.absent["learning"]
    assert "no end" in card(summarise(ODD["infinite bounds"]), "Mean width").verdict
    assert "nothing to explain" in card(summarise(ODD["constant target"]), "RMSE").verdict


def test_predictions_that_cannot_be_reported_are_refused():
    with pytest.raises(ValueError, match=r"no intervals of coverage 0\.9"):
        summarise(made(levels=np.array([0.5])))
    with pytest.raises(ValueError, match="at least one row"):
        summarise(made(0))
    with pytest.raises(ValueError, match=r"price reaches 1e\+303.*Divide that column"):
        summarise(made(5, y=np.array([1.0, 1e303, 2.0, 3.0, 4.0]), target="price"))


def test_one_row_and_one_network_are_named_in_the_singular():
    one = summarise(made(1, members=None, loss_curve=np.ones((1, 1))))
    text = as_json([*one.findings, *(figure.words() for figure in one.figures.values())]) + render(one)
    assert not re.search(r"\b1 (rows|networks|epochs|levels|regions)\b", text) and "of 1 row " in text
    assert "1 of 1 region covers less" in replace(one_bad_region(), n_searched=1).words()


def one_bad_region():
    p = made(1000)
    bad = p.features["group"] == "b"
    shown = summarise(replace(p, y=np.where(bad, p.y + 5, p.y))).figures["regions"]
    return replace(shown, n_beyond_chance=1)


def test_the_headline_can_have_another_level():
    summary = summarise(made(400), coverage=0.5)
    assert card(summary, "Coverage at 50 %").value == summary.levels[45].observed_text


@pytest.mark.slow
def test_a_million_rows_do_not_enlarge_the_page():
    """A page of a million rows is as large as one of a thousand."""
    levels = np.array([0.5, 0.9, 0.95])
    summary = summarise(made(1_000_000, levels=levels))
    assert len(summary.sample.y) == 400 and len(as_json(summary)) < 500_000
    assert len(as_json(summarise(made(1000, levels=levels)))) > 0.7 * len(as_json(summary))
