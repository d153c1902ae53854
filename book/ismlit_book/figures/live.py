"""Figures that a reader moves on a static page, without a kernel, a network or a library.

`slides` shows one of several figures, drawn beforehand, by a slider, or plays them one after the
other. `turning` is the front page's:
the reader drags the line, the curve or a sample, and the page computes both iterations anew, by a
script (`templates/turning.js`) that does what `published_path` and the solver's level shift do here
and is tested against them.
"""

import base64
import json
import re
import warnings

import numpy as np
from ismlit import Gaussian, Problem, label_gamma, median_distance
from ismlit.solvers.climb import SHIFT
from ismlit.solvers.ism import ism

from ismlit_book.figures.stacking import NARROW, WIDE, stacked
from ismlit_book.figures.templates import render
from ismlit_book.methods.measures import class_table

HEAVIEST_FRAME = 40_000
"""Characters beyond which the frames of `slides` are pictures."""

BETWEEN = re.compile(r"(?<=>)(?=<)")


def example():
    """The front page's samples X (45, 2), classes y (45,), Gamma and kernel.

    Five small clouds, two classes, sigma = 0.45 times the median distance; the draw is one in which
    the published iteration cycles far from the maximum.

    Examples
    --------
    >>> from ismlit import ism
    >>> from ismlit_book.figures.live import degrees, example
    >>> X, y, gamma, kernel = example()
    >>> round(degrees(ism(X, gamma, kernel, 1).W))
    93
    """
    rng = np.random.default_rng(17)
    centres = 2.2 * rng.normal(size=(5, 2))
    X = np.vstack([centre + 0.45 * rng.normal(size=(9, 2)) for centre in centres])
    y = np.repeat(np.arange(5) % 2, 9)
    X -= X.mean(axis=0)
    return X, y, label_gamma(y), Gaussian(0.45 * median_distance(X))


def direction(angle):
    """The unit vector (2, 1) at an angle in degrees."""
    angle = np.deg2rad(angle)
    return np.array([[np.cos(angle)], [np.sin(angle)]])


def degrees(W):
    """The angle of the line spanned by W (2, 1), from 0 up to 180 degrees."""
    return float(np.rad2deg(np.arctan2(W[1, 0], W[0, 0])) % 180)


def published_path(problem, W, steps):
    """Angles of plain ISM, Algorithm 4: the top eigenvector of Phi, again and again."""
    angles = [degrees(W)]
    for _ in range(steps):
        W = np.linalg.eigh(problem.phi(W))[1][:, -1:]
        angles.append(degrees(W))
    return angles


def safeguarded_path(problem, W, steps):
    """Angles of the safeguarded solver after 1, 2, ... steps."""
    angles = [degrees(W)]
    with warnings.catch_warnings(action="ignore"):  # it is stopped on purpose
        for step in range(1, steps + 1):
            found = ism(problem, q=1, init=W, max_iter=step)
            angles.append(degrees(found.W))
    return angles


def turning(X, y, sigma, steps=12, shown=5):
    """The figure for samples X (n, 2) in two classes y: an object that Jupyter shows as HTML.

    Parameters
    ----------
    X : array of shape (n, 2)
    y : array of shape (n,)
        Two classes; drawn as circles and squares.
    sigma : float
        Bandwidth of the Gaussian kernel, in the units of X.
    steps : int
        How many steps can be played.
    shown : int
        How many have been made when the page opens, from the Taylor start.
    """
    from IPython.display import HTML

    problem = Problem(X, label_gamma(y), Gaussian(sigma))
    scale = 125 / np.abs(X).max()
    data = {
        "points": np.round(scale * X, 1).tolist(),
        "classes": np.unique(y, return_inverse=True)[1].tolist(),
        "gamma": np.round(class_table(y)[0], 6).tolist(),
        "sigma": round(scale * sigma, 2),
        "start": round(degrees(np.linalg.eigh(problem.phi_0())[1][:, -1:]), 1),
        "steps": steps,
        "shown": shown,
        "constants": {"floor": SHIFT.first, "raised": SHIFT.growth, "promise": SHIFT.gain},
    }
    packed = json.dumps(data, separators=(",", ":"))
    return HTML(render("turning.html.j2", data=packed, still=_still(shown)))


