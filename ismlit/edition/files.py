"""Where the book's files lie: ``book/`` in a checkout, else what ``ismlit-book`` installs.

And packages that the book has beside the library's.
"""

from functools import cache
from importlib import import_module
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


def optional(module, extra):
    """A module that not every installation has, or an error that says what brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{module} is missing: pip install 'ismlit[{extra}]'") from error
