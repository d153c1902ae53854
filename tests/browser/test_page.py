"""What a page does under a hand: cells that show formulas and stop, a figure that a finger moves.

Without a built book or without Chromium the tests skip.
"""

import itertools

import pytest
from ismlit_book.record.ledger import counts, ledger, told_apart

from tools import toc
from tools.print_book import SITE, serve

pytestmark = pytest.mark.browser

DESKTOP = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844}
PATIENCE = 300_000  # milliseconds, also beside other work
ENDED = "() => ['done', 'broken'].includes(document.querySelector('.run-here').dataset.state)"
UNFOLD = "document.querySelectorAll('details').forEach(folded => folded.open = true)"


@pytest.fixture(scope="module")
def address():
    if not (SITE / "book" / "intro.html").exists():
        pytest.skip("the book is not built (make book)")
    with serve(SITE) as address:
        yield address


@pytest.fixture
def visit(address, browser):
    """A function that opens a page of the book in a tab of its own."""
    contexts = []

    def visit(page, size=DESKTOP, **how):
        contexts.append(browser.new_context(viewport=size, **how))
        tab = contexts[-1].new_page()
        tab.set_default_timeout(60_000)
        tab.faults = []
        tab.on("pageerror", lambda error: tab.faults.append(str(error)))
        tab.goto(f"{address}{page}", wait_until="load")
        return tab

    yield visit
    for context in contexts:
        context.close()


# ---------------------------------------------------------------- cells


def cell_with(tab, words):
    return tab.locator("article div.cell:has(.run-here-try)").filter(has_text=words).first


def run_here(tab, cell):
    """Press the cell's own button and wait for the end; skip where the book has no Python."""
    if not tab.locator(".run-here").count():
        pytest.skip("no Python in the built book")
    cell.locator(".run-here-try").click()
    tab.wait_for_function(ENDED, timeout=PATIENCE)
    tab.evaluate(UNFOLD)


def test_a_formula_that_a_cell_shows_is_typeset(visit):
    """As the stored one was, and in its place."""
    tab = visit("book/ch5/gradient.html")
    if not tab.locator("meta[name=mathjax], script[src*=mathjax]").count():
        pytest.skip("no MathJax")
    stored = tab.locator("article .cell_output .text_latex mjx-container").first
    stored.wait_for()
    left = stored.locator("mjx-math").bounding_box()["x"]
    number = tab.evaluate("""() => [...document.querySelectorAll("article div.cell")]
      .findIndex(cell => cell.querySelector(".text_latex"))""")
    cell = tab.locator("article div.cell").nth(number)
    run_here(tab, cell)
    formula = cell.locator(".cell_output .text_latex mjx-container").first
    formula.wait_for()
    assert "$" not in cell.locator(".cell_output").text_content()
    assert formula.locator("mjx-math").bounding_box()["x"] == pytest.approx(left, abs=3)


def seconds_of_processor(browser):
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return {process["id"]: process["cpuTime"] for process in processes}


def load_within(browser, tab, milliseconds):
    """Seconds of processor that the busiest process of the browser takes meanwhile."""
    before = seconds_of_processor(browser)
    tab.wait_for_timeout(milliseconds)
    after = seconds_of_processor(browser)
    return max(now - before.get(name, now) for name, now in after.items())


@pytest.mark.parametrize(
    "way", ["stop", *(pytest.param(way, marks=pytest.mark.weekly) for way in ("close", "leave"))]
)
def test_a_loop_without_an_end_is_ended(way, visit, browser, address):
    """By "Stop", by closing the tab, and by going on to another page."""
    tab = visit("book/ch1/question.html")
    run_here(tab, tab.locator("article div.cell:has(.run-here-try)").first)
    area = tab.locator("article textarea").first
    area.fill("while True: pass")
    area.press("Shift+Enter")
    other = tab.context.new_page()  # of the same site: the browser goes on
    other.goto(f"{address}book/claims/eq-5.2.html", wait_until="load")
    other.wait_for_timeout(1000)
    busy = load_within(browser, other, 3000)
    assert busy > 0.2, "the loop does not run"
    if way == "stop":
        tab.locator(".run-here").get_by_role("button", name="Stop").click()
    elif way == "close":
        tab.close()
    else:
        tab.goto(f"{address}book/claims/eq-5.1.html", wait_until="load")
    for _ in range(5):  # other tests share the processor, and a page takes a moment to end
        other.wait_for_timeout(1000)
        if (idle := load_within(browser, other, 3000)) < busy / 4:
            break
    assert idle < busy / 4