def slides(draw, values, name, alt, shown=0):
    """A figure that a slider takes through `values`, or that plays: Jupyter shows it as HTML.

    Its frames are drawings, which follow the page's theme, or pictures where a drawing is heavy.
    On a phone the panels of a wide one stand below each other. Where no script runs, and in print,
    the figure of ``values[shown]`` stands still.

    Parameters
    ----------
    draw : callable
        Takes a value, returns a matplotlib figure. All should have one size and the same limits.
    values : sequence
        What the slider goes through; each is shown as it is printed.
    name : str
        What is moved, in words.
    alt : str
        What the figure shows, for who does not see it.
    shown : int
        Number of the value at which the slider stands first.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ismlit_book.figures.live import slides
    >>> moved = slides(lambda s: Figure(figsize=(2, 1)), [0.5, 1.0], "bandwidth", "nothing")
    >>> moved.data[:20], moved.data.count("data:image/png")  # the one that is still
    ('<div class="slides" ', 1)
    """
    import matplotlib.pyplot as plt
    from IPython.display import HTML

    from ismlit_book.figures.display import drawing, panels, pixels_of
    from ismlit_book.figures.style import open_axes

    def picture(figure):
        pixels, size = pixels_of(figure, box=None, palettes=(64,))
        return "data:image/png;base64," + base64.b64encode(pixels).decode(), size

    def figures():
        for value in values:
            figure = draw(value)
            open_axes(figure)
            yield figure
            plt.close(figure)

    drawings, boxes = [], []
    for number, figure in enumerate(figures()):
        _settle(figure)
        boxes.append(panels(figure, box=None))
        drawings.append(drawing(figure, box=None, boxes=boxes[-1]))
        if number == shown % len(values):
            still, size = picture(figure)
    is_light = max(map(len, drawings)) <= HEAVIEST_FRAME
    given = dict(moved=name, alt=alt, shown=shown, width=size[0], height=size[1])
    stacked = _below_each_other(boxes, size[0], figure.dpi) if is_light else None
    given |= dict(
        column=bool(stacked and stacked["column"]), labels=json.dumps(list(map(str, values)))
    )
    if not is_light:
        drawings = [picture(figure)[0] for figure in figures()]
    parts, frames = _shared(drawings)
    film = dict(parts=parts, frames=frames, stacked=stacked)
    given["film"] = json.dumps(film, separators=(",", ":")).replace("</", r"<\/")
    return HTML(render("slides.html.j2", still=still, **given))


def _settle(figure):
    """Make the layout, which has settled when it is made a second time, and keep it."""
    layout = figure.get_layout_engine()
    if layout is not None:
        for _ in range(2):
            layout.execute(figure)
        figure.set_layout_engine(None)


def _shared(frames):
    """The elements of all frames, each of them once, and their numbers in each frame."""
    numbers = {}
    number = lambda element: numbers.setdefault(element, len(numbers))
    found = [[number(element) for element in BETWEEN.split(frame)] for frame in frames]
    return list(numbers), found


def _below_each_other(boxes, width, dpi):
    """How the panels of all frames are put below each other; None where there is no need."""
    if width < WIDE or len(set(map(len, boxes))) > 1:
        return None
    parts = zip(*boxes, strict=True)  # each panel in all frames: its place has to hold them all
    around = [np.r_[np.min(each, axis=0)[:2], np.max(each, axis=0)[2:4]] for each in parts]
    rows, size = stacked(around, NARROW * 72 / dpi)
    if rows is None:
        return None
    panels = [[round(float(side), 1) for side in panel] for row in rows for panel in row]
    across, down = (round(float(side), 1) for side in size)
    one_column = len(rows) == len(panels) < 4
    return dict(size=[across, down], dpi=dpi, panels=panels, column=one_column)


def _still(step):
    """The figure after `step` steps as a small PNG in base 64, for where no script runs."""
    from ismlit_book.figures.front import drawing, picture

    return base64.b64encode(picture(drawing(step, size=(9.0, 4.5)), dpi=64)).decode()
