"""How many claims hold, need a correction or fail: a bar, and the counts in words."""

from urllib.parse import quote_plus

from ismlit_book.record.ledger import SIGNS, counts, tally, told_apart

COLOURS = {  # of Okabe and Ito, as book.css has them
    "holds": "#009e73",
    "holds as corrected": "#e69f00",
    "fails": "#d55e00",
    "reproduced": "#0072b2",
    "reproduced in part": "#f0e442",
    "not reproduced": "#cc79a7",
    "definition": "#56b4e9",
    "not checkable": "#888888",
    "open": "#888888",
}


def bar(claims=None):
    """The bar alone, as HTML: a part for each verdict, as wide as its share of the claims.

    Examples
    --------
    >>> from ismlit_book.figures.verdict_bar import bar
    >>> from ismlit_book.record.ledger import ledger
    >>> bar([ledger()["thm-5.1"]]).count("flex-grow")
    1
    """
    parts = "".join(
        f'<span style="flex-grow: {number}; background: {COLOURS[verdict]}"></span>'
        for verdict, number in counts(claims).items()
    )
    style = "display: flex; gap: 1px; height: 0.8em"
    said = f'class="verdict-bar" role="img" aria-label="{tally(claims)}"'
    return f'<span {said} style="{style}">{parts}</span>'


class VerdictBar:
    """The claims of the thesis and the papers as a bar, with the number of each verdict below it.

    This edition's own are counted apart, in words.

    Examples
    --------
    >>> from ismlit_book.figures.verdict_bar import VerdictBar
    >>> repr(VerdictBar()).split()[1]
    'claims:'
    """

    def __repr__(self):
        return f"{len(told_apart()[0])} claims: {tally()}"

    def _repr_html_(self):
        theirs, ours = told_apart()
        words = "".join(
            f'<a href="ledger.html#verdict={quote_plus(verdict)}" style="white-space: nowrap">'
            f'<span style="border-bottom: 3px solid {COLOURS[verdict]}">{SIGNS[verdict]}</span> '
            f"{number} {verdict}</a> "
            for verdict, number in counts(theirs).items()
        )
        own = ", ".join(f"{number} {verdict}" for verdict, number in counts(ours).items())
        words += f"<span>and {len(ours)} of this edition's own: {own}</span>"
        style = "display: flex; flex-wrap: wrap; gap: 0.1em 0.9em; margin: 0.3em 0 0"
        return (
            f'<div class="verdict-counts"><b>{len(theirs)} claims</b>{bar(theirs)}'
            f'<p style="{style}">{words}</p></div>'
        )
