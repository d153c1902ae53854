"""Print the built book, as Chromium shows it: a PDF for each page, and one of the whole book.

Figures and formulas stay as they are; hidden code stays hidden, solutions are opened. The whole
book, ``_build/pdf/ismlit.pdf``, has a table of contents, numbered pages, and links that stay in it.
"""

import argparse
import contextlib
import functools
import html
import http.server
import io
import os
import re
import shutil
import sys
import threading
from pathlib import Path

from tools import toc
from tools.site.templates import render

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
FRONT = "book/intro.html"
SMALLER = 0.8  # so that a line of a proof that fits on the screen fits on paper
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


PICTURES = """() => Promise.all([...document.images].map((image) => {
  image.loading = "eager";
  return image.decode().catch(() => {});
}))"""
"""Pictures that wait until they come near are fetched at once."""


def print_page(tab, address, file):
    """Print one page to a PDF file; returns the file."""
    from playwright.sync_api import Error

    tab.goto(address, wait_until="load")
    if tab.query_selector("script[src*='mathjax']"):
        with contextlib.suppress(Error):  # no network and no MathJax of its own: TeX is printed
            tab.wait_for_function(TYPESET, timeout=15_000)
    tab.evaluate(
        "() => document.querySelectorAll('article details')"
        ".forEach(folded => { folded.open = true; })"
    )
    tab.evaluate(PICTURES)
    tab.pdf(path=str(file), format="A4", scale=SMALLER, print_background=True)
    return file


# ---------------------------------------------------------------- the whole book in one file


def sheets_of(tab, margin, title="", parts=(), starts=None, before=0, sheets=0):
    """The title and the table of contents, or so many numbers of `sheets`, as PDF.

    Page k of the book is number k + `before`.
    """
    from pypdf import PdfReader

    words = dict(title=title, parts=parts, starts=starts, before=before, sheets=sheets)
    tab.set_content(render("contents.html.j2", margin=margin, **words))
    return PdfReader(io.BytesIO(tab.pdf(prefer_css_page_size=True, print_background=True)))


def in_order(site):
    """The table of contents: [(caption, [(page, title), ...]), ...]."""

    def title(page):
        text = (site / f"{page}.html").read_text(encoding="utf8")
        article = text[text.index("<article") :]
        head = re.search(r"<h1>(.*?)<a class=\"headerlink", article, re.DOTALL)[1]
        return html.unescape(re.sub(r"<[^>]+>", "", head)).replace(r"\(", "").replace(r"\)", "")

    return [(caption, [(page, title(page)) for page in pages]) for caption, pages in toc.parts()]


def lead_within(writer, address, first_page):
    """Turn links between the book's pages into links within the file, others into public ones."""
    from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject

    public = toc.config()["html"]["baseurl"]
    for sheet in writer.pages:
        for link in map(lambda entry: entry.get_object(), sheet.get("/Annots", ())):
            action = link.get("/A", {})
            if not str(action.get("/URI", "")).startswith(address):
                continue
            place = str(action["/URI"]).removeprefix(address)
            page = place.partition("#")[0].removesuffix(".html")
            if page in first_page:
                goal = ArrayObject([first_page[page].indirect_reference, NameObject("/Fit")])
                new = {NameObject("/S"): NameObject("/GoTo"), NameObject("/D"): goal}
                link[NameObject("/A")] = DictionaryObject(new)
            else:
                action[NameObject("/URI")] = TextStringObject(public + place)


def bind(tab, address, site, folder, target):
    """Bind the pages' PDF in `folder` to one file; returns how many sheets it has."""
    from pypdf import PdfReader, PdfWriter

    parts = in_order(site)
    title = re.search(r"<title>.*?&#8212; (.*?)</title>", (site / FRONT).read_text("utf8"))[1]
    readers, starts, count = {}, {}, 0
    for _, pages in parts:
        for page, _ in pages:
            file = (folder / page.removeprefix("book/")).with_suffix(".pdf")
            readers[page], starts[page] = PdfReader(file), count
            count += len(readers[page].pages)
    before = len(sheets_of(tab, "20mm", title, parts, starts).pages)
    writer = PdfWriter()
    writer.append(sheets_of(tab, "20mm", title, parts, starts, before))
    for caption, pages in parts:
        chapter = None
        for page, name in pages:
            writer.append(readers[page], import_outline=False)
            if caption and chapter is None:
                chapter = writer.add_outline_item(title=caption, page_number=before + starts[page])
            writer.add_outline_item(title=name, page_number=before + starts[page], parent=chapter)
    numbers = sheets_of(tab, "0", sheets=before + count)
    for sheet, number in zip(writer.pages, numbers.pages):
        sheet.merge_page(number)
        sheet.compress_content_streams()
    lead_within(writer, address, {page: writer.pages[before + k] for page, k in starts.items()})
    writer.add_metadata({"/Title": title, "/Author": "The ismlit developers"})
    writer.compress_identical_objects()
    writer.write(target)
    return before + count


def main():
    """Print all pages below _build/html/book into _build/pdf, and the book."""
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
        whole = target / "ismlit.pdf"
        sheets = bind(tab, address, SITE, target, whole)
        browser.close()
    size = whole.stat().st_size / 1e6
    print(f"{len(pages)} pages are in {target}")
    print(f"the whole book, {sheets} sheets and {size:.0f} MB: {whole}")


if __name__ == "__main__":
    main()
