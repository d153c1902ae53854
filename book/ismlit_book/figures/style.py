"""The book's style of figures: its palette as matplotlib's own cycle, and axes that are open.

A figure that names no colour then has those of `plots.COLOURS`, beside the others.
"""

from matplotlib import cycler

from ismlit_book.figures.plots import COLOURS

STYLE = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "legend.frameon": False,
}


def use():
    """Draw all figures from here on in the book's style.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> from ismlit_book.figures.style import use
    >>> with mpl.rc_context():
    ...     use()
    ...     mpl.rcParams["axes.prop_cycle"].by_key()["color"][:2]
    ['#0072B2', '#D55E00']
    """
    import matplotlib

    matplotlib.rcParams.update(STYLE)
