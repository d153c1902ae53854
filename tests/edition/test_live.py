"""The front page's figure shows what the solvers do."""

import html
import json
import re
import warnings
from itertools import pairwise

import numpy as np
import pytest

from ismlit.edition.live import (
    STARTS,
    degrees,
    direction,
    example,
    published_path,
    safeguarded_path,
    turning,
)
from ismlit.problem import Problem
from ismlit.solver import published_ism

X, Y, GAMMA, KERNEL = example()
PROBLEM = Problem(X, GAMMA, KERNEL)
FIGURE = turning(X, Y, GAMMA, KERNEL, steps=8).data
DATA = json.loads(html.unescape(re.search(r'data-turning="([^"]*)"', FIGURE)[1]))


def height(angle):
    """J by its definition, over all pairs."""
    z = X @ direction(angle)
    return np.sum(GAMMA.to_dense() * np.exp(-((z - z.T) ** 2) / (2 * KERNEL.sigma**2)))


@pytest.mark.parametrize("angle", [0, 30, 90, 135, 179])
def test_angles_come_back(angle):
    assert degrees(direction(angle)) == pytest.approx(angle, abs=1e-9)
    assert degrees(-direction(angle)) == pytest.approx(angle, abs=1e-9)


def test_published_path_is_the_solver_s():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is stopped on purpose
        for steps in (1, 2, 5):
            found = published_ism(PROBLEM, q=1, max_iter=steps, tol=0.0)
            start = np.linalg.eigh(PROBLEM.phi_0())[1][:, -1:]
            heights = [height(a) for a in published_path(PROBLEM, start, steps)]
            assert found.history["objective"][: steps + 1] == pytest.approx(heights, rel=1e-8)


def test_published_path_cycles_and_the_safeguarded_one_never_falls():
    paths = [path[1] for path in DATA["paths"]]
    assert all(b[1] >= a[1] for path in paths for a, b in pairwise(path))
    for start in (direction(10), direction(120)):
        heights = [height(a) for a in safeguarded_path(PROBLEM, start, 8)]
        assert np.diff(heights).min() > -1e-9 * max(heights)
    published = DATA["paths"][0][0]
    assert abs(published[-1][0] - published[-2][0]) > 80
    assert published[-1] == published[-3]


def test_the_figure_shows_what_was_computed():
    assert len(DATA["paths"]) == 1 + len(STARTS)
    best = max(height(angle) for angle in range(0, 180, 2))
    for path in DATA["paths"]:
        for angle, percent in path[0] + path[1]:
            assert percent == pytest.approx(100 * height(angle) / best, abs=1.1)
    curve = re.search(r'points="([\d., ]+)"', FIGURE)[1].split()
    for k, point in enumerate(curve):
        x, y = map(float, point.split(","))
        assert (x - 40) / 1.6 == pytest.approx(2 * k, abs=0.1)
        assert (270 - y) / 2.4 == pytest.approx(100 * height(2 * k) / best, abs=0.3)


def test_points_and_classes_are_the_data():
    scale = np.abs(np.array(DATA["points"])).max() / np.abs(X).max()
    assert np.array(DATA["points"]) == pytest.approx(scale * X, abs=0.06)
    assert DATA["classes"] == (Y == Y[0]).tolist()
