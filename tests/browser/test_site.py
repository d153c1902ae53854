"""Every page of the built book, as files and as Chromium shows it on a phone.

``make test`` builds the book first. Without ``_build/html`` or without Chromium the tests skip.
When the book carries its own MathJax, whatever a page wants from outside is refused.
"""

import functools
import gzip
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from ismlit_book.record.ledger import ledger

from tools import npm, toc
from tools.lighten import COLUMN
from tools.print_book import print_page, serve

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
OWN_MATHJAX = (SITE / "_static" / "mathjax" / "tex-chtml-full.js").exists()
with_mathjax = pytest.mark.skipif(
    not OWN_MATHJAX, reason="the book has no MathJax of its own (npm was missing)"
)
TYPESET = (
    "() => document.querySelector('meta[name=mathjax]') ? true"  # when the book was built
    " : window.MathJax?.startup?.promise ? MathJax.startup.promise.then(() => true) : false"
)
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
AXE = "axe-core@4.10.3"
AXE_DIR = ROOT / ".axe"
THEMES = ("light", "dark")
LONG = ("book/ledger.html", "book/reproduction.html", "book/errata.html")
HEAVIEST = 1.5e6  # bytes that a page takes over the network when it is the first one seen
RAW_MARKUP = re.compile(
    r"\{(?:eq|ref|numref|doc|func|class|term|cite(?::\w+)?|prf:\w+)\}`|:::|\$\$|\\begin\{|\]\(#"
)


CLAIMS = "book/claims/"
SAMPLE = "thm-5.1 eq-5.2 tab-5.4-wine-gaussian tab-4.3 lem-A.0.3 new-ism-two-cycle".split()
"""Pages of claims that the browser opens: all of them have one template."""


def pages():
    """Pages of the book; not the redirect at the top, which has no content of its own."""
    found = [path.relative_to(SITE) for path in sorted(SITE.rglob("*.html"))]
    return [
        path.as_posix()
        for path in found
        if path.parts[0] != "_static"
        and path.name != "404.html"  # its links begin with the site's address
        and (not path.as_posix().startswith(CLAIMS) or path.stem in SAMPLE)
        and 'http-equiv="Refresh"' not in read(path)[:500]
    ]


def read(page):
    return (SITE / page).read_text(encoding="utf8")


PAGES = pages()  # none where the book is not built: what runs over them is skipped


def kind(page):
    """Chapter pages are of one kind, so are those that show code; most others are their own."""
    folder, _, name = page.removeprefix("book/").rpartition("/")
    return folder.rstrip("0123456789") or name


@functools.cache
def one_of_each_kind():
    """The first page of each kind: axe looks at it always, at others in slow and weekly tests."""
    first = {kind(page): page for page in reversed(PAGES) if page not in LONG}
    return {*first.values()}


def weekly_but_one_in(n, pages):
    """The pages as parameters of a test: one in n, others each time, and the rest weekly."""
    turn = int(os.environ.get("TURN") or 0) % n
    marks = lambda k: [pytest.mark.weekly] * (k % n != turn)
    return [pytest.param(page, marks=marks(k)) for k, page in enumerate(pages)]


def pages_to_open():
    """One of each kind, and of the others a ninth; of those that list the source, one alone."""
    of_source = [page for page in PAGES if page.startswith("_modules/")]
    listed = [page for page in PAGES if page not in of_source[1:]]
    first = one_of_each_kind()
    yield from (page for page in listed if page in first)
    yield from weekly_but_one_in(9, [page for page in listed if page not in first])


def pages_for_axe():
    """Other than one of each kind; weekly those of the record and the longest, minutes each."""
    for page in PAGES:
        if page not in one_of_each_kind():
            rare = page in LONG or page.startswith("book/record")
            yield pytest.param(page, marks=pytest.mark.weekly if rare else pytest.mark.slow)


