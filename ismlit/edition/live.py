"""The front page's figure: a direction in the plane that turns, step by step, on a static page.

Everything is computed here; the page only shows it. The output is one SVG with a few lines of
script inside (`templates/turning.*`), so it needs no kernel, no network and no library.
"""

from __future__ import annotations

import json
import warnings

import numpy as np

from ismlit.bandwidth import median_distance
from ismlit.edition.templates import render
from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian
from ismlit.problem import Problem
from ismlit.solver import ism

STARTS = np.arange(0, 180, 5)
"""Angles, in degrees, that the reader may start from, besides the Taylor start."""


def example():
    """The front page's samples X (45, 2), classes y (45,), Gamma and kernel.

    Five small clouds, two classes, sigma = 0.45 times the median distance; the draw is one in which
    the published iteration cycles far from the maximum.

    Examples
    --------
    >>> from ismlit import ism
    >>> from ismlit.edition.live import degrees, example
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is stopped on purpose
        for step in range(1, steps + 1):
            found = ism(problem, q=1, init=W, max_iter=step)
            angles.append(degrees(found.W))
    return angles


def turning(X, y, gamma, kernel, steps=12):
    """The figure for samples X (n, 2) in two classes y: an object that Jupyter shows as HTML.

    Parameters
    ----------
    X : array of shape (n, 2)
    y : array of shape (n,)
        Two classes; drawn as circles and squares.
    gamma : Gamma
    kernel : Kernel
    steps : int
        How many steps can be played.
    """
    from IPython.display import HTML

    problem = Problem(X, gamma, kernel)
    height = lambda angle: float(problem.objective(direction(angle)))
    grid = np.arange(0, 181, 2)
    curve = np.array([height(angle) for angle in grid])
    best = curve.max()
    taylor = np.linalg.eigh(problem.phi_0())[1][:, -1:]
    paths = []
    for W in (taylor, *map(direction, STARTS)):
        both = [path(problem, W, steps) for path in (published_path, safeguarded_path)]
        paths.append([[[round(a, 1), round(100 * height(a) / best)] for a in p] for p in both])
    scale = 130 / np.abs(X).max()
    data = dict(paths=paths, points=np.round(scale * X, 1).tolist(), classes=(y == y[0]).tolist())
    text = json.dumps(data, separators=(",", ":"))
    points = _polyline(grid, 100 * curve / best)
    return HTML(render("turning.html.j2", curve=points, data=text, last=len(STARTS)))


def _polyline(grid, heights):
    return " ".join(f"{40 + 1.6 * a:.1f},{270 - 2.4 * h:.0f}" for a, h in zip(grid, heights))
