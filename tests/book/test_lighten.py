"""Pages load less and look the same."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from ismlit_book.figures.display import drawing
from ismlit_book.figures.live import slides
from ismlit_book.figures.stacking import NARROW
from matplotlib.figure import Figure

from tools.fold import fold
from tools.lighten import (
    FONTS,
    framed,
    icons,
    labelled,
    page,
    together,
    with_room,
)

PAGE = """<head>
<link href="../_static/styles/theme.css?digest=1" rel="stylesheet" />
<link rel="stylesheet" type="text/css" href="../_static/own.css?v=2" />
<script src="../_static/documentation_options.js?v=3"></script>
<script src="../_static/searchtools.js"></script>
<script src="../_static/sphinx-thebe.js"></script>
<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>
<script src="../_static/copybutton.js"></script>
<script>DOCUMENTATION_OPTIONS.pagename = 'x';</script>
<script src="https://example.org/x.js"></script>
</head>"""


def test_what_opens_a_part_of_the_sidebar_has_a_name():
    link = '<a class="reference internal" href="ch1/index.html">Chapter 1</a><details>'
    toggle = '<summary><span class="toctree-toggle"></span></summary>'
    assert '<summary aria-label="Pages of Chapter 1"><span' in page(link + toggle)
    assert "aria-label" not in page(toggle)


def test_a_page_waits_for_no_script():
    text = page(PAGE)
    assert text.count("stylesheet") == 2
    assert '<script defer src="../_static/copybutton.js">' in text
    assert "searchtools" not in text and "thebe" not in text and "fontawesome" not in text
    assert '<script src="../_static/documentation_options.js?v=3">' in text
    assert '<script src="https://example.org/x.js">' in text


def test_the_page_of_the_search_keeps_its_scripts():
    assert "searchtools.js" in page(PAGE + '<div id="search-results"></div>')


def test_a_stop_stays_with_its_formula():
    formula = '<span class="math notranslate nohighlight">\\(W\\)</span>'
    text = together(f"({formula}), and {formula} is")
    assert text == f'<span class="one-line">({formula}),</span> and {formula} is'


def test_icons_of_the_theme_itself_are_kept(tmp_path):
    """What an admonition begins with stands in a variable of the style sheet, by no class."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.ttLib import TTFont
    from fontTools.ttLib.tables._g_l_y_f import Glyph

    fonts = tmp_path / "vendor" / "fontawesome" / "webfonts"
    fonts.mkdir(parents=True)
    (tmp_path / "styles").mkdir()
    sheet = 'a{src: url(x/fa-solid-900.woff2) format("woff2"),url(x/fa-solid-900.ttf)}'
    sheet += '.x{--pst-icon-bell:"\\f0f3"}.fa-moon:before{content:"\\f186"}'
    (tmp_path / "styles" / "theme.css").write_text(sheet + '.fa-sun:before{content:"\\f185"}')
    codes = {0xF0F3: "bell", 0xF186: "moon", 0xF185: "sun"}
    for name in FONTS:
        builder = FontBuilder(1000, isTTF=True)
        builder.setupGlyphOrder([".notdef", *codes.values()])
        builder.setupCharacterMap(codes)
        builder.setupGlyf({glyph: Glyph() for glyph in (".notdef", *codes.values())})
        builder.setupHorizontalMetrics({g: (500, 0) for g in (".notdef", *codes.values())})
        builder.setupHorizontalHeader()
        builder.setupPost()
        builder.save(fonts / f"{name}.ttf")
        (fonts / f"{name}.woff2").touch()
    icons(tmp_path, {"fa-moon"})
    assert set(TTFont(fonts / f"{FONTS[0]}.ttf").getBestCmap()) == {0xF0F3, 0xF186}
    assert "woff2" not in (tmp_path / "styles" / "theme.css").read_text()


