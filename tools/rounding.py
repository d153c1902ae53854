"""For the notebook run: inputs moved by 1e-13, so that an output that depends on rounding changes.

``pytest -p tools.nbval_plugin -p tools.rounding --nbval ... book`` compares every cell with what is
stored, but hands the notebooks data, random draws and matrices to be decomposed that differ from
theirs as the arithmetic of two processors does. Figures are compared, too, by eye: seen from afar.
``--third K`` (0, 1 or 2) does so to a third of the notebooks, so that three runs see them all; the
others run as they are.
"""

import base64
import io
import zlib

import nbval.plugin
import numpy as np
from PIL import Image

PREPARE = """
from ismlit_book.figures.display import register
from tools.moved_inputs import move_inputs
move_inputs()
register(drawings=False)
del move_inputs, register
"""
FAR = 12  # figures are compared in squares of so many pixels
SEEN = 0.2  # a difference that counts, as a share of the range from black to white


# ---------------------------------------------------------------- figures


def from_afar(png):
    """A figure's grey values (rows, columns), from 0 to 1, as seen from afar."""
    drawn = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA")
    paper = Image.new("RGBA", drawn.size, "white")
    picture = Image.alpha_composite(paper, drawn).convert("L")
    size = [max(1, side // FAR) for side in picture.size]
    return np.asarray(picture.resize(size, Image.Resampling.BOX)) / 255


def figures(outputs):
    """The figures among the outputs of a cell, as seen from afar."""
    return [
        from_afar(each.data["image/png"]) for each in outputs if "image/png" in each.get("data", {})
    ]


def unlike(before, after):
    """What of two lists of figures looks different, in words; nothing if they look the same.

    >>> unlike([np.zeros((2, 2))], [np.eye(2)])
    'figure 1 looks different: by 1.00 of the range from black to white'
    """
    for number, (one, other) in enumerate(zip(before, after), 1):
        if one.shape != other.shape:
            return f"figure {number} has another size"
        difference = float(np.abs(one - other).max())
        if difference > SEEN:
            return (
                f"figure {number} looks different: by {difference:.2f} of the range from black to "
                "white"
            )
    return ""


# ---------------------------------------------------------------- the plugin


def pytest_addoption(parser):
    """Which third of the notebooks."""
    parser.addoption("--third", type=int, choices=range(3), help="move a third of the notebooks")


def pytest_configure(config):
    """The kernel of every notebook that is moved is prepared when it starts."""
    start, third = nbval.plugin.IPyNbFile.setup, config.getoption("--third")

    def is_moved(notebook):
        return third is None or zlib.crc32(notebook.path.stem.encode()) % 3 == third

    def prepared(self):
        start(self)
        if not is_moved(self):
            return
        message = self.kernel.execute_cell_input(PREPARE, allow_stdin=False)
        self.kernel.await_reply(message, timeout=60)
        self.kernel.await_idle(message, timeout=60)

    compare = nbval.plugin.IPyNbCell.compare_outputs

    def seen(self, found, stored, skip_compare=None):
        same = compare(self, found, stored, skip_compare)
        difference = unlike(figures(stored), figures(found)) if is_moved(self.parent) else ""
        if difference:
            self.comparison_traceback.append(difference)
        return same and not difference

    nbval.plugin.IPyNbFile.setup = prepared
    nbval.plugin.IPyNbCell.compare_outputs = seen
