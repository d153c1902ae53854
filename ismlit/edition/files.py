"""Where the book's files lie: ``book/`` in a checkout, a copy inside an installed wheel."""

from functools import cache
from pathlib import Path


@cache
def book():
    """The folder of claims, printed and recomputed numbers, and notebooks."""
    here = Path(__file__).resolve().parent
    for place in (here.parents[1] / "book", here / "_book"):
        if (place / "claims").is_dir():
            return place
    raise FileNotFoundError("the book's files are missing: reinstall ismlit")


def is_checkout():
    """Whether the book can be written to: not inside an installed wheel."""
    return book().name == "book"