class Collector(HTMLParser):
    """Ids, links and images of a page."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.images = set(), [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(filter(None, (attributes.get("id"), attributes.get("name"))))
        if tag in ("a", "link") and attributes.get("href"):
            self.links.append(attributes["href"])
        if tag in ("img", "script") and attributes.get("src"):
            self.links.append(attributes["src"])
        if tag == "img":
            self.images.append(attributes)


@functools.cache
def parsed(page):
    collector = Collector()
    collector.feed(read(page))
    return collector


def head_of(page):
    """What a page says of itself to those who share it: {name or property: content}."""
    found = re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"', read(page))
    return dict(found)


def kept(faults):
    """Of {what may be wrong: what is found} that of which something is found."""
    return {what: found for what, found in faults.items() if found}


def without_a_card(page):
    """What a page lacks that those who share it see: address, picture, icon."""
    if not page.startswith("book/"):
        return []
    said, text = head_of(page), read(page)
    picture = said["og:image"].removeprefix(toc.config()["html"]["baseurl"])
    return [
        what
        for what, is_there in {
            "title": said["og:title"],
            "address": said["og:url"].endswith(page),
            "picture": (SITE / picture).is_file(),
            "canonical": 'rel="canonical"' in text,
            "icon": 'rel="icon"' in text,
        }.items()
        if not is_there
    ]


def test_every_page_is_whole_as_a_file():
    """It can be shared, its links lead somewhere, its pictures have their words."""
    if not PAGES:
        pytest.skip("the book is not built (make book)")
    faults = {
        page: kept(
            {
                "card": without_a_card(page),
                "broken links": broken_links(page),
                "pictures without alternative text": without_words(page),
                "sides of panels below each other": sides_in_captions(page),
            }
        )
        for page in PAGES
    }
    assert kept(faults) == {}


def test_the_site_can_be_found():
    if not (SITE / "sitemap.xml").exists():
        pytest.skip("the book is not built (make book)")
    listed = read("sitemap.xml")
    assert all(f"/{page}<" in listed for page in PAGES)
    assert "one-claim" not in listed
    assert "og:image" in read("index.html") and "book/intro.html" in read("index.html")
    assert "404" in read("404.html") or "not found" in read("404.html").lower()


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.weekly)])
def test_every_claim_has_a_page_whose_links_lead_somewhere(every):
    """The links of one claim in so many: one template makes them all."""
    if not (SITE / CLAIMS).exists():
        pytest.skip("the book is not built (make book)")
    found = {path.name: CLAIMS + path.name for path in (SITE / CLAIMS).iterdir()}
    assert found.keys() == {f"{claim_id}.html" for claim_id in ledger()}
    some = sorted(found.values())[::every]
    assert {page: broken for page in some if (broken := broken_links(page))} == {}
    assert [page for page in found.values() if "@@" in read(page)] == [], "a slot is left"


def broken_links(page):
    broken = []
    for link in parsed(page).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link == "#":
            continue
        target = SITE / page
        if parts.path:
            target = Path(os.path.normpath(target.parent / unquote(parts.path)))
        if target.is_dir():
            target /= "index.html"
        if not target.is_file() or not target.is_relative_to(SITE):
            broken.append(link)
        elif parts.fragment and target.suffix == ".html":
            ids = parsed(target.relative_to(SITE).as_posix()).ids
            chosen = parts.fragment.startswith(("claim=", "verdict="))  # a choice, no anchor
            if unquote(parts.fragment) not in ids and not chosen:
                broken.append(link)
    return broken


def without_words(page):
    """Images without alternative text.

    Sphinx puts the file's name where the author gave none; that does not count.
    """
    without = []
    for image in parsed(page).images:
        if image.get("role") == "presentation":  # the words of the link beside it say the same
            continue
        alt = (image.get("alt") or "").strip()
        if not alt or re.search(r"\.(png|svg|jpe?g|gif|webp)$", alt):
            without.append(image.get("src"))
    return without


SIDES = re.compile(
    r"\b(?:Left|Right)\b|\((?:left|right)\b|; (?:left|right),|\b[Oo]n the (?:left|right)\b"
)


def sides_in_captions(page):
    """Captions that say top in place of left on a phone, and somewhere still left."""
    said = [
        re.sub(r'<span class="wide-word">\w+</span>|<[^>]*>', "", found[2])
        for found in COLUMN.finditer(read(page))
    ]
    return [words for words in said if SIDES.search(words)]


@pytest.fixture(scope="module")
def address():
    with serve(SITE) as address:
        yield address


def only_the_book(browser, address, size):
    """A tab which goes nowhere but to the book."""

    def refuse(route):
        if route.request.url.startswith((address, "data:", "blob:")):
            route.continue_()
        else:
            route.abort()

    tab = browser.new_page(viewport=size)
    if OWN_MATHJAX:
        tab.route("**/*", refuse)
    return tab


@pytest.fixture(scope="module")
def tab(address, browser):
    """The one in which every page is looked at, as on a phone."""
    return only_the_book(browser, address, PHONE)


@pytest.fixture(scope="module")
def desk(address, browser):
    """The one for what can be done on a page; see `on_page`."""
    return only_the_book(browser, address, DESKTOP)


@functools.cache
def transferred(path):
    """Bytes of a file over the network."""
    if not path.is_file():
        return 0
    data = path.read_bytes()
    return (
        len(gzip.compress(data)) if path.suffix in (".html", ".css", ".js", ".svg") else len(data)
    )


MEASURE = """async () => {
  document.querySelectorAll('details').forEach(d => { d.open = true; });
  document.querySelectorAll('.toggle-hidden').forEach(e => e.classList.remove('toggle-hidden'));
  const article = document.querySelector('article') || document.body;
  const broken = [];
  for (const image of article.querySelectorAll('img')) {
    try { image.loading = 'eager'; await image.decode(); } catch { broken.push(image.src); }
  }
  const text = article.cloneNode(true);
  text.querySelectorAll('pre, code, script, style, mjx-container').forEach(e => e.remove());
  const width = document.documentElement.clientWidth;
  const scrolls = e => e !== document.body && e !== document.documentElement
    && ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(e).overflowX);
  const wide = [...article.querySelectorAll('*')].filter(e => {
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.right <= width + 1) return false;
    for (let p = e.parentElement; p && p !== article; p = p.parentElement)
      if (scrolls(p)) return false;
    return true;
  }).map(e => e.tagName.toLowerCase() + '.' + e.className);
  return {
    broken, wide: wide.slice(0, 5), text: text.textContent,
    overflow: document.documentElement.scrollWidth - width,
    formulas: document.querySelectorAll('.math').length,
    cut: [...document.querySelectorAll('mjx-math')].filter(
      e => e.getBoundingClientRect().left < -1).map(e => e.textContent.slice(0, 80)),
    typeset: document.querySelectorAll('mjx-container').length,
    errors: [...document.querySelectorAll('mjx-merror')].map(
      e => e.getAttribute('data-mjx-error') || e.textContent),
    undefined_macros: [...document.querySelectorAll('mjx-mtext')].filter(
      e => e.style.color === 'red').map(e => e.closest('.math')?.id || e.outerHTML.slice(0, 200)),
  };
}"""


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, which looks for barriers as WCAG defines them."""
    if not npm.fetch(AXE, {"axe.min.js": "axe.min.js"}, AXE_DIR):
        return None
    return (AXE_DIR / "axe.min.js").read_text(encoding="utf8")


