"""What the front page is made of besides its figure: one line of counts, cards with pictures.

``python -m ismlit.edition.front`` draws the two pictures by which the site is shared: the one that
other sites show with a link to it, and the README's, which moves.
"""

from __future__ import annotations

import base64
import io
import json
from urllib.parse import quote

from ismlit.edition.files import book, is_checkout
from ismlit.edition.ledger import counts, ledger
from ismlit.edition.templates import render

WIDTH = 360
"""Pixels of a card's picture."""


def summary():
    """What came out, in a sentence: an object that Jupyter shows as HTML.

    Examples
    --------
    >>> from ismlit.edition.front import summary
    >>> "claims" in summary().data
    True
    """
    from IPython.display import HTML

    number = counts()
    return HTML(render("summary.html.j2", total=len(ledger()), number=number))


def picture(page, figure):
    """The stored picture of a figure: a data address, or None where none is stored.

    A drawing is taken as it is, so that it follows the page's theme; a PNG is made small.

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
    drawn = next((d["image/svg+xml"] for d in data if "image/svg+xml" in d), None)
    if drawn is not None:
        return "data:image/svg+xml," + quote("".join(drawn), safe=" :;,=()/")
    found = next((d["image/png"] for d in data if "image/png" in d), None)
    if found is None:  # an installed book has no pictures
        return None
    image = Image.open(io.BytesIO(base64.b64decode(found))).convert("RGBA")
    image.thumbnail((WIDTH, WIDTH), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.quantize(32, Image.Quantize.FASTOCTREE).save(file, "PNG", optimize=True)
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


def drawing(step, size=(12.0, 6.3)):
    """The front page's samples, both lines and the objective after `step` steps: a figure."""
    import matplotlib.pyplot as plt
    import numpy as np

    from ismlit.edition.live import direction, example, published_path, safeguarded_path
    from ismlit.edition.plots import LINES, look
    from ismlit.problem import Problem

    X, y, gamma, kernel = example()
    problem = Problem(X, gamma, kernel)
    start = np.linalg.eigh(problem.phi_0())[1][:, -1:]
    figure, (left, right) = plt.subplots(1, 2, figsize=size, layout="constrained")
    for k in range(2):
        left.plot(*X[y == k].T, ls="", alpha=0.7, **(look(k + 2) | {"ms": 9}))
    grid = np.arange(0, 181, 2)
    height = np.array([problem.objective(direction(angle)) for angle in grid])
    right.plot(grid, 100 * height / height.max(), color="gray")
    paths = {"published": published_path, "with the level shift": safeguarded_path}
    for k, (name, path) in enumerate(paths.items()):
        angles = path(problem, start, step)
        colour = ("#D55E00", "#0072B2")[k]
        way = direction(angles[-1])[:, 0]
        left.axline((0, 0), way, color=colour, ls=LINES[1 - k], lw=4)
        share = [100 * problem.objective(direction(a)) / height.max() for a in angles]
        right.plot(angles, share, "o", color=colour, alpha=0.4)
        right.plot(angles[-1:], share[-1:], "o", color=colour, ms=16, label=name)
    left.set(xticks=[], yticks=[], aspect="equal")
    right.set(xlabel="angle of the line", ylabel="objective, percent", xticks=(0, 90, 180))
    right.legend(loc="upper right", fontsize="large")
    return figure


def draw(steps=9):
    """Write ``book/static/social.png`` and the README's ``book/static/turning.gif``."""
    import matplotlib.pyplot as plt
    from PIL import Image

    if not is_checkout():
        raise SystemExit("no book here: run this in a clone of the repository")
    frames = []
    for step in range(steps + 1):
        figure, file = drawing(step), io.BytesIO()
        if step == 5:
            figure.savefig(book() / "static" / "social.png", dpi=100)
        figure.savefig(file, format="png", dpi=64)
        plt.close(figure)
        frames.append(Image.open(file).convert("P", palette=Image.Palette.ADAPTIVE, colors=64))
    first, *others = frames
    options = {"save_all": True, "append_images": others, "duration": 900, "loop": 0}
    first.save(book() / "static" / "turning.gif", **options)


if __name__ == "__main__":
    draw()
