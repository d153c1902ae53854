"""Where the book's files lie: ``book/`` in a checkout, a copy inside an installed wheel.

And packages that the book has beside the library's.
"""

from functools import cache
from importlib import import_module
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


def optional(module, extra):
    """A module that not every installation has, or an error that says what brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{module} is missing: pip install 'ismlit[{extra}]'") from error