# Of coloured words of code, thousands a page, three of each kind are enough to see their contrast,
# and of a table 200 rows.
THINNED = """() => {
  const seen = {};
  for (const row of document.querySelectorAll('tbody tr:nth-child(n + 200)')) row.remove();
  for (const word of document.querySelectorAll('.highlight pre span[class], .sig span[class]')) {
    seen[word.className] = (seen[word.className] ?? 0) + 1;
    if (seen[word.className] > 3 && !word.children.length) word.replaceWith(word.textContent);
  }
}"""
BARRIERS = """async theme => {
  document.documentElement.dataset.theme = theme;
  const found = await axe.run({exclude: ['.citation-list']}, {
    runOnly: theme === 'light' ? ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']
      : {type: 'rule', values: ['color-contrast']},  // the rest is the same in both themes
    resultTypes: ['violations'],
    preload: false,
  });
  return found.violations
    .filter(v => ['serious', 'critical'].includes(v.impact))
    .flatMap(v => v.nodes.slice(0, 3).map(n => `${v.id}: ${n.html.slice(0, 120)} `
      + n.any.concat(n.all).map(c => c.message).join('; ').slice(0, 200)));
}"""


def look_at(page, tab, address):
    """Load a page, open all that can be opened, and note what the tests want to know."""
    complaints, files = [], set()

    def on_console(message):
        if message.type == "error":
            complaints.append(f"console: {message.text}")

    def on_page_error(error):
        complaints.append(f"script: {error}")

    def on_failed(demand):
        if demand.failure != "net::ERR_ABORTED":  # the next page was asked for before it came
            complaints.append(f"not loaded: {demand.url}")

    def on_response(response):
        files.add(SITE / urlsplit(response.url).path.removeprefix("/"))

    listeners = {
        "response": on_response,
        "console": on_console,
        "pageerror": on_page_error,
        "requestfailed": on_failed,
    }
    for event, listener in listeners.items():
        tab.on(event, listener)
    open_still(tab, address + page)
    has_mathjax = False
    refused = any("mathjax" in complaint for complaint in complaints)
    if tab.query_selector("script[src*='mathjax'], meta[name=mathjax]") and not refused:
        from playwright.sync_api import Error

        try:
            has_mathjax = bool(tab.wait_for_function(TYPESET, timeout=15_000))
        except Error:
            has_mathjax = False
    result = tab.evaluate(MEASURE)
    if result["overflow"] > 0 or result["wide"]:  # formulas just opened may still be moving
        tab.wait_for_timeout(2000)
        result = tab.evaluate(MEASURE)
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    found = dict(complaints=complaints, has_mathjax=has_mathjax, bytes=sum(map(transferred, files)))
    return result | found


def open_still(tab, address):
    """Go to a page on which nothing moves by itself."""
    tab.goto(address, wait_until="load")
    tab.add_style_tag(content="* { transition: none !important; animation: none !important; }")


def of_mathematics(seen):
    """Formulas that are not set, or set as errors; nothing where no MathJax is to be had."""
    if not seen["formulas"] or not (OWN_MATHJAX or seen["has_mathjax"]):
        return []
    unset = [f"{seen['typeset']} of {seen['formulas']}"]
    is_set = seen["has_mathjax"] and seen["typeset"] >= seen["formulas"]
    return seen["errors"] + seen["undefined_macros"] + (not is_set) * unset


@pytest.mark.parametrize("page", list(pages_to_open()))
def test_a_page_on_a_phone(page, tab, address, axe, until_none):
    """Loaded once: all that is wrong with it. "bytes": what a first visit loads, compressed."""
    seen = look_at(page, tab, address)
    complaints = seen["complaints"]
    if not OWN_MATHJAX:  # then no network is no fault of the page
        complaints = [c for c in complaints if "mathjax" not in c and "ERR_" not in c]
    faults = {
        "complaints": complaints + seen["broken"],
        "formulas": of_mathematics(seen),
        "markup left over": RAW_MARKUP.findall(seen["text"]),
        "formulas that begin left of the page": seen["cut"],  # there is no scrolling to them
        "wider than the phone": seen["wide"] + (seen["overflow"] > 0) * ["the page"],
        "bytes": (seen["bytes"] >= HEAVIEST) * seen["bytes"],
    }
    if re.match(COURSE, page) and seen["has_mathjax"]:
        faults["formulas wider than the phone"] = until_none(tab, WIDE_FORMULAS, 30_000)
    if axe and page in one_of_each_kind():
        faults["barriers"] = barriers(tab, axe)
    assert kept(faults) == {}


COURSE = r"book/(ch\d|howto)/"
WIDE_FORMULAS = """() => [...document.querySelectorAll('article mjx-container[display=true]')]
  .filter(e => e.offsetWidth && e.scrollWidth > e.clientWidth + 2).map(e => e.textContent)"""
"""None is left once the script has broken what was too wide; in an opened solution too."""


def barriers(tab, axe):
    """What axe-core finds, WCAG 2.1 A and AA, in both themes.

    Left out is the theme's list of references, which has the role of a list and no items.
    """
    tab.evaluate(THINNED)
    tab.evaluate(axe)
    return [found for theme in THEMES for found in tab.evaluate(BARRIERS, theme)]


def test_barriers_are_looked_for(axe):
    if axe is None:
        pytest.skip(f"{AXE} is not here and npm cannot fetch it")


@pytest.mark.parametrize("page", list(pages_for_axe()))
def test_no_serious_barrier(page, tab, address, axe):
    """With everything that can be opened opened."""
    if axe is None:
        pytest.skip(f"{AXE} is not here and npm cannot fetch it")
    open_still(tab, address + page)
    tab.evaluate(MEASURE)
    assert barriers(tab, axe) == []


