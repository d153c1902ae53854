"""What the front page is made of besides its figure: one line of counts, cards with pictures."""

from __future__ import annotations

import base64
import io
import json

from ismlit.edition.files import book
from ismlit.edition.ledger import counts, ledger
from ismlit.edition.templates import render

WIDTH = 360
"""Pixels of a card's picture."""


def summary():
    """What came out, in a sentence: an object that Jupyter shows as HTML.

    Examples
    --------
    >>> from ismlit.edition.front import summary
    >>> summary().data.split()[1]
    'claims,'
    """
    from IPython.display import HTML

    number = counts()
    return HTML(render("summary.html.j2", total=len(ledger()), number=number))


def picture(page, figure):
    """The stored picture of a figure, made small: the data address of a PNG, or None without it.

    Parameters
    ----------
    page : str
        A notebook of the book, as ``ch5/idea``.
    figure : str
        The name of one of its figures, as ``fig-idea``.

    Raises
    ------
    ValueError
        If the page has no figure of this name.
    """
    from PIL import Image

    cells = json.loads((book() / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    named = {c["metadata"].get("mystnb", {}).get("figure", {}).get("name"): c for c in cells}
    if figure not in named:
        raise ValueError(f"{page} has no figure {figure!r}; it has {sorted(filter(None, named))}")
    data = [output.get("data", {}) for output in named[figure]["outputs"]]
    found = next((d["image/png"] for d in data if "image/png" in d), None)
    if found is None:  # an installed book has no pictures
        return None
    image = Image.open(io.BytesIO(base64.b64decode(found))).convert("RGBA")
    paper = Image.new("RGBA", image.size, "white")
    paper.alpha_composite(image)
    paper.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    paper.convert("RGB").quantize(32, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def cards(*rows):
    """Cards with pictures, each a link: an object that Jupyter shows as HTML.

    Parameters
    ----------
    *rows : tuples (title, text, target, page, figure)
        `target` is a page of the book, as ``howto/reduce``; the picture is `figure` of `page`.
    """
    from IPython.display import HTML

    found = [
        dict(title=title, text=text, target=target, picture=picture(page, figure))
        for title, text, target, page, figure in rows
    ]
    return HTML(render("cards.html.j2", cards=found))
