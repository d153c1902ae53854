"""The tables at the top of the record's pages lead to the cells that check what they list.

Where a row says that its evidence is below, the built page links the word to the first cell that
checks one of its items.
"""

import re

from ismlit_book.record.ledger import ledger, title

from tools.toc import pages

ROW = re.compile(r"(<p><strong>([^<]*)</strong>(?:(?!</tr>).)*?<p>)below(?=[,<])", re.DOTALL)
MARK = re.compile(r'id="check-([^"]+)"')


def linked(text):
    """A page whose rows lead to their evidence, as far as it is on the page.

    >>> row = '<tr><td><p><strong>(5.2)</strong> W</p></td><td><p>below</p></td></tr>'
    >>> '<a href="#check-eq-5.2">below</a>' in linked(row + '<div id="check-eq-5.2">')
    True
    >>> linked(row) == row
    True
    """
    checked = {title(claim): claim for claim in MARK.findall(text) if claim in ledger()}

    def row(found):
        names = found[2].split(" to ")
        place = next((checked[name] for name in names if name in checked), None)
        return f'{found[1]}<a href="#check-{place}">below</a>' if place else found[0]

    return ROW.sub(row, text)


def install(site):
    """Link the rows of the record's pages in the built book `site`."""
    for page in pages():
        if page.startswith("book/record/"):
            path = site / f"{page}.html"
            path.write_text(linked(path.read_text(encoding="utf8")), encoding="utf8")
