"""What all displays share, and the numbers of each."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import rcParams
from matplotlib.figure import Figure
from scipy import stats

from extranets import ExtraNetsRegressor, plots
from extranets.data import linear_process
from extranets.evaluation import NamedValues, binomial_limits
from extranets.plots.intervals import shown_rows
from extranets.predictor.distributions import Normal
from extranets.uncertainty import predictive
from tests.report.examples import fitted, made

ALL = [getattr(plots, name) for name in plots.__all__]
DISPLAYS = [
    display for display in ALL if hasattr(display, "from_estimator") and display is not plots.PartsDisplay
]  # which is a base


def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def model():
    X, y, X_test, y_test = linear_process(300, random_state=0).split(200)
    return ExtraNetsRegressor(4, max_iter=10, random_state=0).fit(X, y), X_test, y_test


# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("display", DISPLAYS)
def test_from_estimator_draws_into_the_given_axes(display, model):
    target = ax()
    order = {"groups": np.arange(100) % 3, "time": np.arange(100)}
    shown = display.from_estimator(*model, coverage=0.8, **order, ax=target)
    assert shown.ax_ is target and shown.figure_ is target.figure
    assert target.has_data() or target.collections or target.patches


@pytest.mark.parametrize("display", DISPLAYS)
def test_every_panel_is_drawn_and_has_words_with_numbers(display):
    shown = display.of(fitted())
    for panel in shown.panels:
        target = ax()
        shown.plot(target, panel=panel)
        target.figure.draw_without_rendering()  # a dollar in a name does not begin a formula
        assert shown.title(panel) and any(sign.isdigit() for sign in shown.words(panel))


@pytest.mark.parametrize("display", DISPLAYS)
def test_an_unknown_panel_is_refused(display):
    with pytest.raises(ValueError, match="panel must be one of"):
        display.of(fitted()).plot(ax(), panel="no such panel")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("display", DISPLAYS)
def test_targets_that_are_not_finite_are_refused(display, bad):
    p = made(100, loss_curve=np.ones((6, 3)))
    y = p.y.copy()
    y[7] = bad
    with pytest.raises(ValueError, match=f"^y must be finite; got {bad} in row 7"):
        display.of(replace(p, y=y))


def test_every_public_display_can_be_used():
    assert len(DISPLAYS) == 12 and all(not getattr(display, "__abstractmethods__", None) for display in DISPLAYS)


def test_estimators_may_be_fitted_to_arrays_and_frames(model):
    _, X, y = model
    assert {f.name for f in plots.WidthByFeatureDisplay.from_estimator(*model, ax=ax()).features} == {
        f"x{j}" for j in range(X.shape[1])
    }
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = ExtraNetsRegressor(2, max_iter=2, random_state=0).fit(frame, y)
    assert {f.name for f in plots.WidthByFeatureDisplay.from_estimator(named, frame, y, ax=ax()).features} == set(
        "abcde"
    )


def test_without_axes_pyplot_makes_them(model):
    import matplotlib

    before = matplotlib.get_backend()
    matplotlib.use("Agg")
    try:
        from matplotlib import pyplot

        shown = plots.PredictionIntervalDisplay.from_estimator(*model)
        assert shown.figure_ is pyplot.gcf()
        pyplot.close(shown.figure_)
    finally:
        matplotlib.use(before)


def test_drawing_changes_no_settings():
    before = dict(rcParams)
    for display in DISPLAYS:
        display.of(fitted()).plot(ax())
    assert dict(rcParams) == before


def test_importing_them_loads_neither_matplotlib_nor_jinja():
    code = "import sklearn.base, sys; before = set(sys.modules); import extranets.plots, extranets.report; "
    code += "print({'matplotlib', 'jinja2'} & (set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# -- each of them ------------------------------------------------------------------------------------------------------


def test_intervals_show_misses_and_a_sample_that_spans_the_predictions():
    p = made(5000)
    shown = plots.PredictionIntervalDisplay.of(p, 0.5)
    lower, upper = p.at(0.5)
    assert shown.observed == ((lower <= p.y) & (p.y <= upper)).mean()
    assert len(shown.y) == 400 and "400 of them" in shown.words()
    assert np.quantile(shown.mean, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(p.mean, [0.1, 0.5, 0.9]), abs=0.1)
    target = shown.plot(ax()).ax_
    inside, outside = (line.get_xdata() for line in target.lines[:2])
    assert len(outside) == ((shown.y < shown.lower) | (shown.y > shown.upper)).sum()
    assert len(inside) + len(outside) == 400


def test_shown_rows_are_distinct():
    rows = shown_rows(np.zeros(1001), 400)
    assert len(np.unique(rows)) == 400 and (np.diff(rows) > 0).all()


def test_infinite_intervals_end_at_the_frame():
    p = made(50)
    bounds = p.bounds.copy()
    bounds[:25, 0], bounds[:25, 1] = -np.inf, np.inf
    target = plots.PredictionIntervalDisplay.from_predictions(replace(p, bounds=bounds), ax=ax()).ax_
    assert np.isfinite(target.get_ylim()).all()


def test_calibration_tells_whether_levels_are_kept():
    good, bad = (plots.CalibrationDisplay.of(made(2000, scale=scale)) for scale in (1.0, 1.5))
    assert good.as_hoped and good.error < 0.02
    assert not bad.as_hoped and bad.error > 0.1 and bad.kept < 20
    assert f"at {bad.kept} of 95 levels, but not at 90 %. The curve as a whole is farther off than" in bad.words()
    assert f"at {good.kept} of 95 levels. The curve as a whole is no farther off than chance allows" in good.words()
    assert (bad.low <= bad.observed).all() and (bad.observed <= bad.high).all()


def test_calibration_blames_a_right_model_as_rarely_as_it_says():
    """5 % for the curve; four standard errors of a share of 200 tables are 0.062. Errors too large by half are seen."""
    found = [plots.CalibrationDisplay.of(made(300, seed=seed)).in_band for seed in range(200)]
    assert 0.95 - 0.062 < np.mean(found) < 1
    assert not any(plots.CalibrationDisplay.of(made(300, scale=1.5, seed=seed)).in_band for seed in range(20))


def test_calibration_quantiles_are_those_of_the_predictive_distribution():
    """4,000 rows of t(3): shares within 4 standard errors sqrt(p (1 - p) / n); not if they are taken for Normal."""
    p = made(4000, dof=3.0)
    shown, normal = plots.CalibrationDisplay.of(p), plots.CalibrationDisplay.of(replace(p, shape=Normal()))
    level = shown.quantile_levels
    margin = 4 * np.sqrt(level * (1 - level) / 4000)
    assert (np.abs(shown.quantile_observed - level) < margin).all() and shown.as_hoped
    assert not (np.abs(normal.quantile_observed - level) < margin).all()


def test_calibration_quantiles_show_a_shift():
    p = made(2000)
    shown = plots.CalibrationDisplay.of(replace(p, y=p.y + 1.0))
    assert (shown.quantile_observed < shown.quantile_levels).mean() > 0.9


def test_width_that_does_not_follow_the_error_is_found():
    p = made(3000)
    followed = plots.CoverageByWidthDisplay.of(p)
    assert followed.as_hoped and (np.diff(followed.error) > 0).all() and followed.n.sum() == 3000
    shuffled = np.random.default_rng(1).permutation(p.std)
    blind = replace(p, bounds=predictive.interval(p.mean, shuffled, p.levels))
    shown = plots.CoverageByWidthDisplay.of(blind)
    assert not shown.as_hoped and shown.observed[0] < 0.8 < shown.observed[-1]
    assert "differs from the nominal one beyond chance" in shown.words()


@pytest.mark.parametrize("display", [plots.CoverageByWidthDisplay, plots.RegionsDisplay])
def test_small_groups_are_too_few_to_tell(display):
    few, enough = display.of(made(60)), display.of(made(600))
    assert few.as_hoped is None and "the rows are too few to tell" in few.words()
    assert enough.as_hoped is True and "too few" not in enough.words()


def test_limits_hold_for_all_groups_at_once():
    shown = plots.CoverageByWidthDisplay.of(made(500))
    hits, n = round(shown.observed[0] * shown.n[0]), int(shown.n[0])
    assert (shown.low[0], shown.high[0]) == binomial_limits(hits, n, 0.99)  # 5 groups


def test_width_by_feature_puts_the_most_informative_feature_first():
    p = made(2000)
    shown = plots.WidthByFeatureDisplay.of(p)
    first = shown.features[0]
    assert shown.panels[0] == first.name == "width" and first.variation > 0.9
    assert shown.features[-1].variation < 0.05
    assert (np.diff(first.width) > 0).all() and first.epistemic_share == pytest.approx(0.25)
    lower, upper = p.at(0.9)
    assert np.average(first.width, weights=first.n) == pytest.approx((upper - lower).mean())
    assert first.n.sum() == 2000


def test_six_features_are_drawn_and_constant_ones_left_out():
    shown = plots.WidthByFeatureDisplay.of(fitted())
    assert len(shown.panels) == 6 and "constant" not in {feature.name for feature in shown.features}
    with pytest.raises(plots.NothingToShow, match="no feature that varies"):
        plots.WidthByFeatureDisplay.of(made(features={"constant": np.ones(600)}))


def test_residuals_find_a_bias_and_heavy_tails():
    p = made(2000)
    fair, shifted, wide = (plots.ResidualsDisplay.of(q) for q in (p, replace(p, y=p.y + 0.3), made(2000, scale=2.0)))
    assert fair.as_hoped and not shifted.as_hoped and shifted.bias == pytest.approx(fair.bias + 0.3)
    assert fair.far == pytest.approx(0.0455, abs=0.015) and wide.far > 0.25
    assert (fair.density * np.diff(fair.edges)).sum() == pytest.approx(1.0)
    assert wide.quantiles[-1] > 1.5 * wide.expected[-1]


@pytest.mark.parametrize(
    ("dof", "words"), [(None, "(Normal), 4.6 % are"), (3.0, "(Student's t with 3 degrees of freedom), 4.1 % are")]
)
def test_residuals_are_compared_with_the_predictive_distribution(dof, words):
    shape = stats.norm() if dof is None else stats.t(dof, scale=np.sqrt(1 / 3))
    shown = plots.ResidualsDisplay.of(made(100, dof=dof))
    assert shown.expected == pytest.approx(shape.ppf((np.arange(100) + 0.5) / 100))
    assert shown.expected_far == pytest.approx(2 * shape.sf(2)) and words in shown.words("histogram")
    assert f"that belong to them are {shape.ppf(0.005):.2f} and {shape.ppf(0.995):.2f}" in shown.words("quantiles")
    (line,) = shown.plot(ax(), panel="histogram").ax_.lines
    assert line.get_ydata() == pytest.approx(shape.pdf(line.get_xdata()))


def test_the_margin_of_a_bias_is_that_of_students_t():
    p = made(6)
    residual = p.y - p.mean
    low, high = stats.t.interval(0.95, 5, residual.mean(), residual.std(ddof=1) / np.sqrt(6))
    assert plots.ResidualsDisplay.of(p).bias_margin == pytest.approx((high - low) / 2)


@pytest.mark.parametrize(("dof", "multiple"), [(None, 1.6448536), (3.0, 2.3533634 / np.sqrt(3))])
def test_members_are_counted_from_the_first(dof, multiple):
    p = made(400, dof=dof)
    shown = plots.MembersDisplay.of(p)
    assert shown.n_members.tolist() == [1, 2, 3, 5, 6]
    for at, n in enumerate(shown.n_members):
        mean, spread = p.members[:n].mean(axis=0), p.members[:n].var(axis=0)
        assert shown.rmse[at] == pytest.approx(np.sqrt(np.mean((p.y - mean) ** 2)))
        width = 2 * multiple * np.sqrt(spread + p.aleatoric)
        assert shown.width[at] == pytest.approx(width.mean())
        assert shown.observed[at] == pytest.approx((np.abs(p.y - mean) <= width / 2).mean())
    lower, upper = p.at(0.9)
    assert shown.own_width == pytest.approx((upper - lower).mean())


@pytest.mark.parametrize("display", [plots.MembersDisplay, plots.CorrelationDisplay])
@pytest.mark.parametrize("members", [None, np.zeros((1, 600))], ids=["none", "one"])
def test_one_network_cannot_be_compared(display, members):
    with pytest.raises(plots.NothingToShow, match="two or more networks"):
        display.of(made(members=members))


def test_correlation_is_that_of_the_errors():
    p = made(500)
    shown = plots.CorrelationDisplay.of(p)
    expected = np.corrcoef(p.members - p.y)
    assert shown.correlation == pytest.approx(expected)
    pairs = expected[np.tril_indices(6, -1)]
    assert (shown.mean, shown.least, shown.most) == pytest.approx((pairs.mean(), pairs.min(), pairs.max()))


def test_at_most_forty_members_are_drawn_and_all_are_counted():
    p = made(100)
    members = p.mean + np.random.default_rng(0).normal(size=(90, 100))
    shown = plots.CorrelationDisplay.of(replace(p, members=members))
    assert shown.correlation.shape == (40, 40) and shown.members[0] == 0 and shown.members[-1] == 89
    assert shown.mean == pytest.approx(np.corrcoef(members - p.y)[np.tril_indices(90, -1)].mean())
    assert "40 of them are drawn" in shown.words()


def test_negative_correlations_are_drawn():
    p = made(200)
    error = np.random.default_rng(0).normal(size=200)
    shown = plots.CorrelationDisplay.from_predictions(replace(p, members=p.y + np.stack([error, -error])), ax=ax())
    assert shown.mean == pytest.approx(-1.0)


def test_learning_curves_end_where_networks_stop():
    curve = np.array([[4.0, 2.0, 1.0, np.nan], [8.0, 4.0, np.nan, np.nan], [6.0, 3.0, 2.0, np.nan], [np.nan] * 4])
    shown = plots.LearningCurveDisplay.of(made(loss_curve=curve))
    assert shown.epoch.tolist() == [1, 2, 3] and shown.running.tolist() == [3, 3, 2]
    assert shown.median.tolist() == [6.0, 3.0, 1.5] and shown.stopped.tolist() == [2]
    assert "1 network stopped" in shown.words()
    with pytest.raises(plots.NothingToShow, match="no loss"):
        plots.LearningCurveDisplay.of(made(loss_curve=None))


def parted(n=600, **changed):
    """Rows in order whose errors are half as large again from row 400 on, of three groups of which the second has larger ones, too."""
    p, at = made(n), np.arange(n)
    group = np.array(["a", "b", "c"])[at % 3]
    scale = np.where(at >= 400, 1.5, 1.0) * np.where(group == "b", 2.0, 1.0)
    order = {
        "time": NamedValues("day", pd.date_range("2024-01-01", periods=n).to_numpy()),
        "groups": NamedValues("shop", group),
    }
    return replace(p, y=p.mean + scale * (p.y - p.mean), **order, **changed)


@pytest.mark.parametrize(
    ("display", "labels"),
    [(plots.CoverageOverTimeDisplay, 10), (plots.CoverageByGroupDisplay, ["a", "b", "c"])],
)
def test_parts_have_the_coverage_of_their_rows(display, labels):
    p = parted()
    shown = display.of(p, 0.8)
    lower, upper = p.at(0.8)
    inside = (lower <= p.y) & (p.y <= upper)
    rows = [p.groups.values == each for each in labels] if labels != 10 else np.split(np.arange(600), 10)
    assert [part.n for part in shown.parts] == [len(p.y[own]) for own in rows]
    for part, own in zip(shown.parts, rows, strict=True):
        hits, n = int(inside[own].sum()), part.n
        assert (part.coverage, part.low, part.high) == (hits / n, *binomial_limits(hits, n, 1 - 0.05 / len(rows)))
        assert part.mean_width == pytest.approx((upper - lower)[own].mean())
        broken = part.high < 0.8 or part.low > 0.8
        assert (part in shown.broken) == broken == part.verdict.startswith(("too low", "too high"))
    assert shown.as_hoped is False and "beyond chance; the lowest is" in shown.words()
    assert labels == 10 or min(shown.parts, key=lambda part: part.coverage).label == "b"


def test_parts_blame_a_right_model_as_rarely_as_they_say():
    """5 % for all parts together; four standard errors of a share of 200 tables are 0.062. Without the correction, about 30 % would be
    blamed for one of ten."""
    found = []
    for seed in range(200):
        p = made(600, seed=seed)
        shown = plots.CoverageOverTimeDisplay.of(replace(p, time=NamedValues("row", np.arange(600))))
        found.append(shown.as_hoped is not False)
    assert np.mean(found) > 0.95 - 0.062


def test_few_rows_have_few_parts_of_time_and_small_groups_share_a_line():
    p = made(60)
    shown = plots.CoverageOverTimeDisplay.of(replace(p, time=NamedValues("row", np.arange(60))))
    assert [part.n for part in shown.parts] == [20, 20, 20] and shown.as_hoped is None
    shop = np.arange(600) % 37
    by_group = plots.CoverageByGroupDisplay.of(replace(made(600), groups=NamedValues("shop", shop)))
    assert len(by_group.parts) == 21 and by_group.parts[-1].label == "all others"
    assert sum(part.n for part in by_group.parts) == 600


def test_rows_outside_of_training_are_a_part_of_their_own():
    p, outside = made(600), np.arange(600) >= 560
    y = np.where(outside, p.mean + 9 * p.std, p.y)
    novelty = np.where(outside, 1.0, np.linspace(0, 1, 600))
    columns = {"age": outside, "income": np.arange(600) >= 590, "size": np.zeros(600, dtype=bool)}
    shown = plots.NoveltyDisplay.of(replace(p, y=y, novelty=novelty, outside=columns))
    assert [part.label for part in shown.parts] == ["0 to 0.5", "0.5 to 0.9", "0.9 to 0.99", "outside"]
    assert (shown.n_outside, shown.parts[-1].n, shown.parts[-1].coverage) == (40, 40, 0.0)
    assert [(column.name, column.n, column.coverage) for column in shown.columns] == [
        ("age", 40, 0.0),
        ("income", 10, 0.0),
    ]
    assert shown.words().startswith(
        "40 rows lie outside of what the training rows cover, in age, income; 0 % of them are covered."
    )
    assert shown.as_hoped is False
    inside = plots.NoveltyDisplay.of(replace(p, novelty=novelty * 0.9, outside={"age": np.zeros(600, dtype=bool)}))
    assert inside.words().startswith("No row lies outside") and inside.columns == [] and inside.as_hoped


@pytest.mark.parametrize(
    ("display", "why"),
    [
        (plots.CoverageOverTimeDisplay, "--time COLUMN"),
        (plots.CoverageByGroupDisplay, "--group COLUMN"),
        (plots.NoveltyDisplay, "fit it again"),
    ],
)
def test_what_was_not_named_is_not_shown(display, why):
    with pytest.raises(plots.NothingToShow, match=why):
        display.of(made())
