"""Numbers of figures, theorems and exercises by chapter: an extension of Sphinx.

Sphinx counts through the whole book, "Fig. 113". Here the third figure of chapter 5 is "Fig. 5-3":
with a hyphen, because "Figure 5.3" is the thesis's own. How-tos count under H, other pages by
themselves.
"""

from __future__ import annotations

import re
from collections import Counter


def chapter(page):
    """What stands before the number on a page of the book.

    Examples
    --------
    >>> from ismlit.edition.numbering import chapter
    >>> chapter("book/ch5/idea"), chapter("book/howto/reduce"), chapter("book/intro")
    ('5-', 'H-', '')
    """
    found = re.match(r"book/(?:ch(\d)|(howto))/", page)
    return "" if found is None else f"{found[1] or 'H'}-"


def by_chapter(numbers):
    """Renumber what Sphinx has counted.

    Parameters
    ----------
    numbers : dict
        ``{page: {kind: {id: (number,)}}}`` in the order of the book, and changed in place.

    Examples
    --------
    >>> from ismlit.edition.numbering import by_chapter
    >>> numbers = {f"book/ch{k}/x": {"figure": {"a": (k,)}} for k in (1, 2)}
    >>> numbers["book/ch2/y"] = {"figure": {"b": (3,)}}
    >>> by_chapter(numbers)
    >>> numbers["book/ch2/x"], numbers["book/ch2/y"]
    ({'figure': {'a': ('2-1',)}}, {'figure': {'b': ('2-2',)}})
    """
    count = Counter()
    for page, kinds in numbers.items():
        for kind, ids in kinds.items():
            for name in ids:
                count[chapter(page) or page, kind] += 1
                ids[name] = (f"{chapter(page)}{count[chapter(page) or page, kind]}",)


def renumber(app, env):
    """After Sphinx has numbered, and before anything is written."""
    by_chapter(env.toc_fignumbers)
    return []


def setup(app):
    """For Sphinx."""
    app.connect("env-get-updated", renumber, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
