"""Where the book's files lie, and packages that the book has beside the library's.

Claims, printed and recomputed numbers belong to the package. The notebooks lie around it in a
checkout; in a wheel, and in the page's Python, they are its folder ``pages``.
"""

from functools import cache
from importlib import import_module, resources
from pathlib import Path


@cache
def data():
    """The folder of ``claims``, ``thesis`` (printed numbers) and ``results`` (recomputed ones)."""
    return Path(str(resources.files("ismlit_book")))


@cache
def pages():
    """The folder of the notebooks, ``ch5/idea.ipynb`` and the like."""
    return data().parent if is_checkout() else data() / "pages"


@cache
def is_checkout():
    """Whether the book can be written to: no installed wheel, which brings its own pages."""
    return not (data() / "pages").is_dir()


def optional(module, extra=None):
    """A module that not every installation has, or an error that says what brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        book = f"'./book[{extra}]'" if extra else "./book"
        raise ImportError(f"{module} is missing. In a clone: pip install {book}") from error
