"""What a page does under a hand: cells that show formulas and stop, a figure that a finger moves.

Without a built book or without Chromium the tests skip.
"""

import itertools

import pytest

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
    if not tab.evaluate("() => Boolean(window.MathJax)"):
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


@pytest.mark.parametrize("way", ["stop", "close", "leave"])
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
    other.wait_for_timeout(1000)
    assert load_within(browser, other, 3000) < busy / 4


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
