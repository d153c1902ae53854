"""The front page's figure shows what the solvers do."""

import base64
import html
import json
import re
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pytest
from ismlit_book.figures.display import drawing
from ismlit_book.figures.front import cards
from ismlit_book.figures.live import (
    degrees,
    direction,
    example,
    published_path,
    slides,
    turning,
)
from ismlit_book.figures.verdict_bar import COLOURS
from ismlit_book.files import pages
from ismlit_book.methods.measures import class_table
from ismlit_book.methods.published import published_ism
from matplotlib.figure import Figure
from PIL import Image

from ismlit.objectives.plain import Problem
from ismlit.solvers.climb import SHIFT

X, Y, GAMMA, KERNEL = example()
PROBLEM = Problem(X, GAMMA, KERNEL)
FIGURE = turning(X, Y, KERNEL.sigma, steps=8).data
DATA = json.loads(html.unescape(re.search(r'data-turning="([^"]*)"', FIGURE)[1]))


def height(angle):
    """J by its definition, over all pairs."""
    z = X @ direction(angle)
    return np.sum(GAMMA.to_dense() * np.exp(-((z - z.T) ** 2) / (2 * KERNEL.sigma**2)))


@pytest.mark.parametrize("angle", [0, 30, 90, 135, 179])
def test_angles_come_back(angle):
    assert degrees(direction(angle)) == pytest.approx(angle, abs=1e-9)
    assert degrees(-direction(angle)) == pytest.approx(angle, abs=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_published_path_is_the_solver_s():
    for steps in (1, 2, 5):
        found = published_ism(PROBLEM, q=1, max_iter=steps, tol=0.0)
        start = np.linalg.eigh(PROBLEM.phi_0())[1][:, -1:]
        heights = [height(a) for a in published_path(PROBLEM, start, steps)]
        assert found.history["objective"][: steps + 1] == pytest.approx(heights, rel=1e-8)


def test_the_figure_has_the_data():
    """What the page computes from them is tested in the browser."""
    scale = np.abs(np.array(DATA["points"])).max() / np.abs(X).max()
    assert np.array(DATA["points"]) == pytest.approx(scale * X, abs=0.06)
    assert DATA["classes"] == Y.tolist()
    assert np.array(DATA["gamma"]) == pytest.approx(class_table(Y)[0], abs=1e-6)
    assert DATA["sigma"] == pytest.approx(scale * KERNEL.sigma, rel=1e-3)
    taylor = degrees(np.linalg.eigh(PROBLEM.phi_0())[1][:, -1:])
    assert DATA["start"] == pytest.approx(taylor, abs=0.06)
    assert DATA["constants"] == dict(floor=SHIFT.first, raised=SHIFT.growth, promise=SHIFT.gain)


def test_slides_hold_each_figure_and_the_one_that_stands_still():
    def draw(height):
        figure = Figure(figsize=(2, 1))
        ax = figure.add_axes([0, 0, 1, 1], ylim=(0, 1))
        ax.axhline(height)
        ax.set_axis_off()
        return figure

    text = slides(draw, [0.25, 0.75], "height", "a <line>", shown=1).data
    place = lambda frame: float(re.search(r'"line2d_\d+"><path d="M \S+ (\S+)', frame)[1]) / 72
    assert [place(frame) for frame in frames_of(text)] == pytest.approx([0.75, 0.25], abs=0.02)
    still = base64.b64decode(re.search(r'src="data:image/png;base64,([^"]*)"', text)[1])
    seen = np.array(Image.open(BytesIO(still)).convert("RGBA"))[..., 3] > 200
    assert np.flatnonzero(seen.any(axis=1))[0] / len(seen) == pytest.approx(0.25, abs=0.05)
    assert "a &lt;line&gt;" in text


def film_of(text):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])


def frames_of(text):
    film = film_of(text)
    return ["".join(film["parts"][number] for number in frame) for frame in film["frames"]]


def test_slides_say_where_their_panels_stand_on_a_phone():
    """All of each panel in all frames, and nothing twice."""

    def draw(largest):
        figure = Figure(figsize=(9, 3), layout="constrained")
        for ax in figure.subplots(1, 2):
            ax.plot([0, largest], [0, largest])
        return figure

    film = film_of(slides(draw, [1, 10_000], "largest", "lines").data)
    (first, second), size = film["stacked"]["panels"], film["stacked"]["size"]
    assert film["stacked"]["column"]
    assert first[:4] == [0, 0, 0, 0]
    assert second[:2] == [0, pytest.approx(first[5])]
    assert first[4] + second[4] >= 9 * 72 - 0.2
    assert size == pytest.approx([max(first[4], second[4]), first[5] + second[5]], abs=0.2)
    narrow = slides(lambda k: Figure(figsize=(4, 3)), [1], "", "").data
    assert film_of(narrow)["stacked"] is None


def test_slides_of_very_many_points_are_pictures():
    def draw(seed):
        figure = Figure(figsize=(2, 1))
        figure.add_subplot().scatter(*np.random.default_rng(seed).random((2, 3000)))
        return figure

    frames = frames_of(slides(draw, [0, 1], "seed", "points").data)
    assert all(frame.startswith("data:image/png;base64,") for frame in frames)


def test_the_bar_has_the_colours_of_the_style_sheet():
    sheet = (pages() / "static" / "book.css").read_text(encoding="utf8")
    for verdict, colour in COLOURS.items():
        name = verdict.replace(" ", "-")
        found = re.search(rf"\.v-{name}[ ,][^#]*(#[0-9a-f]+)", sheet)[1]
        assert colour in (found, "#" + "".join(2 * digit for digit in found[1:]))


def test_the_picture_of_the_claims_is_that_of_the_ledger():
    """The front page's card is a file; it is drawn anew where a verdict changes."""
    stored = (pages() / "static" / "card-check.svg").read_text(encoding="utf8")
    figure = cards()["check"]
    assert drawing(figure) == stored.rstrip()
    plt.close("all")
