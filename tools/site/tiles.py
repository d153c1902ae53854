"""Tiles: pictures that lead on, made while the book is built from what its pages draw first.

A table of a chapter's or the reference's pages gets a picture in each row that has one of its own;
the record's index lists its pages; the gallery begins with all that it draws, each leading to its
code.
"""

from __future__ import annotations

import base64
import io
import json
import posixpath
import re

from tools.execute_notebooks import ROOT
from tools.site.templates import render
from tools.toc import pages, parts

SIZE = (280, 168)
"""Of a thumbnail, in pixels, at most."""
COLOURS = 32
FIGURE = re.compile(r"```\{stored-figure\} (\S+) (\S+)")
TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
LINK = re.compile(r'(<tr[^>]*>\s*<td[^>]*>\s*<p>)(?=<a [^>]*href="([^"#]+)\.html[^"]*")')
CELL = '<div class="cell '
CAPTION = re.compile(r'<p class="figure-caption"[^>]*>.*?<a [^>]*>(.*?)</a>', re.DOTALL)
TITLE = re.compile(r"<article.*?<h1>(.*?)(?:<a |</h1>)", re.DOTALL)
END = '<div class="toctree-wrapper'
RECORD, GALLERY = "book/record/index", "book/howto/gallery"


def pictures(page):
    """The PNG of each figure that a page shows, in its order."""
    source = ROOT / f"{page}.ipynb"
    if not source.exists():
        text = (ROOT / f"{page}.md").read_text(encoding="utf8")
        for place, cell in FIGURE.findall(text):
            yield from pictures_of(ROOT / "book" / f"{place}.ipynb", {cell})
    else:
        yield from pictures_of(source)


def pictures_of(source, wanted=()):
    """The PNG of each cell of the notebook `source` that stores one, or of those `wanted`."""
    for cell in json.loads(source.read_text(encoding="utf8"))["cells"]:
        found = (output.get("data", {}).get("image/png") for output in cell.get("outputs", ()))
        image = next(filter(None, found), None)
        if image and (not wanted or cell["id"] in wanted):
            yield base64.b64decode(image)


def thumbnail(image):
    """A PNG made small: its bytes."""
    from PIL import Image

    picture = Image.open(io.BytesIO(image)).convert("RGBA")
    picture.thumbnail(SIZE, Image.Resampling.LANCZOS)
    small = io.BytesIO()
    picture.quantize(COLOURS, Image.Quantize.FASTOCTREE).save(small, "PNG", optimize=True)
    return small.getvalue()


class Tiles:
    """The thumbnails of a built book `site`, each written once."""

    def __init__(self, site):
        self.site = site
        self.made = {}

    def image(self, page, number=0):
        """The name of the thumbnail of a page's figure, or None if it has none."""
        if (page, number) not in self.made:
            found = list(pictures(page))
            name = f"tile-{page.removeprefix('book/').replace('/', '-')}-{number}.png"
            self.made[page, number] = name if number < len(found) else None
            if number < len(found):
                (self.site / "_images" / name).write_bytes(thumbnail(found[number]))
        return self.made[page, number]

    def tile(self, page, target, number=0, anchor="", title=None):
        """What the template says of a tile on `page` that leads to the page `target`."""
        up = posixpath.relpath(".", posixpath.dirname(page))
        image = self.image(target, number)
        if title is None:
            title = TITLE.search((self.site / f"{target}.html").read_text(encoding="utf8"))[1]
        address = anchor or posixpath.relpath(f"{target}.html", posixpath.dirname(page))
        return dict(address=address, title=title, image=image and f"{up}/_images/{image}")

    def index(self, page, text):
        """A page whose tables of pages have a picture in each row, where most of them have one."""

        def row(found, seen):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[2]))
            tile = self.tile(page, target, title="") if target in pages() else dict(image=None)
            if tile["image"] in seen:  # one picture says nothing of many things
                tile = dict(image=None)
            seen.add(tile["image"])
            return found[1] + render("tile.html.j2", **tile)

        def table(found):
            rows, seen = len(LINK.findall(found[0])), set()
            shown = LINK.sub(lambda link: row(link, seen), found[0])
            return shown if 2 * shown.count('class="tile"') >= rows > 1 else found[0]

        return TABLE.sub(table, text)

    def record(self, text):
        """The record's index with a list of its pages, chapter by chapter."""
        found = dict(parts())["The record"]
        groups = {}
        for target in found[1 + found.index(RECORD) :]:
            if target.startswith("book/record/"):
                group = re.match(r"[1-7](?=\D|$)|[A-D](?=\.)|", posixpath.basename(target))[0]
                name = f"{'Chapter' if group.isdigit() else 'Appendix'} {group}" if group else ""
                tile = self.tile(RECORD, target)
                groups.setdefault(name or "The papers, and beyond them", []).append(tile)
        at = text.rindex(END)
        return text[:at] + render("tiles.html.j2", groups=groups) + text[at:]

    def gallery(self, text):
        """The gallery with all its figures at the top; each leads to the cell that draws it."""
        start, tiles = text.index(CELL), []
        for number, caption in reversed(list(enumerate(CAPTION.finditer(text)))):
            at, anchor = text.rindex(CELL, 0, caption.start()), f"picture-{number + 1}"
            text = f'{text[:at]}<div id="{anchor}" {text[at:].removeprefix("<div ")}'
            tiles.insert(0, self.tile(GALLERY, GALLERY, number, f"#{anchor}", caption[1]))
        return text[:start] + render("tiles.html.j2", groups={"": tiles}) + text[start:]


def install(site):
    """Put the tiles into the built book `site`."""
    tiles = Tiles(site)
    for page in pages():
        path = site / f"{page}.html"
        before = path.read_text(encoding="utf8")
        text = before
        if page.endswith("/index") or page == "book/api":
            text = tiles.index(page, text)
        if page == RECORD:
            text = tiles.record(text)
        if page == GALLERY:
            text = tiles.gallery(text)
        if text != before:
            path.write_text(text, encoding="utf8")
