"""The report as people use it: with a mouse, a keyboard, a phone, in the dark, on paper."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from extranets.evaluation import coverage_table
from extranets.plots.drawing import percent, share_range, short, tick_labels
from extranets.report import render, summarise, summarise_run, write
from extranets.studies import registry
from tests.report import run_folders
from tests.report.examples import EVIL, fitted, made, of_size
from tests.report.test_html import contrast
from tests.report.test_summary import ODD

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


@pytest.fixture
def page(open_page, report):
    return open_page(report)


def move(page, index):
    """Move the slider as a mouse would, but to an exact position."""
    page.locator("#level").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }", index
    )


def read(page):
    return {
        name: page.locator(f"#{name}").inner_text() for name in ("nominal", "observed", "limits", "width", "verdict")
    }


# -- the slider --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [0, 20, 45, 85, 94])
def test_the_slider_shows_the_coverage_that_python_computes(page, index):
    move(page, index)
    p = fitted()
    row = coverage_table(p)[index]
    observed = ((p.bounds[:, 0, index] <= p.y) & (p.y <= p.bounds[:, 1, index])).mean()
    assert read(page) == {
        "nominal": percent(p.levels[index]),
        "observed": percent(observed),
        "limits": share_range(row.low, row.high),
        "width": short(float((p.bounds[:, 1, index] - p.bounds[:, 0, index]).mean())),
        "verdict": row.verdict,
    }


@pytest.mark.parametrize("index", [0, 45, 94])
def test_the_drawn_intervals_and_misses_are_those_of_the_rows(page, index):
    move(page, index)
    missed = summarise(fitted()).sample.covered[index].count("0")
    assert page.locator("#rows-figure .interval").count() == 400
    assert page.locator("#rows-figure .interval.miss").count() == missed
    assert page.locator("#rows-figure path.mark.miss").count() == missed  # crosses
    assert page.locator("#rows-figure circle.mark").count() == 400 - missed
    assert page.locator("#rows-words").inner_text().startswith(f"{missed} of the 400 rows")


def test_intervals_grow_with_the_level(page):
    def lengths(index):
        move(page, index)
        ends = "lines => lines.map(line => Math.abs(line.getAttribute('y2') - line.getAttribute('y1')))"
        return np.mean(page.locator("#rows-figure .interval").evaluate_all(ends))

    page.check("input[value=errors]")
    assert lengths(5) < lengths(45) < lengths(85)


def test_the_keyboard_moves_the_slider_and_the_mark(page):
    slider = page.locator("#level")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "level":
            break
    assert page.evaluate("document.activeElement.id") == "level"
    assert read(page)["nominal"] == "90 %"
    before = page.locator("circle.chosen").get_attribute("cx")
    page.keyboard.press("ArrowRight")
    assert read(page)["nominal"] == "91 %" and slider.get_attribute("aria-valuetext") == "91 %"
    assert float(page.locator("circle.chosen").get_attribute("cx")) > float(before)
    page.keyboard.press("Home")
    assert read(page)["nominal"] == "5 %"
    page.keyboard.press("End")
    assert read(page)["nominal"] == "99 %"


def test_the_mouse_moves_the_slider(page):
    page.locator("#level").click()  # clicks its middle
    assert read(page)["nominal"] in ("51 %", "52 %", "53 %")


def test_both_views_mark_the_same_rows(page):
    missed = page.locator("#rows-figure .interval.miss").count()
    page.check("input[value=errors]")
    assert page.locator("#rows-figure .interval.miss").count() == missed
    assert "minus predicted" in page.locator("#rows-figure svg").text_content()


def test_the_readout_is_announced(page):
    output = page.locator("output")
    assert output.get_attribute("aria-live") == "polite" and output.get_attribute("for") == "level"


# -- for everyone ------------------------------------------------------------------------------------------------------


def test_every_figure_has_a_name(page):
    svgs = page.locator("svg:visible")
    assert svgs.count() >= 17
    for svg in svgs.all():
        named = svg.evaluate(
            "s => s.getAttribute('aria-label') || s.getAttribute('aria-labelledby').split(' ').map(i => document.getElementById(i).textContent).join(' ')"
        )
        assert svg.get_attribute("role") == "img" and len(named) > 40 and any(sign.isdigit() for sign in named)
    assert page.get_by_role("img").count() == svgs.count()


def test_a_skip_link_comes_first(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"


def colours(page, selector="body"):
    script = "e => [getComputedStyle(e).color, getComputedStyle(document.body).backgroundColor]"
    pair = page.locator(selector).first.evaluate(script)
    return ["#" + "".join(f"{int(part):02x}" for part in rgb[4:-1].split(",")) for rgb in pair]


@pytest.mark.parametrize("selector", ["body", "figcaption", ".lead", "nav a", "td", "figcaption strong"])
def test_light_and_dark_differ_and_both_are_readable(open_page, report, selector):
    light = colours(open_page(report, color_scheme="light"), selector)
    dark = colours(open_page(report, color_scheme="dark"), selector)
    assert light[0] != dark[0] and light[1] != dark[1]
    assert contrast(*light) >= 4.5 and contrast(*dark) >= 4.5


def test_figures_change_with_the_theme_at_a_click(page):
    curve = page.locator("svg.figure path[style*='--accent']").first
    stroke = "e => getComputedStyle(e).stroke + getComputedStyle(e).fill"
    before, body = curve.evaluate(stroke), colours(page)
    page.get_by_role("button", name="Dark colours").click()
    assert curve.evaluate(stroke) != before and colours(page) != body
    page.get_by_role("button", name="Light colours").click()
    assert curve.evaluate(stroke) == before and colours(page) == body


def test_names_given_by_users_run_no_script(page):
    assert page.locator("img").count() == 0
    assert EVIL in page.locator("h1").inner_text()
    assert EVIL in page.locator(".about dt").last.inner_text()


# -- everywhere --------------------------------------------------------------------------------------------------------


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_a_phone_shows_the_page_without_sideways_scrolling(open_page, report):
    page = open_page(report, **PHONE)
    page.locator("details").first.evaluate("d => d.open = true")
    assert overflow(page) <= 0
    for svg in page.locator("svg:visible").all():
        box = svg.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 361
    sizes = page.locator("svg.figure:visible text").evaluate_all("t => t.map(e => e.getBoundingClientRect().height)")
    assert np.median(sizes) > 7


def test_a_narrower_window_is_drawn_anew(page):
    wide = page.locator("#rows-figure svg").get_attribute("viewBox")
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function(
        "box => document.querySelector('#rows-figure svg').getAttribute('viewBox') !== box", arg=wide
    )
    assert overflow(page) <= 0 and page.locator("#rows-figure .interval").count() == 400


def test_paper_shows_no_controls_and_light_colours(open_page, report):
    page = open_page(report, color_scheme="dark", viewport={"width": 690, "height": 1000})  # A4 between its margins
    page.emulate_media(media="print", color_scheme="dark")
    assert overflow(page) <= 0
    for selector in ("nav", "#theme", ".controls", ".views"):
        assert not page.locator(selector).is_visible()
    assert page.locator("#rows-figure svg").is_visible() and page.locator(".cards").is_visible()
    ink, paper = colours(page)
    assert paper == "#ffffff" and contrast(ink, paper) > 10
    assert page.pdf(format="A4")[:4] == b"%PDF"


def test_the_static_figure_is_shown_without_scripts(open_page, report):
    page = open_page(report, java_script_enabled=False)
    assert not page.locator("#level").is_visible() and not page.locator("#theme").is_visible()
    assert page.locator("#intervals ~ noscript svg.figure").is_visible()


@pytest.mark.parametrize("settings", [{}, {"color_scheme": "dark"}, PHONE], ids=["desktop", "dark", "phone"])
def test_screenshots_are_not_blank(open_page, report, tmp_path, settings):
    page = open_page(report, **settings)
    path = tmp_path / "report.png"
    page.screenshot(path=path, full_page=True)
    assert Image.open(path).height > 3000
    for svg in page.locator("svg:visible").all():
        drawn = np.asarray(Image.open(io.BytesIO(svg.screenshot())).convert("RGB"))
        assert drawn.reshape(-1, 3).std(axis=0).max() > 4


@pytest.mark.parametrize("name", ["five rows", "infinite bounds", "zero variance", "one row"])
def test_odd_predictions_make_a_working_page(open_page, tmp_path, name):
    path = tmp_path / "odd.html"
    path.write_text(render(summarise(ODD[name])), encoding="utf-8")
    page = open_page(path)
    for index in (0, 94):
        move(page, index)
        assert page.locator("#rows-figure .interval").count() == len(ODD[name])
    if name == "infinite bounds":
        lengths = page.locator("#rows-figure .interval").evaluate_all("all => all.map(e => e.getBBox().height)")
        assert min(lengths) > 200  # from edge to edge
    assert "NaN" not in page.locator("#rows-figure").inner_html() + page.locator("#curve-figure").inner_html()


@pytest.mark.parametrize("name", registry())
def test_a_run_is_shown(open_page, tmp_path, name):
    summary = summarise_run(run_folders.make(name, tmp_path / "run"))
    (tmp_path / "run.html").write_text(render(summary), encoding="utf-8")
    page = open_page(tmp_path / "run.html", **PHONE)
    assert overflow(page) <= 0
    assert page.get_by_role("img").count() == sum(len(display.panels) for display in summary.figures.values())
    tables = [*summary.beside, *summary.tables]
    assert all(page.get_by_role("table", name=table.caption, exact=True).is_visible() for table in tables)
    assert all(page.get_by_text(meaning, exact=True).is_visible() for meaning in summary.meanings)
    assert len(summary.comparison) > 0 or name in ("hypotheses", "decorrelation")  # beyond the paper
    if summary.comparison:
        assert page.locator("td small.none, td small.reproduced").first.is_visible()
        printed = page.get_by_role("table", name=summary.compared.caption)
        assert not printed.is_visible()
        page.get_by_text(
            f"All {len(summary.comparison)} printed figures, with differences and notes", exact=True
        ).click()
        assert printed.is_visible() and printed.locator("tbody tr").count() == len(summary.comparison)


def test_long_names_do_not_run_out_of_the_page(open_page, tmp_path):
    name = "n" * 200
    p = made(400, target=name, features={name: made(400).features["group"]}, about={name: name})
    write(summarise(p), tmp_path / "long.html")
    for settings in ({}, PHONE):
        page = open_page(tmp_path / "long.html", **settings)
        assert overflow(page) <= 0
        beyond = "all => all.filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth).length"
        assert page.locator("svg text").evaluate_all(beyond) == 0
        wide = "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
        assert page.locator("h1, .findings li, .card, figcaption, .about div").evaluate_all(wide) == 0


def test_few_rows_are_marked_as_such(open_page, tmp_path):
    write(summarise(made(15)), tmp_path / "few.html")
    page = open_page(tmp_path / "few.html")
    mark = "all => all.map(e => getComputedStyle(e, '::before').content.trim())"
    assert set(page.locator(".findings li").evaluate_all(mark)) == {'"○ "'}
    assert not page.locator(".card.good, .card.bad").count()


# -- targets of any size -----------------------------------------------------------------------------------------------

SIZES = {  # factor and shift of targets between about -15 and 15
    "1e-9": (1e-9, 0.0),
    "1": (1.0, 0.0),
    "1e5": (3e4, 0.0),
    "1e9": (1e9, 0.0),
    "1e12": (1e12, 0.0),
    "1e15": (1e15, 0.0),
    "1e12 ± 1000": (100.0, 1e12),
}
# The boxes of letters are a little higher than the letters.
COVERED = """labels => labels.map(e => [e.textContent, e.getBoundingClientRect()]).flatMap(([text, a], i, all) =>
    all.slice(i + 1).filter(([_, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3).map(([other, _]) => [text, other]))"""


def number(text):
    return float(text.replace(",", "").replace("+", ""))


@pytest.fixture(scope="module", params=SIZES)
def sized(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("sizes") / "report.html"
    write(summarise(of_size(made(300), *SIZES[request.param])), path)
    return path


@pytest.mark.parametrize("settings", [{}, PHONE], ids=["desktop", "phone"])
def test_numbers_of_any_size_have_room(open_page, sized, settings):
    page = open_page(sized, **settings)
    too_wide = "boxes => boxes.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)"
    for selector in (".card", ".card p", ".readout span", ".findings li"):
        assert page.locator(selector).evaluate_all(too_wide) == []
    for figure in page.locator("#rows-figure, #curve-figure, svg.figure:visible").all():
        assert figure.locator("text").evaluate_all(COVERED) == []
    page.check("input[value=errors]")
    assert page.locator("#rows-figure text").evaluate_all(COVERED) == [] and overflow(page) <= 0


def test_ticks_of_any_size_are_distinct_and_equal_those_of_python(open_page, sized):
    page = open_page(sized)
    for axis in ("x", "y"):
        texts = page.locator(f"#rows-figure .{axis}-tick").all_text_contents()
        base = "".join(page.locator(f"#rows-figure .{axis}-base").all_text_contents()).removeprefix("+ ")
        values = np.array([number(text) for text in texts]) + (number(base) if base else 0.0)
        assert len(texts) >= 2 and len(set(texts)) == len(texts)
        assert np.diff(values) == pytest.approx(np.diff(values)[0], rel=1e-3)
        assert tick_labels(values) == (texts, base)