@pytest.mark.parametrize("theme, other", [THEMES, THEMES[::-1]])
def test_a_page_opens_in_the_theme_that_the_system_prefers(theme, other, tab, address):
    """Before any script at its end has run; then what the reader chose counts."""
    page = tab.context.browser.new_page(color_scheme=theme)
    page.route("**/*.js*", lambda route: route.abort())
    page.goto(f"{address}book/intro.html", wait_until="load")
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    page.evaluate("other => localStorage.setItem('theme', other)", other)
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == other
    page.close()


# ---------------------------------------------------------------- what can be played with


@pytest.fixture
def on_page(desk, address):
    """A function that opens a page of the book, if it is built, in a window of some size."""

    def open_page(page, **size):
        if not (SITE / page.partition("#")[0]).exists():
            pytest.skip("the book is not built (make book)")
        if desk.viewport_size != (size or DESKTOP):
            desk.goto("about:blank")  # else the page before sets its formulas again
            desk.set_viewport_size(size or DESKTOP)
        desk.goto(address + page, wait_until="load")
        return desk

    return open_page


def test_the_front_page_s_figure_plays(on_page):
    tab = on_page("book/intro.html")
    figure = tab.locator(".turning")
    said = figure.locator(".said-pub")
    assert "step 5" in said.text_content() and "cycling" in said.text_content()
    slider = figure.get_by_role("slider")
    slider.press("Home")  # another start, by the keyboard
    assert "step 0" in said.text_content()
    before = figure.locator("line.pub").get_attribute("x2")
    figure.get_by_role("button", name="One step").click()
    assert figure.locator("line.pub").get_attribute("x2") != before
    assert "step 1" in said.text_content()
    figure.get_by_role("button", name="Play").click()
    tab.wait_for_function(
        "() => /step [2-9]/.test(document.querySelector('.said-pub').textContent)"
    )
    figure.get_by_role("button", name="Pause").click()
    slider.press("ArrowRight")
    assert slider.get_attribute("aria-valuenow") == "1"
    figure.get_by_role("button", name="As at first").click()
    assert "step 5" in said.text_content()


@pytest.mark.parametrize("page", ["ch2/dependence", "ch6/construction"])
def test_a_slider_changes_the_figure_says_its_value_and_plays(page, on_page):
    figure = on_page(f"book/{page}.html").locator(".slides").last
    slider, image = figure.get_by_role("slider"), figure.locator("img")
    film = json.loads(figure.locator("script[type*=json]").text_content())
    frames = ["".join(film["parts"][part] for part in frame) for frame in film["frames"]]
    labels = json.loads(figure.get_attribute("data-labels"))
    for key, place in (("Home", 0), ("ArrowRight", 1), ("End", -1)):
        slider.press(key)
        assert unquote(image.get_attribute("src")).endswith(frames[place])
        assert slider.get_attribute("aria-valuetext").endswith(f": {labels[place]}")
    slider.press("Home")
    play = figure.get_by_role("button", name="Play")
    play.click()
    figure.get_by_role("button", name="Pause").wait_for()
    play.wait_for(timeout=30_000)  # at the end it stands still
    assert slider.input_value() == str(len(frames) - 1)


@pytest.mark.parametrize("page", ["ch2/dependence", "ch5/iteration"])
def test_on_a_phone_a_moving_figure_has_its_panels_below_each_other(page, on_page):
    """And its slider stays in sight beside them."""
    tab = on_page(f"book/{page}.html")
    image = tab.locator(".slides img").first
    wide = image.evaluate("image => image.naturalWidth / image.naturalHeight")
    tab.set_viewport_size({"width": 390, "height": 844})
    assert "whole" in unquote(image.get_attribute("src"))
    image.evaluate("image => image.decode()")
    tall = image.evaluate("image => image.naturalWidth / image.naturalHeight")
    assert wide > 2 > 1 > tall
    image.evaluate("image => scrollBy(0, image.getBoundingClientRect().bottom - innerHeight)")
    slider = tab.locator(".slides input").first.bounding_box()
    assert 56 <= slider["y"] < 200  # below the page's head


