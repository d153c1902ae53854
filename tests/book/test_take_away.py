"""The book to take away: one PDF, and a zip to be read without a network."""

import zipfile

from tools import offline, toc
from tools.print_book import lead_within

ADDRESS = "http://127.0.0.1:1234/"


def test_links_between_pages_stay_in_the_file():
    """Those to a page of it lead to its first sheet, the site's others to the public address."""
    from pypdf import PdfWriter
    from pypdf.annotations import Link

    writer = PdfWriter()
    for _ in range(3):
        writer.add_blank_page(100, 100)
    places = ("book/b.html#part", "book/claims/eq-5.2.html")
    others = ("https://example.org/",)
    for url in (*(ADDRESS + place for place in places), *others):
        writer.add_annotation(0, Link(rect=(0, 0, 9, 9), url=url))
    lead_within(writer, ADDRESS, {"book/a": writer.pages[0], "book/b": writer.pages[2]})
    within, public, other = (entry.get_object()["/A"] for entry in writer.pages[0]["/Annots"])
    assert within["/S"] == "/GoTo"
    assert within["/D"][0].get_object() == writer.pages[2].get_object()
    assert public["/URI"] == toc.config()["html"]["baseurl"] + places[1]
    assert other["/URI"] == others[0]


def test_the_archive_has_the_pages_and_no_python(tmp_path):
    site = tmp_path / "html"
    for name in ("index.html", "book/a.html", "_static/book.css", "_static/python/python.wasm.gz"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(name)
    target = tmp_path / "book.zip"
    offline.pack(site, target)
    with zipfile.ZipFile(target) as archive:
        assert set(archive.namelist()) == {
            "ismlit/index.html",
            "ismlit/book/a.html",
            "ismlit/_static/book.css",
        }
