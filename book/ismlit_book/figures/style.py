"""The book's style of figures: its palette as matplotlib's own cycle, and axes that are open.

`display.register` draws every figure that a notebook stores in it, so that a figure that names no
colour has those of `ismlit.plot`, as the others have.
"""

from ismlit.plot import COLOURS


def use():
    """Draw all figures from here on in the book's palette and sizes.

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
    from matplotlib import cycler

    cycle = cycler(color=COLOURS)
    matplotlib.rcParams.update({"axes.prop_cycle": cycle, "axes.titlesize": "medium"})


def open_axes(figure):
    """Take the upper and the right edge from the axes of a figure, but for those of a picture.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An axis whose scale stands at such an edge keeps it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ismlit_book.figures.style import open_axes
    >>> figure = Figure()
    >>> curve, matrix = figure.subplots(1, 2)
    >>> shown = matrix.imshow([[1, 0]])
    >>> open_axes(figure)
    >>> curve.spines.right.get_visible(), matrix.spines.right.get_visible()
    (False, True)
    """
    for axes in figure.axes:
        if axes.name != "rectilinear" or axes.images or hasattr(axes, "_colorbar"):
            continue
        for axis, edge in ((axes.xaxis, "top"), (axes.yaxis, "right")):
            if axis.get_ticks_position() != edge:
                axes.spines[edge].set_visible(False)
