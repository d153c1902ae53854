"""For the notebook run: inputs moved by 1e-13, so that an output that depends on rounding changes.

``pytest -p tools.nbval_plugin -p tools.rounding --nbval ... book`` compares every cell with what is
stored, but hands the notebooks data, random draws and matrices to be decomposed that differ from
theirs as the arithmetic of two processors does. Figures are compared, too, by eye: seen from afar.
``--third K`` (0, 1 or 2) does so to a third of the notebooks, so that three runs see them all; the
others run as they are.
"""

import base64
import functools
import io
import zlib

import nbval.plugin
import numpy as np
from PIL import Image

from tools.execute_notebooks import FIGURES

SIZE = 1e-13  # relative
PREPARE = f"from tools.rounding import move_inputs; move_inputs(); del move_inputs; {FIGURES}"
FAR = 12  # figures are compared in squares of so many pixels
SEEN = 0.2  # a difference that counts, as a share of the range from black to white
DRAWS = ("standard_normal", "normal", "uniform", "random", "multivariate_normal", "beta", "gamma")


def moved(value):
    """The same value, each floating-point number moved a little; equal rows stay equal.

    >>> bool(0 < abs(moved(np.array([[1.0, 2.0]])) - [[1, 2]]).max() < 1e-12)
    True
    """
    if isinstance(value, tuple):
        return tuple(moved(each) for each in value)
    if isinstance(value, dict):  # a Bunch of scikit-learn
        return type(value)(**{name: moved(each) for name, each in value.items()})
    if isinstance(value, float | np.ndarray) and np.asarray(value).dtype == np.float64:
        column = np.arange(np.shape(value)[-1]) if np.ndim(value) > 1 else 0.0
        return value * (1 + SIZE * np.sin(1e4 * value + column))
    return value


def _after(function):
    return functools.wraps(function)(lambda *args, **options: moved(function(*args, **options)))


def _before(decompose):
    """A symmetric matrix is decomposed beside itself, by a few units of its rounding."""

    def near(A, *args, **options):
        A = np.asarray(A)
        if A.dtype == np.float64 and A.ndim == 2 and not args:
            noise = np.random.RandomState(len(A)).standard_normal(A.shape)
            A = A + np.finfo(float).eps * np.abs(A).max(initial=0.0) * (noise + noise.T)
        return decompose(A, *args, **options)

    return functools.wraps(decompose)(near)


class Draws(np.random.Generator):
    """A generator whose floating-point draws are moved."""


for name in DRAWS:
    setattr(Draws, name, _after(getattr(np.random.Generator, name)))


def move_inputs():
    """From here on this process reads, draws and decomposes what is moved."""
    import scipy.linalg
    import sklearn.datasets

    generator = np.random.default_rng

    def default_rng(seed=None):
        made = generator(seed)
        return made if isinstance(seed, np.random.Generator) else Draws(made.bit_generator)

    np.random.default_rng = default_rng
    np.linalg.eigh, scipy.linalg.eigh = _before(np.linalg.eigh), _before(scipy.linalg.eigh)
    import ismlit_book.loaders

    import ismlit.datasets

    for module in (sklearn.datasets, ismlit.datasets, ismlit_book.loaders):
        for name, function in list(vars(module).items()):
            if name.startswith(("load_", "make_")) and callable(function):
                setattr(module, name, _after(function))


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
