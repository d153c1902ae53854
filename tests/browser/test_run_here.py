"""Pages run in Chromium, by the Python that is built into the book, to their stored outputs.

Without a built book, without Python in it or without Chromium the tests skip.
"""

import configparser
import json
import re
from pathlib import Path

import pytest

from tools.browser_python import SITE, about, imported
from tools.execute_notebooks import ROOT, notebooks_of
from tools.print_book import chromium, serve

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("run-here")]

SHIPPED = SITE / "_static" / "python"
PATIENCE = 300_000  # milliseconds for all cells of a page, also beside other work
STATE = "() => document.querySelector('.run-here').dataset.state"
ENDED = "() => ['done', 'broken'].includes(document.querySelector('.run-here').dataset.state)"
RESULTS = """() => [...document.querySelectorAll('article div.cell')]
  .filter(cell => cell.runHere).map(cell => cell.runHere.results)"""
# One page a chapter, and each how-to.
QUICK = ["intro", "ch1/question"]
SLOW = [
    "ch2/dependence",
    "ch3/guarantees",
    "ch4/objective",
    "ch5/idea",
    "ch6/model",
    "ch7/beyond",
    *(f"howto/{path.stem}" for path in sorted((ROOT / "book" / "howto").glob("*.ipynb"))),
]


def notebook(page):
    return json.loads((ROOT / "book" / f"{page}.ipynb").read_text(encoding="utf8"))


NOTEBOOKS = [path.relative_to(ROOT / "book").with_suffix("").as_posix() for path in notebooks_of(ROOT)]


def runs(page):
    return not about(notebook(page))["refused"]


# ---------------------------------------------------------------- outputs, as nbval compares them


def rules():
    parser = configparser.RawConfigParser()
    parser.read(ROOT / "tools" / "nbval_sanitize.cfg")
    return [(part["regex"], part["replace"]) for part in map(dict, map(parser.__getitem__, parser.sections()))]


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
    for cell in notebook(page)["cells"]:
        if cell["cell_type"] == "code":
            outputs = [
                {"type": o["output_type"], "name": o.get("name"), "text": o.get("text"), "data": o.get("data")}
                for o in cell["outputs"]
            ]
            yield shown(outputs)


def computed(results):
    for cell in results:
        yield shown([{"type": r["kind"], **{k: r.get(k) for k in ("name", "text", "data")}} for r in cell])


def differences(page, results):
    """Cells whose outputs are not the stored ones, with both."""
    cells = list(zip(stored(page), computed(results), strict=True))
    return {number: pair for number, pair in enumerate(cells, 1) if pair[0] != pair[1]}


# ---------------------------------------------------------------- the browser


@pytest.fixture(scope="module")
def address():
    if not SHIPPED.exists():
        pytest.skip("no Python in the built book (make book, with a network at the first time)")
    with serve(SITE) as address:
        yield address


@pytest.fixture(scope="module")
def tab(address):
    """One tab, which goes nowhere but to the book."""
    program = chromium()
    if program is None:
        pytest.skip("no Chromium here (install it, or set CHROMIUM to its path)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.set_default_timeout(60_000)
        tab.route(
            lambda url: not url.startswith((address, "data:", "blob:")), lambda route: route.abort()
        )
        yield tab
        browser.close()


def open_page(tab, address, page):
    tab.goto(f"{address}book/{page}.html", wait_until="load")
    return tab.locator(".run-here")


def run_all(tab, address, page):
    """Press the button, wait until all cells have run; their results."""
    open_page(tab, address, page).get_by_role("button", name="Run here", exact=True).click()
    tab.wait_for_function(ENDED, timeout=PATIENCE)
    assert tab.evaluate(STATE) == "done", tab.locator(".run-here-words").text_content()
    return tab.evaluate(RESULTS)


@pytest.mark.parametrize(
    "page", [*QUICK, *(pytest.param(page, marks=pytest.mark.slow) for page in SLOW)]
)
def test_a_page_runs_to_its_stored_outputs(page, tab, address):
    if not runs(page):
        words = open_page(tab, address, page).text_content()
        assert about(notebook(page))["refused"] in words
        return
    assert differences(page, run_all(tab, address, page)) == {}
