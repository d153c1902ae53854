"""The browser that all of these tests use."""

import contextlib

import pytest

from tools.print_book import SITE, chromium


@pytest.fixture(scope="module")
def browser():
    """Chromium, for one module; without it the tests skip."""
    program = chromium()
    if program is None:
        pytest.skip("no Chromium here (install it, or set CHROMIUM to its path)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture
def search():
    """The book's own search; where a book was built without MiniSearch the test skips."""
    if not (SITE / "_static" / "search-records.js").exists():
        pytest.skip("no MiniSearch in the built book (make book, with a network at the first time)")


@pytest.fixture
def until_none():
    """What a script still finds on a page that was given the time to find nothing."""
    from playwright.sync_api import Error

    def found(tab, script, timeout=15_000):
        with contextlib.suppress(Error):
            tab.wait_for_function(f"() => ({script})().length === 0", timeout=timeout)
        return tab.evaluate(script)

    return found
