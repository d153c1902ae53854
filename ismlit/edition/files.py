"""Where the book's files lie: ``book/`` in a checkout, else what ``ismlit-book`` installs."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def book():
    """The folder of claims, printed and recomputed numbers, and notebooks."""
    root = Path(__file__).resolve().parents[2]
    for place in (root / "book", root / "ismlit_book"):
        if (place / "claims").is_dir():
            return place
    raise FileNotFoundError(
        "the book's claims and notebooks are not installed. In a clone: pip install . ./book"
    )


def is_checkout():
    """Whether the book can be written to: not inside an installed wheel."""
    return book().name == "book"
