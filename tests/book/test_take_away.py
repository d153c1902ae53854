"""The book to take away: one PDF, and a zip to be read without a network."""

import zipfile

from tools import offline
from tools.print_book import PUBLIC, bind

ADDRESS = "http://127.0.0.1:1234/"


def test_the_pages_are_bound_and_their_links_lead_to_the_public_book(tmp_path):
    from pypdf import PdfReader, PdfWriter
    from pypdf.annotations import Link

    files = [tmp_path / name for name in ("a.pdf", "b.pdf")]
    for file in files:
        page = PdfWriter()
        page.add_blank_page(100, 100)
        page.add_metadata({"/Title": f"Page {file.stem}"})
        for url in (f"{ADDRESS}book/b.html#part", "https://example.org/"):
            page.add_annotation(0, Link(rect=(0, 0, 9, 9), url=url))
        page.write(file)
    bind(files, ADDRESS, tmp_path / "all.pdf")
    bound = PdfReader(tmp_path / "all.pdf")
    assert [entry.title for entry in bound.outline] == ["Page a", "Page b"]
    for page in bound.pages:
        links = [entry.get_object()["/A"]["/URI"] for entry in page["/Annots"]]
        assert links == [f"{PUBLIC}book/b.html#part", "https://example.org/"]


def test_the_archive_has_the_pages_and_no_python(tmp_path):
    site = tmp_path / "html"
    for name in ("index.html", "book/a.html", "_static/book.css", "_static/python/python.wasm.gz"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(name)
    with zipfile.ZipFile(offline.pack(site, tmp_path / "book.zip")) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    assert names == {"ismlit/index.html", "ismlit/book/a.html", "ismlit/_static/book.css"}