def test_a_wide_picture_can_scroll(tmp_path):
    for width in (580, 620):
        (tmp_path / f"{width}.svg").write_text(f'<svg xmlns="x" width="{width}" height="400">')
    small, large = (f'<img alt="x" src="../../_images/{width}.svg" />' for width in (580, 620))
    pixels = '<img src="../_images/a.png" style="width: 872px; height: 352px;" />'
    (tmp_path / "a.png").write_bytes(b"png")
    assert "wide-picture" not in framed(small, tmp_path)
    for wide in (large, pixels):
        assert framed(wide, tmp_path).startswith('<div class="wide-picture"><img ')


def test_a_phone_has_the_panels_of_a_wide_picture_below_each_other(tmp_path):
    """Five of a fifth of the width: two, two and one, each looking at its part of the whole."""
    figure = Figure(figsize=(10, 2.5), layout="constrained")
    for k, ax in enumerate(figure.subplots(1, 5)):
        ax.plot([0, 1], gid=f"line{k}")
    (tmp_path / "five.svg").write_text(drawing(figure), encoding="utf8")
    text = framed('<img alt="x" src="../_images/five.svg" />', tmp_path)
    assert text.startswith('<picture><source media="(max-width: 599px)" srcset="../_images/five-s')
    stacked = ET.parse(tmp_path / "five-stacked.svg").getroot()
    panels = [{k: float(v) for k, v in p.attrib.items() if k in ("x", "y")} for p in stacked[1:]]
    assert [round(p["x"]) == 0 for p in panels] == [True, False, True, False, True]
    assert int(stacked.get("width")) <= NARROW and len({p["y"] for p in panels}) == 3
    views = [[float(v) for v in p.get("viewBox").split()] for p in stacked[1:]]
    for before, after in pairwise(views):  # nothing twice
        assert before[0] + before[2] <= after[0] + 0.11


def test_a_caption_says_top_and_bottom_where_panels_stand_below_each_other(tmp_path):
    """Of two panels that stand so, and of the figure above it alone; not of hands and rights."""
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    figure.subplots(1, 2)
    (tmp_path / "two.svg").write_text(drawing(figure), encoding="utf8")
    (tmp_path / "small.svg").write_text('<svg xmlns="x" width="400" height="300">')
    said = '<p class="figure-caption">Left: what is left (left). Right: at right angles.</p>'
    wide, small = (
        f'<img alt="x" src="../_images/{name}.svg" />{said}' for name in ("two", "small")
    )
    assert framed(small, tmp_path).endswith(said)
    text = framed(f"{wide} words {wide}", tmp_path)
    narrow = re.sub(r'<span class="wide-word">\w+</span>|<[^>]*>', "", text)
    assert narrow == " words ".join(["Top: what is left (top). Bottom: at right angles."] * 2)
    wide = re.sub(r'<span class="narrow-word">\w+</span>|<[^>]*>', "", text)
    assert wide == " words ".join([re.sub("<[^>]*>", "", said)] * 2)


@pytest.mark.parametrize(("width", "says"), [(9, "Top: a. Bottom: b."), (6, "Left: a. Right: b.")])
def test_the_caption_of_a_moving_figure_says_so_too(width, says, tmp_path):
    """Where it is wide."""

    def draw(value):
        figure = Figure(figsize=(width, 3), layout="constrained")
        figure.subplots(1, 2)
        return figure

    film = slides(draw, [1, 2], "value", "two panels").data
    caption = '<p class="figure-caption">Left: a. Right: b.</p>'
    text = framed(f"{film}</div>{caption}", tmp_path)
    narrow = re.sub(r'<span class="wide-word">\w+</span>|<[^>]*>', "", text[-400:])
    assert narrow.endswith(says)
    assert len(re.findall("wide-word", text)) == (2 if width == 9 else 0)


@pytest.mark.parametrize("width", [9, 6])
def test_the_code_of_a_moving_figure_is_folded(width):
    def draw(value):
        figure = Figure(figsize=(width, 3), layout="constrained")
        figure.subplots(1, 2)
        return figure

    code = "def draw(k):\n" + 5 * "    ax.plot([0, k])\n" + "slides(draw, [1, 2])"
    shown = {"data": {"text/html": slides(draw, [1, 2], "value", "two panels").data}}
    cell = {"cell_type": "code", "metadata": {}, "source": [code], "outputs": [shown]}
    text = fold(f'<div class="cell_input"><pre>{code}</pre></div>', {"cells": [cell]})
    assert 'data-says="Code of the figure"' in text


