"""The page: complete in itself, safe, and usable by everyone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import extranets.report.html as html
from extranets.plots import CalibrationDisplay, ResidualsDisplay
from extranets.report import render, summarise, write
from extranets.report.svg import WIDTH, svg
from extranets.report.ticks import set_ticks
from tests.report.examples import EVIL, fitted, made, of_size
from tests.report.test_summary import ODD

STYLE = (Path(html.__file__).parent / "page" / "style.css").read_text()


class Elements(HTMLParser):
    """All elements with their attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    handle_startendtag = handle_starttag

    def handle_data(self, data):
        (self.scripts if self.found and self.found[-1][0] == "script" else self.text).append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def page():
    return render(summarise(fitted()))


@pytest.fixture(scope="module")
def elements(page):
    return Elements(page)


def test_nothing_is_fetched(page, elements):
    (policy,) = (meta["content"] for meta in elements.of("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and "connect-src" not in policy
    assert not elements.of("link") and not elements.of("img") and not elements.of("iframe")
    assert all("src" not in attributes for _, attributes in elements.found)
    assert all(a.get("href", "#").startswith("#") for _, a in elements.found)
    assert "url(" not in STYLE and "@import" not in STYLE
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {"http://www.w3.org/2000/svg"}  # a namespace, in the script


def test_names_given_by_users_are_shown_as_text(page, elements):
    assert EVIL not in page and not elements.of("img")
    data = json.loads(elements.scripts[0])
    assert data["target"] == f"price $ {EVIL}"  # and the JSON holds it unchanged
    assert EVIL in "".join(elements.text)


def test_what_is_known_of_the_model_has_a_line_for_each_entry_of_a_list(page):
    lines = re.search(r"<dt>parts</dt>(.*?)</div>", page, re.DOTALL)[1]
    assert [unescape(line) for line in re.findall("<dd>(.*?)</dd>", lines)] == ["one", EVIL]


@pytest.mark.parametrize(("dof", "name"), [(None, "Normal"), (3.0, "Student's t with 3 degrees of freedom")])
def test_the_page_names_the_distribution(dof, name):
    text = " ".join("".join(Elements(render(summarise(made(50, dof=dof)))).text).split())
    assert f"those of the predictive distribution: {name}." in text and f"shape of distribution ({name})" in text
    assert ("Normal" in text) == (dof is None)


def test_ids_are_unique_and_every_reference_has_its_id(elements):
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, a in elements.found:
        named = a.get("aria-labelledby", "").split() + a.get("aria-describedby", "").split() + a.get("for", "").split()
        links = [value[1:] for key, value in a.items() if key == "href" and value.startswith("#")]
        assert set(named + links + re.findall(r"url\(#(.*?)\)", a.get("clip-path", ""))) <= set(ids)


def test_every_figure_has_words(elements, page):
    figures = elements.of("svg")
    assert len(figures) == 20 and all(svg["role"] == "img" and svg["aria-labelledby"] for svg in figures)
    words = re.findall(r"<desc[^>]*>([^<]+)</desc>", page)
    assert len(words) == 20 and all(re.search(r"\d", text) for text in words)


def test_figures_take_their_colours_from_the_theme(page):
    drawn = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
    assert "var(--accent)" in drawn and "var(--muted)" in drawn and "var(--grid)" in drawn
    assert not re.findall(r"#[0-9a-f]{6}", " ".join(re.findall(r'style="[^"]*"', drawn)))
    assert "font-family" not in drawn and "<text" in drawn


def test_headings_are_in_order(elements):
    levels = [int(tag[1]) for tag, _ in elements.found if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1 and all(b - a <= 1 for a, b in pairwise(levels))


def test_tables_are_captioned_and_their_headings_have_a_scope(elements):
    assert len(elements.of("table")) == len(elements.of("caption")) == 7
    assert all(th.get("scope") in ("row", "col") for th in elements.of("th"))


def test_the_page_is_english_with_a_way_past_the_contents(elements):
    assert elements.of("html")[0]["lang"] == "en" and elements.of("a")[0]["href"] == "#main"
    assert elements.of("title") and any(meta.get("name") == "viewport" for meta in elements.of("meta"))
    assert any(label.get("for") == "level" for label in elements.of("label"))


def test_without_scripts_the_static_figure_is_there(page):
    (content,) = re.findall(r"<noscript>(.*?)</noscript>", page, flags=re.DOTALL)
    assert "<svg" in content and '<div id="slider" hidden>' in page


def test_the_same_predictions_make_the_same_bytes():
    one, other = (svg(CalibrationDisplay.of(made(40)), "", "name") for _ in range(2))
    assert one == other and 'id="name-title"' in one


@pytest.mark.parametrize("name", ["five rows", "infinite bounds"])
def test_odd_predictions_make_a_page(name):
    summary = summarise(ODD[name])
    text = "".join(Elements(render(summary)).text)
    assert all(reason in text for reason in summary.absent.values())
    assert not re.search(r"\b(nan|inf)\b", text)


# -- files -------------------------------------------------------------------------------------------------------------


def test_both_files_are_written_completely_and_nothing_else(tmp_path):
    summary = summarise(made(30, members=None, features={}))
    (tmp_path / "report.html").write_text("old")
    write(summary, tmp_path / "report.html", tmp_path / "report.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.json"]
    assert (tmp_path / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["n"] == 30


def test_a_missing_folder_is_named_before_anything_is_written(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        write(summarise(made(30, members=None, features={})), tmp_path / "report.html", tmp_path / "nowhere" / "r.json")
    assert not list(tmp_path.iterdir())


def test_one_name_for_two_files_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot both go into"):
        write(summarise(made(30)), tmp_path / "report.json", tmp_path / "report.json")


@pytest.mark.parametrize("package", ["pandas", "matplotlib", "jinja2"])
def test_a_missing_package_is_named_with_its_remedy(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf'needs {package}: pip install "\.\[report\]"'):
        summarise(made(10))


QUIET = """
import sys, matplotlib
from extranets.plots import CalibrationDisplay
from extranets.report.svg import svg
from tests.report.examples import made
before = matplotlib.rcParams.copy()  # to read them one by one would load pyplot
svg(CalibrationDisplay.of(made(30)), "", "name")
print("matplotlib.pyplot" in sys.modules, matplotlib.rcParams.copy() == before)
"""


def test_pyplot_and_the_users_settings_are_left_alone():
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(("factor", "shift"), [(1e-9, 0.0), (2e4, 0.0), (1e15, 0.0), (100.0, 1e12)])
def test_tick_labels_stand_side_by_side(factor, shift):
    """Their widths are those that matplotlib measures, with letters wider than those of the page."""
    figure = Figure(figsize=(WIDTH, 3.3), layout="constrained")
    ax = figure.subplots()
    ResidualsDisplay.of(of_size(made(300), factor, shift)).plot(ax)
    set_ticks(ax)
    figure.draw_without_rendering()
    for axis, ends in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        seen = [tick.label1 for tick in axis.get_major_ticks() if tick.label1.get_visible()]
        boxes = sorted(getattr(label.get_window_extent(), f"interval{ends}").tolist() for label in seen)
        assert len(boxes) >= 3 and all(a[1] < b[0] for a, b in pairwise(boxes))
    base = ax.xaxis.get_offset_text()
    assert bool(base.get_text()) == bool(shift)
    if shift:
        assert base.get_window_extent().y0 > ax.xaxis.label.get_window_extent().y1


def test_letters_that_matplotlib_lacks_are_left_to_the_browser():
    features = {"都市": np.array(["東京", "大阪"] * 50)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = render(summarise(made(100, features=features, target="価格")))
    assert "大阪" in "".join(re.findall(r"<text.*?</text>", page, flags=re.DOTALL))


# -- colours -----------------------------------------------------------------------------------------------------------


def palettes():
    """The variables of every block that sets them."""
    blocks = re.findall(r"\{[^{}]*--paper:[^{}]*\}", STYLE)
    return [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in blocks]


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_every_text_colour_is_readable_in_both_themes():
    light, dark, chosen_dark, printed = palettes()
    assert dark == chosen_dark and {k: printed[k] for k in ("ink", "accent", "miss")}.items() <= light.items()
    for palette in (light, dark, printed):
        for name in ("ink", "muted", "accent", "miss", "second", "third", "good"):
            assert contrast(palette[name], palette["paper"]) >= 4.5, (name, palette)
            assert contrast(palette[name], palette["raised"]) >= 4.5, (name, palette)


def test_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_rows_outside_and_their_columns_are_listed(page):
    text = " ".join("".join(Elements(page).text).split())
    assert "Columns with values outside of what the training rows cover" in text
    assert "10 rows lie outside of what the training rows cover, in x4" in text
    assert "Coverage over time at nominal 90" in text and "Coverage by group at nominal 90" in text


def test_what_was_not_named_is_said(page):
    text = " ".join("".join(Elements(render(summarise(made(50)))).text).split())
    assert (
        "(--time COLUMN)" in text
        and "(--group COLUMN)" in text
        and "does not keep what its training rows cover" in text
    )
