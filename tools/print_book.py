"""Print every page of the built book into ``_build/pdf``, as Chromium shows it.

Figures and formulas stay as they are; hidden code stays hidden, solutions are opened.
"""

import argparse
import contextlib
import functools
import http.server
import os
import shutil
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
TYPESET = (
    "() => window.MathJax?.startup?.promise ? MathJax.startup.promise.then(() => true) : false"
)


def chromium():
    """The program, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@contextlib.contextmanager
def serve(site):
    """The address of a web server for a folder, on this machine alone."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

        def do_GET(self):
            if self.path == "/favicon.ico":  # every browser asks once; the book has none
                self.send_response(204)
                self.end_headers()
            else:
                super().do_GET()

    handler = functools.partial(Handler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def print_page(tab, address, file):
    """Print one page to a PDF file; returns the file."""
    from playwright.sync_api import Error

    tab.goto(address, wait_until="load")
    if tab.query_selector("script[src*='mathjax']"):
        with contextlib.suppress(Error):  # no network and no MathJax of its own: TeX is printed
            tab.wait_for_function(TYPESET, timeout=15_000)
    tab.evaluate(
        "() => document.querySelectorAll('.solution.toggle-hidden')"
        ".forEach(solution => solution.classList.remove('toggle-hidden'))"
    )
    tab.pdf(path=str(file), format="A4", print_background=True)
    return file


def main():
    """Print all pages below _build/html/book into _build/pdf."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    program = chromium()
    if program is None or not SITE.exists():
        sys.exit("this needs a built book (make book) and Chromium (or CHROMIUM=its path)")
    from playwright.sync_api import sync_playwright
    from tqdm import tqdm

    pages = sorted(p.relative_to(SITE / "book") for p in (SITE / "book").rglob("*.html"))
    pages = [page for page in pages if page.parts[0] != "claims"]  # the ledger has them
    target = ROOT / "_build" / "pdf"
    with serve(SITE) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        tab = browser.new_page()
        for page in tqdm(pages, unit="page"):
            file = target / page.with_suffix(".pdf")
            file.parent.mkdir(parents=True, exist_ok=True)
            print_page(tab, f"{address}book/{page.as_posix()}", file)
        browser.close()
    print(f"{len(pages)} pages are in {target}")


if __name__ == "__main__":
    main()