def test_below_each_other_panels_that_share_a_scale_have_it_each(tmp_path):
    """Two of four: the second row begins with the first panel's numbers, at its own height."""
    figure = Figure(figsize=(10, 2.5), layout="constrained")
    panels = figure.subplots(1, 4, sharey=True)
    for k, ax in enumerate(panels):
        ax.plot([0, k], [0, 1000])
    panels[0].set_ylabel("the scale")
    (tmp_path / "four.svg").write_text(drawing(figure), encoding="utf8")
    framed('<img alt="x" src="../_images/four.svg" />', tmp_path)
    stacked = ET.parse(tmp_path / "four-stacked.svg").getroot()
    views = [[float(v) for v in p.get("viewBox").split()] for p in stacked[1:]]
    begins = [float(p.get("x")) == 0 for p in stacked[1:]]
    assert begins.count(True) > 1 and begins[0]
    scales = [view for view, first in zip(views[1:], begins[1:], strict=True) if first]
    corner = figure.get_tightbbox().x0 - 0.1  # inches, less what is left around a saved figure
    axis = 72 * (panels[0].get_window_extent().x0 / figure.dpi - corner)
    for start, _, width, _ in scales:
        assert start < 1 and axis - 2 < start + width < axis  # all that is left of the axis
    assert len(views) == 4 + len(scales)


def test_a_wide_picture_of_one_panel_scrolls(tmp_path):
    figure = Figure(figsize=(10, 2.5))
    figure.add_subplot()
    (tmp_path / "one.svg").write_text(drawing(figure), encoding="utf8")
    text = framed('<img alt="x" src="../_images/one.svg" />', tmp_path)
    assert text.startswith('<div class="wide-picture"><img ')


def test_pictures_have_their_place_and_come_when_they_are_near(tmp_path):
    (tmp_path / "a.svg").write_text('<svg xmlns="x" width="500" height="400">')
    text = framed(2 * '<img alt="x" src="_images/a.svg" />' + '<img src="_static/b.svg">', tmp_path)
    assert text == (
        '<img fetchpriority="high" width="500" height="400" alt="x" src="_images/a.svg" />'
        '<img loading="lazy" width="500" height="400" alt="x" src="_images/a.svg" />'
        '<img src="_static/b.svg">'
    )


def test_a_formula_keeps_its_room_and_its_text():
    """More for more letters; what sets a letter upright takes none."""
    span = '<span class="math notranslate nohighlight">\\({}\\)</span>'
    rooms = [
        float(re.search("--room: ([0-9.]+)em", with_room(span.format(tex)))[1])
        for tex in (r"W", r"\mathrm{W}", r"\Phi(W)", r"\Phi(W) = \lambda W")
    ]
    assert rooms[0] == rooms[1] < rooms[2] < rooms[3]
    assert r"\(\Phi(W)\)" in with_room(span.format(r"\Phi(W)"))


def test_a_cell_of_a_table_names_its_column():
    """Where a phone shows a row as a card; a wide table scrolls, one of numbers before others."""
    row = "".join
    table = lambda n, mark="": (
        '<table class="table"><thead><tr>'
        + row(f'<th class="head"{mark}><p>h{k}</p></th>' for k in range(n))
        + "</tr></thead><tbody><tr>"
        + row(f"<td{mark}><p>{k}</p></td>" for k in range(n))
        + "</tr></tbody></table>"
    )
    number = ' data-number=""'
    assert '<td data-label="h1" data-number=""><p>1</p></td>' in labelled(table(3, number))
    assert labelled(table(4, number)) == table(4, number)
    assert '<td data-label="h3"><p>3</p></td>' in labelled(table(5))
    assert labelled(table(6)) == table(6)