def test_the_front_page_s_figure_computes_what_the_library_does(on_page):
    """The script's two iterations against those of Python, from three starts."""
    from ismlit_book.figures.live import degrees, direction, published_path

    from ismlit import Gaussian, Problem, ism, label_gamma

    tab = on_page("book/intro.html")
    figure, slider = tab.locator(".turning"), tab.locator(".turning").get_by_role("slider")
    data = json.loads(figure.get_attribute("data-turning"))
    X, y = np.array(data["points"]), np.array(data["classes"])
    problem = Problem(X, label_gamma(y), Gaussian(data["sigma"]))
    angle = "([x]) => (+document.querySelector('.trail ~ .dot-pub').getAttribute('cx') - 40) / 1.6"
    for start in (0, 30, 160):
        slider.press("Home")
        for _ in range(start // 10):
            slider.press("PageUp")
        shares, path = [], published_path(problem, direction(start), 4)
        for k, expected in enumerate(path):
            off = abs(tab.evaluate(angle, [0]) - expected) % 180
            assert min(off, 180 - off) < 0.5, f"start {start}, step {k}"
            shares.append(
                int(re.search(r"J = (\d+)", figure.locator(".said-safe").text_content())[1])
            )
            figure.get_by_role("button", name="One step").click()
        assert shares == sorted(shares)  # the shifted one never falls
        for _ in range(8):
            figure.get_by_role("button", name="One step").click()
        found = ism(problem, q=1, init=direction(start))
        best = max(problem.objective(direction(a)) for a in range(0, 180, 2))
        share = int(re.search(r"J = (\d+)", figure.locator(".said-safe").text_content())[1])
        assert degrees(found.W) >= 0 and share <= 100
        assert any(
            abs(share - 100 * problem.objective(direction(a)) / best) < 1.5
            for a in range(180)
            if problem.objective(direction(a))
            >= max(problem.objective(direction(a + d)) for d in (-1, 1))
        ), f"start {start}: {share} % is no maximum"


def test_the_front_page_s_figure_is_dragged(on_page):
    tab = on_page("book/intro.html")
    figure = tab.locator(".turning")
    figure.scroll_into_view_if_needed()
    slider = figure.get_by_role("slider")
    box = figure.locator(".heights").bounding_box()
    tab.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
    assert abs(int(slider.get_attribute("aria-valuenow")) - 81) <= 2  # (170 - 40) / 1.6
    plane = figure.locator(".plane").bounding_box()
    curve = figure.locator(".curve").get_attribute("points")
    sample = figure.locator(".cloud .one").first.bounding_box()
    tab.mouse.move(sample["x"] + sample["width"] / 2, sample["y"] + sample["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(plane["x"] + 0.8 * plane["width"], plane["y"] + 0.5 * plane["height"], steps=4)
    tab.mouse.up()
    assert figure.locator(".curve").get_attribute("points") != curve  # a sample has moved


def test_the_graph_is_searched_filtered_and_walked_by_keyboard(on_page):
    tab = on_page("book/graph.html")
    tiles = tab.locator(".graph-map li:not([hidden]) a")
    assert tiles.count() == len(ledger())
    form = tab.locator(".graph-filter")
    form.get_by_label("Find").fill("theorem 6.1")
    ids = tiles.evaluate_all("tiles => tiles.map(t => t.dataset.id)")
    assert "thm-6.1" in ids and "eq-5.2" not in ids
    form.get_by_label("Find").fill("two-cycle maximum 1.54")  # in a note alone
    ids = tiles.evaluate_all("tiles => tiles.map(t => t.dataset.id)")
    assert ids == [i for i, c in ledger().items() if "1.54" in c.note and "two-cycle" in i]
    form.get_by_label("Find").fill("")
    form.get_by_label("Show").select_option("eq")
    assert tiles.count() == sum(name.startswith("eq-") for name in ledger())
    form.get_by_label("Show").select_option("")
    tab.locator('.graph-map a[data-id="thm-5.1"]').focus()
    assert tab.locator(".graph-lines path.used").count() == len(ledger()["thm-5.1"].uses)
    tab.keyboard.press("ArrowRight")
    following = tab.evaluate("() => document.activeElement.dataset.id")
    order = list(ledger())
    assert following == order[order.index("thm-5.1") + 1]
    tab.locator('.graph-map a[data-id="thm-5.1"]').focus()
    form.get_by_label("Show").select_option("main")  # hides (C.73), to which a button leads
    card = tab.locator("#graph-card")
    card.get_by_role("button", name="(C.73)", exact=True).first.click()
    assert tab.evaluate("() => document.activeElement.dataset.id") == "eq-C.73"
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/claims/eq-C.73.html")


def test_the_graph_s_panel_closes_and_its_choice_stands_in_the_address(on_page):
    tab = on_page("book/graph.html#claim=thm-5.1&view=5")
    card = tab.locator("#graph-card")
    assert "second-order necessary conditions" in card.text_content()
    assert tab.locator(".graph-layers path.used").count() > 0
    assert tab.locator(".graph-map").is_hidden()
    tab.keyboard.press("Escape")
    assert card.is_hidden()
    assert tab.evaluate("() => location.hash") == "#view=5"
    box = tab.locator('[data-view="5"] a[data-id="thm-5.1"]')
    assert box.evaluate("box => box === document.activeElement")
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate("() => document.activeElement.dataset.id") != "thm-5.1"
    assert card.is_visible()
    card.get_by_role("button", name="close").click()
    assert card.is_hidden()


def test_a_second_tap_opens_a_claim_s_page(address, tab):
    touch = tab.context.browser.new_context(viewport=PHONE, has_touch=True)
    page = touch.new_page()
    page.goto(address + "book/graph.html", wait_until="load")
    tile = page.locator('.graph-map a[data-id="eq-5.2"]')
    page.locator('.graph-map a[data-id="eq-5.1"]').tap()
    tile.tap()
    assert page.url.endswith("graph.html#claim=eq-5.2")
    assert "(5.2)" in page.locator("#graph-card").text_content()
    tile.tap()
    page.wait_for_url("**/claims/eq-5.2.html*")
    touch.close()


def test_boxes_of_the_graph_are_pressed_through_its_lines(on_page):
    tab = on_page("book/graph.html#claim=eq-5.2")
    through = tab.evaluate("""() => [...document.querySelectorAll('.graph-map li > a')]
        .filter(box => box.checkVisibility()).slice(0, 400).filter(box => {
          box.scrollIntoView({block: 'center'});
          const place = box.getBoundingClientRect();
          const top = document.elementFromPoint(place.left + place.width / 2,
            place.top + place.height / 2);
          return !box.contains(top);
        }).map(box => box.dataset.id)""")
    assert through == []


def test_the_ledger_is_searched_filtered_and_ordered(on_page):
    tab = on_page("book/ledger.html")
    rows = tab.locator("table.ledger tr[id]:visible")
    assert rows.count() == 0, "chapters are folded"
    form = tab.locator("#ledger-filter")
    form.locator("[name=verdict]").select_option("fails")
    assert rows.count() == sum(c.verdict == "fails" for c in ledger().values())
    form.locator("[name=q]").fill("kdac")
    wanted = [
        i
        for i, c in ledger().items()
        if c.verdict == "fails" and "kdac" in f"{i} {c.says} {c.note}".lower()
    ]
    shown = rows.evaluate_all("rows => rows.map(row => row.id)")
    assert set(shown) >= {f"claim-{i}" for i in wanted} and len(shown) < 20
    assert tab.evaluate("() => location.hash") == "#q=kdac&verdict=fails"
    tab.reload()
    assert rows.evaluate_all("rows => rows.map(row => row.id)") == shown
    form.get_by_role("button", name="Clear").click()
    form.locator("[name=by]").select_option("slip")
    titles = tab.locator("#ledger-groups summary").all_text_contents()
    assert titles[0].split(":")[0] in {c.slip for c in ledger().values()}


@with_mathjax
@pytest.mark.parametrize("page", ["ch3/algorithm", "record/D.1", "ch6/layers"])
def test_a_wide_formula_is_set_smaller(page, on_page):
    tab = on_page(f"book/{page}.html", width=1400, height=900)
    tab.wait_for_function("() => document.querySelector('mjx-math[style*=font-size]')")
    wide = """() => [...document.querySelectorAll('div.math, div.math mjx-container')]
      .filter(e => e.scrollWidth > e.clientWidth + 2).map(e => e.outerHTML.slice(0, 200))"""
    tab.wait_for_function(f"() => ({wide})().length === 0")


def wait_for_formulas(tab):
    """Until MathJax has set all displays: hundreds, on a machine that may be busy."""
    unset = "() => !document.querySelector('div.math:not(:has(mjx-math))')"
    tab.wait_for_function(unset, timeout=120_000)


@pytest.mark.parametrize(
    "page", weekly_but_one_in(3, [page for page in PAGES if re.match(COURSE, page)])
)
def test_a_page_of_the_course_has_an_end(page, on_page):
    """Ten screens, once its formulas are set; exercises that answer are not read but used."""
    tab = on_page(page, width=1400, height=900)
    if OWN_MATHJAX:
        wait_for_formulas(tab)
    tab.evaluate(
        """() => {
          for (const cell of document.querySelectorAll("article div.cell"))
            if (/^answer\\(/m.test(cell.textContent)) cell.remove();
          for (const lead of document.querySelectorAll("article p"))
            if (/^Exercise \\d+ .*Checked on this page\\./.test(lead.textContent)) {
              const isPart = next =>
                next?.matches("p, details") && !/^Exercise/.test(next.textContent);
              while (isPart(lead.nextElementSibling)) lead.nextElementSibling.remove();
              lead.remove();
            }
        }"""
    )
    assert tab.evaluate("document.documentElement.scrollHeight") < 9000


@with_mathjax
@pytest.mark.parametrize("page", weekly_but_one_in(3, ["3.3", "4.1", "5.4", "A.4", "C.2", "D.1"]))
def test_a_formula_of_the_record_is_broken_between_symbols(page, on_page):
    """However narrow: no line ends within one, no column is left out of sight."""
    tab = on_page(f"book/record/{page}.html", width=320, height=844)
    wait_for_formulas(tab)
    displayed = """() => [...document.querySelectorAll('[data-broken]')]
      .map(formula => formula.dataset.broken)"""
    tab.wait_for_function(f"() => ({displayed})().length")
    broken = tab.evaluate(displayed)
    for tex in broken:
        for line in tex.split(r"\\[.3em]"):
            assert not re.search(r"(?:[_^:]|\\not)\s*$", line), line
        inside = re.sub(
            r"\\begin\{(\w+)\}.*?\\end\{\1\}", "", tex[len(r"\begin{array}{l}") :], flags=re.S
        )
        assert "&" not in inside.removesuffix(r"\end{array}"), tex
    assert tab.evaluate("document.querySelectorAll('mjx-merror').length") == 0


@with_mathjax
def test_a_broken_formula_is_whole_again_on_a_wide_page(on_page):
    tab = on_page("book/ch3/falls.html", width=1400, height=900)
    rows = "() => document.querySelectorAll('article mjx-mtable mjx-mtr, mjx-mlabeledtr').length"
    wait_for_formulas(tab)
    authored = tab.evaluate(rows)
    tab.set_viewport_size(PHONE)
    tab.wait_for_function(f"n => ({rows})() > n", arg=authored)
    tab.set_viewport_size({"width": 1400, "height": 900})
    tab.wait_for_function(f"n => ({rows})() === n", arg=authored)


BROKEN = {
    ("a = b", 3): None,
    (r"a = b, \qquad c = d", 5): ["a = b,", "c = d"],
    ("aaaa = bbbb = cccc", 9): ["aaaa = bbbb", r"\quad{}= cccc"],
    (r"aa \ \ge\ b(c = d) + ee - f", 8): [r"aa \ge\ b(c = d)", r"\qquad{}+ ee - f"],
    (r"a = b \cdot -1 + c", 5): [r"a = b \cdot -1", r"\qquad{}+ c"],
    (r"a = \left(b + c\right) d", 7): ["a", r"\quad{}= \left(b + c\right) d"],
    (r"a = b + c \tag{3}", 3): ["a = b", r"\qquad{}+ c", r"\hfill\text{(3)}"],
    (r"\begin{aligned}a &= b && \text{a long reason}\\ &= c\end{aligned}", 8): [
        "a = b",
        r"\qquad (\text{a }\text{long }",
        r"\qquad \text{reason})",
        r"\quad{}= c",
    ],
}


def test_a_formula_is_broken_where_an_author_would(on_page):
    """By the number of signs, commands and blanks aside."""
    tab = on_page("book/ch3/falls.html")

    def lines(tex, width):
        found = tab.evaluate(
            r"""([tex, width]) => brokenFormula(
              tex, line => line.replace(/\\[a-zA-Z]+|\\.|[{}\s]/g, '').length <= width)""",
            [tex, width],
        )
        if found is None:
            return None
        body = found.removeprefix(r"\begin{array}{l}").removesuffix(r"\end{array}")
        parts = body.split(r"\\[.3em]")
        return [line.removeprefix(r"\displaystyle ").strip() for line in parts]

    assert {case: lines(*case) for case in BROKEN} == BROKEN


@pytest.mark.parametrize("page", ["intro", "ch5/problem"])
def test_the_button_has_its_place_before_it_is_there(page, on_page):
    """Nothing that is read moves when "Run here" comes."""
    tab = on_page(f"book/{page}.html", **PHONE)
    if not tab.evaluate("() => 'runs' in document.documentElement.dataset"):
        pytest.skip("no Python in the built book")
    tab.wait_for_selector(".run-here")
    shifts = tab.evaluate("""() => new Promise(done => {
      const seen = [];
      new PerformanceObserver(list => seen.push(...list.getEntries().map(e => e.value)))
        .observe({ type: 'layout-shift', buffered: true });
      setTimeout(() => done(seen), 300);
    })""")
    assert sum(shifts) < 0.05


def test_panels_stand_below_each_other_on_a_phone(on_page):
    tab = on_page("book/ch5/cycles.html", **PHONE)
    picture = tab.locator(".cell_output picture img").first
    picture.scroll_into_view_if_needed()
    tab.wait_for_function("e => e.complete && e.naturalWidth", arg=picture.element_handle())
    source, width, height = picture.evaluate("e => [e.currentSrc, e.width, e.height]")
    assert source.endswith("-stacked.svg") and width <= 390 < 1.2 * height


@pytest.mark.parametrize("page", ["ch1/question", "ch6/layers", "ledger"])
def test_the_icon_fonts_have_what_is_used_of_them(page, on_page):
    """They hold a few of their glyphs only; tools/lighten.py."""
    ttfont = pytest.importorskip("fontTools.ttLib").TTFont
    used = on_page(f"book/{page}.html").evaluate("""() => [...document.querySelectorAll('*')]
      .flatMap(e => ['::before', '::after'].map(part => getComputedStyle(e, part)))
      .filter(style => style.fontFamily.includes('Awesome') && /^"[^"]"$/.test(style.content))
      .map(style => style.content.charCodeAt(1))""")
    fonts = (SITE / "_static" / "vendor" / "fontawesome" / "webfonts").glob("*.ttf")
    assert set(used) - {code for font in fonts for code in ttfont(font).getBestCmap()} == set()


def test_a_row_of_the_ledger_is_led_to(on_page):
    tab = on_page("book/ledger.html#claim-thm-5.1")
    row = tab.locator('[id="claim-thm-5.1"]')
    assert row.is_visible()
    row.locator("mjx-container").first.wait_for()
    row.get_by_role("link", name="Theorem 5.1").click()
    tab.wait_for_url("**/claims/thm-5.1.html")
    tab.get_by_role("link", name="› The constant that is not one").click()
    tab.wait_for_url("**/record/C.4.html#check-thm-5.1")
    tab.locator('a[id="check-thm-5.1"]').click()
    tab.wait_for_url("**/claims/thm-5.1.html")


def test_a_folded_equation_of_the_ledger_is_led_to_and_found(on_page):
    """Its result's fold opens for a link and for a search, and closes again."""
    tab = on_page("book/ledger.html#claim-eq-D.110")
    row, fold = (tab.locator(s) for s in ('[id="claim-eq-D.110"]', "tr.derivation:visible"))
    assert row.is_visible()
    form = tab.locator("#ledger-filter")
    form.locator("[name=q]").fill("eq-D.69")
    assert fold.count() == 1 and tab.locator('[id="claim-eq-D.69"]').is_visible()
    form.get_by_role("button", name="Clear").click()
    tab.locator("details.ledger-part > summary").last.wait_for()
    assert fold.count() == 0


def test_a_link_to_a_claim_shows_what_it_says(on_page):
    tab = on_page("book/record/C.4.html")
    link, card = tab.locator('a[id="check-thm-5.1"]'), tab.get_by_role("tooltip")
    link.hover()
    card.wait_for()
    assert "Theorem 5.1" in card.text_content() and "holds" in card.text_content()
    assert link.get_attribute("aria-describedby") == card.get_attribute("id")
    tab.keyboard.press("Escape")
    assert card.count() == 0
    link.focus()
    card.wait_for()
    box = card.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= DESKTOP["width"]
    tab.mouse.move(0, 0)
    link.evaluate("link => link.blur()")
    assert card.count() == 0


@with_mathjax
def test_every_formula_of_the_ledger_is_typeset(on_page):
    tab = on_page("book/ledger.html")
    tab.wait_for_function(TYPESET)
    wrong = tab.evaluate("""async () => {
      const MathJax = await withMathJax();
      const all = [...document.querySelectorAll('.tex, .typeset')].map(e => e.dataset.tex);
      const wrong = all.length > 1000 ? [] : ['hardly any formula'];
      for (const tex of new Set(all)) {
        const made = await MathJax.tex2chtmlPromise(tex, {display: false});
        if (made.querySelector('mjx-merror, mjx-mtext[style*="red"]')) wrong.push(tex);
      }
      return wrong;
    }""")
    assert wrong == []


@with_mathjax
def test_formulas_typeset_when_seen_stay_within_a_phone(address, tab):
    tab.goto(address + "book/errata.html", wait_until="load")
    tab.set_viewport_size(PHONE | {"height": 9000})  # much is seen at once
    parts = tab.locator("details.ledger-part")
    parts.evaluate_all("parts => parts.forEach(part => part.open = true)")
    parts.first.evaluate("part => part.scrollIntoView()")
    tab.wait_for_function("document.querySelectorAll('.typeset mjx-container').length > 100")
    wider = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    tab.set_viewport_size(PHONE)
    assert wider <= 0


def test_the_ledger_is_a_plain_table_without_its_script(address, tab):
    plain = tab.context.browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    page.goto(address + "book/ledger.html", wait_until="load")
    assert page.locator("#ledger-filter").is_hidden()
    part = page.locator("details.ledger-part").first
    part.locator("summary").click()
    assert part.locator("tbody tr").first.is_visible()
    plain.close()


ASKED = {
    "how do I choose sigma": "howto/choose",
    "save a model": "howto/serve",
    "how do I cluster new samples": "ch4/deep",
    "does ISM converge": "ch5/cycles",
    "when should I use this": "ch3/when",
    "large data": "howto/large",
    "regression": "howto/regress",
    "Theorem 6.1": "claims/thm-6.1",
    "eq-5.2": "claims/eq-5.2",
    "Table 3.1": "record/3.5-table-3.1",
    "cite": "intro.html#how-to-cite",
    "install": "howto/install",
    "KDAC": "KDAC",
    "Theorem 5.1": "claims/thm-5.1",
    "Stiefel": "record/4.3-cayley",
    "hsic": "ch2/dependence",
    "permutation test": "howto/chance",
    "overfitting": "howto/leak",
    "categorical": "howto/table",
    "dataset": "reference/datasets",
    "which columns matter": "howto/columns",
    "feature selection": "howto/columns",
    "thm 5.2": "claims/thm-5.2",
    "(5.2)": "claims/eq-5.2",
    "gpu": "howto/large",
    "export": "howto/serve",
    "is my result significant": "howto/chance",
    "ISM": "ch5/iteration",
    "conditional independence": "howto/chance",
    "missing values": "howto/table",
    "bandwidht": "howto/choose",
}


@pytest.mark.usefixtures("search")
def test_search_answers_a_question_with_its_page_first(on_page, subtests):
    """And with a sentence, not with what stands around it; its address asks again."""
    tab = on_page("search.html")
    field = tab.locator(".bd-search-container input[name=q]")
    for words, page in ASKED.items():
        with subtests.test(words):
            field.fill(words)
            is_answered(tab, page)
    tab.reload(wait_until="load")
    assert field.input_value() == words
    is_answered(tab, page)
    field.fill("xqzwvk")
    assert tab.locator("#search-results [role=status]").text_content()
    assert not tab.locator("#search-results li").count()


def is_answered(tab, page):
    lists = tab.locator("#search-results ul")
    best = lists.first.locator("a").evaluate_all("links => links.map(link => link.pathname)")
    assert len({*best}) == len(best)  # three pages, not three sections of one
    first = tab.locator("#search-results li").first
    assert page in first.locator("a").get_attribute("href")
    assert not re.search("Binder|Show code|import ", first.locator("p").text_content())


@pytest.mark.usefixtures("search")
def test_what_is_found_while_one_types_stands_in_the_middle_of_the_window(on_page):
    tab = on_page("book/ch5/index.html")
    tab.keyboard.press("Control+k")
    dialog = tab.locator("#pst-search-dialog")
    dialog.locator("input").press_sequentially("kernel")
    dialog.locator(".search-found li").nth(5).wait_for()
    box, window = dialog.bounding_box(), tab.viewport_size
    left, right = box["x"], window["width"] - box["x"] - box["width"]
    assert abs(left - right) < 2 and box["y"] > 0
    assert box["y"] + box["height"] < window["height"]


def test_a_section_of_the_record_leads_to_its_evidence():
    text = read("book/record/C.4.html")
    table = text[text.index("<table") : text.index("</table>")]
    links = re.findall(r'<a href="#(check-[^"]+)">below</a>', table)
    assert "<p>below" not in table and len(links) > 5
    assert {*links} <= parsed("book/record/C.4.html").ids


@pytest.mark.usefixtures("search")
def test_everything_found_is_there():
    """Each record leads to a page that is built, and to a place on it."""
    path = SITE / "_static" / "search-records.js"
    records = json.loads(path.read_text("utf8").removeprefix("const RECORDS = ").rstrip(";\n"))
    assert len(records) > 1500
    for record in records:
        page, _, anchor = record["url"].partition("#")
        assert not anchor or anchor in parsed(page).ids, record["url"]
        assert (SITE / page).is_file(), record["url"]


def test_a_printed_page_keeps_figures_formulas_and_solutions(on_page, address, tmp_path):
    pypdf = pytest.importorskip("pypdf")
    tab = on_page("book/ch5/problem.html")
    pictures = tab.locator("article .cell_output img:not(.slides img)").count()
    sentence = "One is left. For a large"
    assert tab.locator("article details", has_text=sentence).count() == 1
    file = print_page(address + "book/ch5/problem.html", tmp_path / "problem.pdf")
    sheets = pypdf.PdfReader(file).pages
    assert sentence in " ".join(" ".join(sheet.extract_text() for sheet in sheets).split())
    assert sum(len(sheet.images) for sheet in sheets) >= pictures > 0
    fonts = file.read_bytes()
    assert b"MathJax" in fonts or b"MJX" in fonts or not OWN_MATHJAX
