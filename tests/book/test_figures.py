"""Figures as the book shows them: drawings for both themes, or pictures in fine pixels."""

import io
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from ismlit_book.figures.display import (
    INK,
    LARGEST,
    SCALE,
    bundle,
    drawing,
    pixels_of,
    register,
)
from matplotlib.figure import Figure

from tools.execute_notebooks import execute


def scatter(n):
    figure = Figure(figsize=(5, 3))
    ax = figure.add_subplot()
    ax.scatter(*np.random.default_rng(0).random((2, n)), color="black", label="points")
    ax.legend(loc="upper right")
    return figure


def test_a_drawing_is_well_formed_and_the_same_each_time():
    text = drawing(scatter(20))
    assert ET.fromstring(text).tag.endswith("svg")
    assert text == drawing(scatter(20)) and "\n" not in text


def test_a_drawing_has_the_size_of_the_page_s_pixels():
    """Five inches at 100 dots are 500 pixels, less the margin that a tight box takes off."""
    figure = scatter(20)
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    across = int.from_bytes(file.getvalue()[16:20], "big")
    width = int(re.search(r'width="(\d+)"', drawing(figure))[1])
    assert abs(width - across) <= 2


def test_ink_and_paper_change_with_the_theme():
    """A rule for every colour that a dark page would swallow, and no ground of its own."""
    text = drawing(scatter(20))
    rules = text[: text.index("</style>")]
    assert '[style*="stroke: #000000"]' in rules and '[style*="fill: #ffffff"]' in rules
    assert "stroke: #cccccc" in rules and "#333333" not in rules  # the legend's frame; not there
    body = text[len(rules) :]
    assert "fill: none" in body.split("patch_2")[0]


def test_coordinates_keep_a_hundredth_and_glyphs_their_scale():
    text = drawing(scatter(20))
    assert not re.search(r' d="[^"]*\d\.\d{3}', text)
    assert "scale(0.015625)" in text or re.search(r"scale\(0\.\d{3,}", text)


@pytest.mark.parametrize("points, within", [(50, False), (20_000, True)])
def test_a_figure_is_a_picture_of_two_pixels_for_one_and_a_drawing(points, within):
    """Of very many points the drawing has a picture, and letters of its own."""
    data, said = bundle(scatter(points))
    drawn = data["image/svg+xml"]
    assert ("<image" in drawn) == within and len(drawn) < LARGEST and "text_1" in drawn
    across = int.from_bytes(data["image/png"][16:20], "big")
    assert abs(across - SCALE * said["image/png"]["width"]) <= 1
    assert len(data["image/png"]) < LARGEST


def test_a_matrix_is_stored_once_a_value():
    """Eight by eight pixels, whatever the figure's size; and the artist is left as it was."""
    figure = Figure(figsize=(6, 6))
    image = figure.add_subplot().imshow(np.eye(8))
    before = image.get_interpolation()
    text = drawing(figure)
    pixels = re.search(r'<image[^>]* width="(\d+)" height="(\d+)"', text)
    assert (pixels[1], pixels[2]) == ("8", "8")
    assert image.get_interpolation() == before


def test_register_does_nothing_outside_a_kernel():
    register()


def test_the_tool_that_executes_stores_both_forms(tmp_path):
    """No cell asks for it."""
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook

    path = tmp_path / "page.ipynb"
    cells = ["import matplotlib.pyplot as plt", "plt.plot([1, 2]);"]
    nbformat.write(new_notebook(cells=[new_code_cell(c) for c in cells]), path)
    assert execute(path)[1] == "changed"
    (output,) = (o for o in nbformat.read(path, 4).cells[-1].outputs if "data" in o)
    assert set(output["data"]) == {"image/png", "image/svg+xml", "text/plain"}


def test_points_of_one_style_say_it_once():
    text = drawing(scatter(500))
    points = re.findall(r'<g style="[^"]*">((?:<use [^>]*/>){500})</g>', text)
    assert len(points) == 1 and "style" not in points[0]


def test_pixels_have_no_ground_and_an_ink_for_both_themes():
    from PIL import Image

    picture, _ = pixels_of(scatter(200))
    pixels = np.array(Image.open(io.BytesIO(picture)).convert("RGBA"))
    seen = pixels[pixels[..., 3] > 200]
    assert np.all(pixels[0, 0, 3] == 0) and len(seen) > 100
    assert np.median(np.abs(seen[:, :3].astype(int) - INK)) < 8