# ---------------------------------------------------------------- the front page's figure


def swipe(tab, start, by):
    """A finger that goes down at `start`, moves by `by` in ten steps, and goes up."""
    session = tab.context.new_cdp_session(tab)
    (x, y), (dx, dy) = start, by
    send = lambda kind, *points: session.send(
        "Input.dispatchTouchEvent",
        {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]},
    )
    send("touchStart", (x, y))
    for k in range(1, 11):
        send("touchMove", (x + dx * k / 10, y + dy * k / 10))
        tab.wait_for_timeout(30)
    send("touchEnd")
    tab.wait_for_timeout(300)


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_scrolls_over_the_figure_and_moves_what_it_takes(visit):
    tab = visit("book/intro.html", PHONE, has_touch=True, is_mobile=True)
    figure = tab.locator(".turning")
    said, scrolled = figure.locator(".said-pub"), lambda: tab.evaluate("scrollY")
    figure.locator(".heights").scroll_into_view_if_needed()
    for panel, place in ((".plane", 0.06), (".heights", 0.5)):
        box, before = figure.locator(panel).bounding_box(), scrolled()
        swipe(tab, (box["x"] + 8, box["y"] + place * box["height"]), (0, -120))
        assert scrolled() > before + 40, "the page does not scroll"
        assert "step 5" in said.text_content(), "a swipe that scrolls has changed the figure"
    figure.locator(".plane").evaluate("plane => plane.scrollIntoView({block: 'center'})")
    before, sample = scrolled(), figure.locator(".cloud .one").first
    (x, y), curve = middle(sample), figure.locator(".curve").get_attribute("points")
    swipe(tab, (x, y), (0, 40))
    assert scrolled() == before
    assert middle(figure.locator(".cloud [data-sample]").first)[1] == pytest.approx(y + 40, abs=6)
    assert figure.locator(".curve").get_attribute("points") != curve
    plane = figure.locator(".heights")
    box = plane.bounding_box()
    swipe(tab, (box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"]), (60, 4))
    assert "step 0" in said.text_content(), "a swipe along the curve sets the start"


# ---------------------------------------------------------------- what is read


@pytest.mark.parametrize("page", ["ch5/index", "howto/install", "intro", "record/5.3"])
def test_a_heading_is_smaller_than_the_one_above_it(page, visit):
    sizes = visit(f"book/{page}.html").evaluate("""() => [1, 2, 3, 4].map(level => {
      const probe = document.createElement(`h${level}`);
      document.querySelector("article section").append(probe);
      return parseFloat(getComputedStyle(probe).fontSize);
    })""")
    assert all(a > 1.1 * b for a, b in itertools.pairwise(sizes[:3])) and sizes[3] < sizes[2]


def test_pointing_at_the_graph_raises_no_error(visit):
    """The panel beside it says what a card would."""
    tab = visit("book/graph.html#view=5")
    tab.locator('[data-view="5"] a[data-id="thm-5.1"]').hover()
    tab.wait_for_timeout(600)
    assert tab.faults == []
    assert tab.get_by_role("tooltip").count() == 0


def test_what_is_copied_has_the_tex_of_its_formulas(visit):
    """A selection that ends within a formula takes the whole of it."""
    tab = visit("book/ch5/problem.html")
    copied = tab.evaluate("""() => {
      const formulas = [...document.querySelectorAll("article [data-inline]")];
      const range = document.createRange();
      const paragraph = formulas[0].closest("p");
      range.setStart(paragraph, 0);
      range.setEnd(formulas.filter(f => paragraph.contains(f)).at(-1).querySelector("mjx-math"), 0);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      const data = new DataTransfer();
      document.dispatchEvent(new ClipboardEvent("copy", { clipboardData: data, cancelable: true }));
      const wanted = formulas.filter(f => paragraph.contains(f)).map(f => `$${f.dataset.inline}$`);
      return [data.getData("text/plain"), wanted, paragraph.firstChild.textContent];
    }""")
    text, formulas, beginning = copied
    assert text.startswith(beginning) and all(formula in text for formula in formulas)
    assert tab.locator(".copied").count() == 0


def test_a_formula_and_a_figure_that_are_named_lead_to_them_and_are_shown(visit):
    tab = visit("book/ch5/problem.html")
    card = tab.get_by_role("tooltip")
    for address, part in (("#equation-4", "mjx-container"), ("#figure-2", "img")):
        link = tab.locator(f'article a[href="{address}"]').first
        assert tab.locator(address).count() == 1
        link.focus()
        card.locator(part).first.wait_for(state="attached")
        tab.keyboard.press("Escape")
        assert card.count() == 0
    assert tab.faults == []


# ---------------------------------------------------------------- the front page


def bottom(locator):
    box = locator.bounding_box()
    return box["y"] + box["height"]


def test_the_front_page_is_one_screen(visit):
    """What it is, its claims, the figure that moves, the library, and where to go on."""
    tab = visit("book/intro.html")
    article = tab.locator("article")
    for part in (".verdict-counts", ".turning .heights", "[class*=highlight-] pre"):
        assert bottom(article.locator(part).first) < DESKTOP["height"], part
    titles = article.locator("li > p > strong > a")
    assert titles.count() == 3
    assert max(bottom(titles.nth(k)) for k in range(3)) < DESKTOP["height"]
    figure, words = article.locator(".turning").bounding_box(), article.locator("section > p").first
    assert figure["x"] > words.bounding_box()["x"] + words.bounding_box()["width"], "beside"
    said = tab.locator("body").inner_text().count("thesis that runs")
    assert said == 1, "the title once"
    if tab.locator(".run-here").count():
        assert tab.locator(".run-here").bounding_box()["y"] > bottom(titles.first)


def test_the_front_page_counts_what_the_ledger_does(visit):
    tab = visit("book/intro.html", PHONE)
    words = tab.locator(".verdict-counts").inner_text()
    theirs, ours = told_apart()
    assert f"{len(theirs)} claims" in words and f"{len(ours)} of this edition's own" in words
    for verdict, number in counts(theirs).items():
        assert f"{number} {verdict}" in words
    widths = tab.locator(".verdict-bar > span").evaluate_all(
        "parts => parts.map(part => part.getBoundingClientRect().width)"
    )
    shares = [number / len(theirs) for number in counts(theirs).values()]
    assert widths == pytest.approx([share * sum(widths) for share in shares], abs=1.5)
    tab.locator(".verdict-counts").get_by_role("link", name="fails").click()
    shown = tab.locator("table.ledger tr[id]:visible")
    shown.first.wait_for()
    assert shown.count() == counts()["fails"]


# ---------------------------------------------------------------- code


def test_imports_are_one_line_and_still_the_cell_s_code(visit):
    """What is folded runs, and is there to be copied; opened, it is code as any other."""
    tab = visit("book/ch5/problem.html")
    folded = tab.locator("details.fold").first
    pre = folded.locator("xpath=ancestor::pre")
    assert pre.bounding_box()["height"] < 60
    assert pre.evaluate("pre => pre.textContent").lstrip().startswith("import matplotlib")
    assert folded.locator("summary").get_attribute("aria-label").startswith("Imports: ")
    folded.locator("summary").click()
    assert pre.bounding_box()["height"] > 100


@pytest.mark.parametrize("page", ["ch5/problem", "howto/reduce"])
def test_run_stands_below_the_code_on_a_phone(page, visit):
    """It covers no line, and is large enough for a finger."""
    tab = visit(f"book/{page}.html", PHONE)
    if not tab.locator(".run-here").count():
        pytest.skip("no Python in the built book")
    boxes = tab.evaluate("""() => [...document.querySelectorAll(".run-here-try")]
      .filter(button => button.checkVisibility()).map(button => {
        const code = button.parentElement.querySelector("pre").getBoundingClientRect();
        const { top, height } = button.getBoundingClientRect();
        return [top - code.bottom, height];
      })""")
    assert boxes
    assert min(gap for gap, _ in boxes) >= 0
    assert min(height for _, height in boxes) >= 40
    tab.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    tab.locator(".run-here-try").first.evaluate("button => button.click()")
    area = tab.locator("article textarea").first  # below 16 pixels a phone enlarges the page
    assert area.evaluate("area => parseFloat(getComputedStyle(area).fontSize)") >= 16
    bar = tab.locator(".bd-header-article").first
    assert tab.locator(".run-here").bounding_box()["y"] >= bottom(bar) - 1


def test_a_cell_that_goes_on_shows_it(visit):
    """By a shadow at the box's edge, which the ground covers at the end of the line."""
    tab = visit("book/ch5/problem.html", {"width": 640, "height": 900})
    grounds = tab.evaluate("""() => [...document.querySelectorAll(".cell_input pre")]
      .filter(code => code.scrollWidth > code.clientWidth)
      .map(code => getComputedStyle(code).backgroundAttachment)""")
    assert grounds and all(ground.startswith("local, local, scroll") for ground in grounds)


@pytest.mark.parametrize("page", ["ch5/problem", "howto/columns"])
def test_no_cell_goes_on_beyond_a_phone(page, visit):
    tab = visit(f"book/{page}.html", PHONE)
    wide = """() => [...document.querySelectorAll(".cell_input pre")]
      .filter(code => code.scrollWidth > code.clientWidth + 1).map(code => code.textContent)"""
    assert tab.evaluate(wide) == []


@pytest.mark.parametrize("page", ["ch5/kernels", "claims/eq-5.2"])
def test_formulas_are_there_without_a_script(page, browser, address, visit):
    """Set when the book was built, broken for a phone; MathJax itself is not loaded."""
    if not visit(f"book/{page}.html").locator("meta[name=mathjax]").count():
        pytest.skip("no node when the book was built")
    plain = browser.new_context(viewport=PHONE, java_script_enabled=False).new_page()
    plain.goto(f"{address}book/{page}.html")
    formulas = plain.locator("article .math")
    assert formulas.count() == plain.locator("article .math:has(> mjx-container)").count() > 5
    assert not any("\\" in words for words in formulas.all_inner_texts())
    plain.context.close()
    tab = visit(f"book/{page}.html", PHONE)
    tab.wait_for_timeout(1000)
    wide = """() => [...document.querySelectorAll("article mjx-container[display=true]")]
      .filter(e => e.scrollWidth > e.clientWidth + 2).length"""
    assert not tab.evaluate(wide)
    assert not tab.locator("script[src*=tex-chtml]").count()


# ---------------------------------------------------------------- figures and tables


def test_figures_and_tables_stand_in_the_middle(visit):
    """As formulas do."""
    for page in ("ch5/problem", "howto/reduce", "ch5/index"):
        off = visit(f"book/{page}.html").evaluate("""() => {
          const middle = e => e.getBoundingClientRect().left + e.getBoundingClientRect().width / 2;
          const centre = middle(document.querySelector("article"));
          const parts = [".cell_output img", ".pst-scrollable-table-container > table",
            "table.grid"].join();
          return [...document.querySelectorAll(parts)].filter(e => e.checkVisibility())
            .map(e => Math.abs(middle(e) - centre)).filter(by => by > 3);
        }""")
        assert off == [], page


def test_a_table_s_row_keeps_its_headings_on_a_phone(visit):
    tab = visit("book/ch5/index.html", PHONE)
    said = tab.evaluate("""() => [...document.querySelectorAll("table td[data-label]")].map(
      cell => [cell.dataset.label, getComputedStyle(cell, "::before").content])""")
    seen = {label for label, content in said if label in content}
    assert {"needs", "minutes"} <= seen


def test_columns_of_numbers_meet_at_their_decimals(visit):
    """To the right, with their heading, and figures of one width."""
    tab = visit("book/ch7/public.html")
    seen = tab.evaluate("""() => [...document.querySelectorAll("article :is(th, td)[data-number]")]
      .map(cell => getComputedStyle(cell)).map(s => [s.textAlign, s.fontVariantNumeric])""")
    assert len(seen) > 10
    assert {tuple(style) for style in seen} == {("right", "tabular-nums")}


def test_pictures_lead_on(visit):
    """The gallery's to their code, a chapter's and the record's to each of their pages."""
    tab = visit("book/howto/gallery.html")
    tiles = tab.locator("article ul.tiles a:has(img)")
    assert tiles.count() == tab.locator("article p.figure-caption").count() > 5
    tiles.nth(2).click()
    cell = tab.locator("#picture-3")
    assert abs(cell.bounding_box()["y"]) < 200
    assert cell.locator("pre").count() and cell.locator("img").count()
    rows = visit("book/ch5/index.html").locator("article tr:has(td a)")
    assert rows.locator("img.tile").count() > rows.count() / 2
    tab = visit("book/record/index.html")
    listed = tab.locator("article ul.tiles a").evaluate_all("links => links.map(a => a.href)")
    wanted = [page for page in toc.pages() if page.startswith("book/record/")]
    assert len(listed) == len(set(listed)) == len(wanted) - 1


@pytest.mark.parametrize("page", ["ch5/safeguard", "graph", "ledger", "record/5.3"])
def test_what_is_pressed_is_large_enough_for_a_finger(page, visit):
    tab = visit(f"book/{page}.html", PHONE, has_touch=True, is_mobile=True)
    small = tab.evaluate("""() => [...document.querySelectorAll(`.header-article-items .btn,
      article :is(button, select, summary, input:not([type=checkbox]))`)]
      .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 39.5)
      .map(e => e.outerHTML.slice(0, 120))""")
    assert small == []


# ---------------------------------------------------------------- a phone


TOUCH = dict(has_touch=True, is_mobile=True)


def test_a_formula_within_a_sentence_is_no_stop_of_the_keyboard(visit, until_none):
    """Unless it scrolls; and one that fits is of the text's size."""
    tab = visit("book/ch5/solvers.html", PHONE, **TOUCH)
    wrong = """() => [...document.querySelectorAll("article mjx-container:not([display=true])")]
      .filter(formula => {
        const inner = formula.querySelector("mjx-math").getBoundingClientRect().width;
        const fits = inner <= formula.getBoundingClientRect().width + 1;
        return fits && inner < 300 && (formula.tabIndex === 0 || formula.style.fontSize);
      }).map(formula => formula.textContent)"""
    assert tab.locator("article mjx-container:not([display=true])").count() > 20
    assert until_none(tab, wrong) == []  # the page may still be setting them


def test_rows_of_words_are_cards_and_others_let_the_shadow_through(visit):
    """Five columns of words in 358 pixels are read by nobody."""
    tab = visit("book/ch5/solvers.html", PHONE, **TOUCH)
    cell = tab.locator("article table").first.locator("tbody td").nth(3)
    assert cell.evaluate("cell => getComputedStyle(cell).display") == "block"
    assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") != "none"
    rows = visit("book/ledger.html", PHONE, **TOUCH).locator(
        "article .pst-scrollable-table-container:has(td[data-number]) tbody tr"
    )
    grounds = rows.evaluate_all("rows => rows.map(row => getComputedStyle(row).backgroundColor)")
    assert grounds and all("/ 0" in ground or ", 0" in ground for ground in grounds)


def test_the_ground_below_the_code_is_the_code_s(visit):
    tab = visit("book/ch5/solvers.html", PHONE, color_scheme="dark", **TOUCH)
    grounds = tab.locator("article .cell_input").first.evaluate(
        "cell => [cell, cell.querySelector('pre')].map(e => getComputedStyle(e).backgroundColor)"
    )
    assert grounds[0] == grounds[1]


def test_the_menu_opens_at_this_page_and_the_contents_close(visit):
    tab = visit("book/ch5/solvers.html", PHONE, **TOUCH)
    tab.locator(".secondary-toggle:visible").first.tap()
    tab.locator("dialog[open] nav a").nth(3).tap()
    tab.wait_for_timeout(500)
    assert not tab.locator("dialog[open]").count()
    assert 0 < tab.locator(":target").bounding_box()["y"] < 200
    tab.locator(".primary-toggle:visible").first.tap()
    tab.wait_for_timeout(500)
    place = tab.locator("dialog[open] li.current > a").last
    assert place.inner_text() == "Four ways to climb"
    assert 40 <= place.bounding_box()["y"] < PHONE["height"] - 40
    assert place.bounding_box()["height"] >= 40


@pytest.mark.usefixtures("search")
def test_the_search_fills_a_phone_and_its_field_stays(visit):
    tab = visit("book/ch5/solvers.html", PHONE, **TOUCH)
    tab.locator(".search-button:visible").first.tap()
    dialog = tab.locator("#pst-search-dialog")
    dialog.locator("input").press_sequentially("kernel")
    dialog.locator("li a").nth(8).wait_for()
    box = dialog.bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= PHONE["width"]
    assert 0 <= box["y"] and box["y"] + box["height"] <= PHONE["height"]
    swipe(tab, (200, 600), (0, -300))
    assert dialog.evaluate("dialog => dialog.scrollTop") > 100
    assert 0 <= dialog.locator("input").bounding_box()["y"] < 60
    dialog.get_by_role("button", name="Close the search").tap()
    assert not tab.locator("dialog[open]").count()


@pytest.mark.parametrize("page", ["ch3/problem", "ch5/safeguard"])
def test_words_of_a_figure_can_be_read_on_a_phone(page, visit):
    """Its panels stand below each other, or it is read by a swipe."""
    tab = visit(f"book/{page}.html", PHONE, **TOUCH)
    shrunk = tab.locator("article .cell_output img:not(.slides img)").evaluate_all(
        """images => images.map(image => {
          image.loading = "eager";
          const stacked = /stacked/.test(image.closest("picture")?.innerHTML ?? "");
          return [stacked, +image.getAttribute("width"), image.getBoundingClientRect().width];
        }).filter(([stacked, whole, shown]) => !stacked && shown < 0.6 * whole)"""
    )
    assert shrunk == []


@pytest.mark.parametrize("page", ["ch5/index", "ch6/limit", "ledger", "errata"])
def test_nothing_jumps_while_a_page_is_read(page, visit):
    """From its first moment on, and while it is scrolled through."""
    tab = visit(f"book/{page}.html")
    tab.evaluate("""() => {
      window.shift = 0;
      new PerformanceObserver(list => list.getEntries().forEach(e => { window.shift += e.value; }))
        .observe({ type: "layout-shift", buffered: true });
    }""")
    for _ in range(12):
        tab.mouse.wheel(0, 400)
        tab.wait_for_timeout(250)
    assert tab.evaluate("window.shift") < 0.05


# ---------------------------------------------------------------- finding


def test_the_search_stays_in_sight_and_says_where_one_is(visit):
    tab = visit("book/ch6/limit.html")
    box = tab.locator(".bd-sidebar-primary .search-button-field").bounding_box()
    assert 0 <= box["y"] < 200
    crumbs = tab.get_by_role("navigation", name="Breadcrumb")
    assert crumbs.get_by_role("link", name="Chapter 6", exact=False).count() == 1
    tab = visit("book/claims/eq-5.2.html")
    crumbs = tab.get_by_role("navigation", name="Breadcrumb")
    crumbs.get_by_role("link", name="The ledger of claims").click()
    tab.wait_for_url("**/book/ledger.html")
    place = visit("book/claims/eq-5.2.html").locator(".bd-sidebar-primary li.current > a")
    assert place.all_text_contents() == ["The ledger of claims"]


ASKED = {
    "gaussian": {"ch5/kernels"},
    "error": {"howto/install", "howto/leak", "howto/reduce"},
    "missing values": {"howto/reduce", "howto/table"},
    "my labels are numbers": {"howto/regress"},
}


@pytest.mark.usefixtures("search")
@pytest.mark.parametrize("words, pages", ASKED.items())
def test_words_of_a_reader_lead_to_a_page_that_answers(words, pages, visit):
    """Among the best three; in groups, claims last."""
    tab = visit(f"search.html?q={words.replace(' ', '+')}")
    best = tab.locator("#search-results ul").first.locator("a")
    found = best.evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert any(page in address for page in pages for address in found), found
    groups = tab.locator("#search-results h2").all_text_contents()
    assert "Claims" not in groups[:-1]


def test_what_is_found_is_shown_while_one_types(visit):
    tab = visit("book/ch1/question.html")
    tab.keyboard.press("Control+k")
    field = tab.locator("#pst-search-dialog input")
    field.press_sequentially("choose sigma")
    first = tab.locator("#pst-search-dialog li a").first
    first.wait_for()
    tab.wait_for_function(
        "() => document.querySelector('#pst-search-dialog li a').href.includes('howto/choose')"
    )
    field.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/book/howto/choose.html*")


def test_the_graph_opens_on_a_map_that_is_seen_at_once(visit):
    """All claims are above the fold of two screens; one leads to its chapter, drawn."""
    tab = visit("book/graph.html")
    tiles = tab.locator(".graph-map a[data-id]")
    assert tiles.count() == len(ledger())
    assert bottom(tab.locator(".graph-map")) < 1.6 * DESKTOP["height"]
    tab.locator('.graph-map a[data-id="thm-5.1"]').click()
    tab.locator("#graph-card").get_by_role("button", name="its chapter, drawn").click()
    assert tab.locator('[data-view="5"] svg a.chosen').count() == 1
    tab.locator("#claims-graph [name=view]").select_option("2")
    assert tab.locator("#graph-card").is_hidden(), "it says what is not on the map"


@pytest.mark.parametrize("old, new", [("ch5/phi", "ch5/gradient"), ("ch2/nmi", "ch3/nmi")])
def test_an_old_address_leads_on(old, new, visit):
    visit(f"book/{old}.html").wait_for_url(f"**/book/{new}.html")
