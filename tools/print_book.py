"""Print the built book with Chromium: its pages, and all of them as ``_build/pdf/ismlit.pdf``.

Figures and formulas stay as they are; solutions are opened (``book/static/book.css``). The file of
all pages has an outline, and its links lead to the published book.
"""

import argparse
import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tools import toc

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
PUBLIC = toc.config()["html"]["baseurl"]
PATIENCE = 30_000  # milliseconds of a page's own clock, in which its formulas are set


def chromium():
    """The program, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A web server that says nothing, and has no icon, for which every browser asks once."""

    def log_message(self, *arguments):
        """Say nothing."""

    def do_GET(self):
        """Answer with a file."""
        if self.path != "/favicon.ico":
            return super().do_GET()
        self.send_response(204)
        self.end_headers()


@contextlib.contextmanager
def serve(site):
    """The address of a web server for a folder, on this machine alone."""
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def print_page(address, file):
    """Print one page to a PDF file; returns the file."""
    with tempfile.TemporaryDirectory() as profile:  # no window of the reader's own is in the way
        options = f"--headless --no-sandbox --no-pdf-header-footer --user-data-dir={profile}"
        wanted = [f"--virtual-time-budget={PATIENCE}", f"--print-to-pdf={file}", address]
        subprocess.run([chromium(), *options.split(), *wanted], check=True, capture_output=True)
    return file


def bind(files, address, target):
    """Bind PDF files to one, with links to the published book in place of those to `address`."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import NameObject, TextStringObject

    writer = PdfWriter()
    for pages in map(PdfReader, files):
        writer.append(pages, outline_item=pages.metadata.title)
    links = (link.get_object() for page in writer.pages for link in page.get("/Annots", ()))
    for action in (link["/A"] for link in links if "/URI" in link.get("/A", ())):
        place = action["/URI"].replace(address, PUBLIC)
        action[NameObject("/URI")] = TextStringObject(place)
    writer.compress_identical_objects()
    writer.write(target)


def main():
    """Print the pages of the table of contents into _build/pdf, and bind them."""
    argparse.ArgumentParser(prog="python -m tools.print_book", description=__doc__).parse_args()
    if chromium() is None or not SITE.exists():
        sys.exit("this needs a built book (make book) and Chromium (or CHROMIUM=its path)")
    folder = ROOT / "_build" / "pdf"
    files = []
    with serve(SITE) as address:
        for page in toc.pages():
            files.append(folder / f"{page}.pdf")
            files[-1].parent.mkdir(parents=True, exist_ok=True)
            print_page(f"{address}{page}.html", files[-1])
        bind(files, address, folder / "ismlit.pdf")
    print(f"{len(files)} pages, and all of them: {folder / 'ismlit.pdf'}")


if __name__ == "__main__":
    main()
