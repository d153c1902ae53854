"""How the book shows a figure: as a drawing that follows the page's theme.

A drawing is SVG without a ground of its own; its black is the page's ink and its white the page's
paper, in the light theme and in the dark one. Beside it stands a PNG with two pixels for each of
the page's, no ground, and grey ink: JupyterLab draws no SVG of a notebook that it does not trust.
Very many points are a picture within the drawing. `register` tells a notebook's kernel;
``tools/execute_notebooks.py`` calls it there before the first cell.
"""

import contextlib
import io
import re
import warnings

from ismlit_book.figures import style

SCALE = 2
"""Pixels of a PNG for each pixel of the page."""
LARGEST = 450_000
"""Characters beyond which a drawing has its points and areas as a picture within."""


MANY = 500
"""Points of a line that is then a part of the picture."""


def _grey(level):
    return f"#{round(255 * level):02x}" + 2 * f"{round(255 * level):02x}"


DARK = {_grey(k / 20): _grey(0.82 - 0.75 * k / 20) for k in range(21)}
DARK |= {
    "#d3d3d3": _grey(0.2),
    "#ececec": _grey(0.13),
    "#0072b2": "#3d9bd8",
    "#332288": "#9d8df1",
    "#882255": "#d9679b",
}
"""What becomes of a colour on a dark page: of greys, the page's ink and paper with them, and of
those that a dark page would swallow."""
HEAVY = 300_000
"""Bytes beyond which a PNG makes do with fewer colours."""

ROOM = 0.1
"""Inches left beside a panel."""
INK = 119
"""The grey of a PNG's words, of 255: as far from white as from the dark theme's paper."""

_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_POINTS = re.compile(r'(?:<use xlink:href="[^"]*" x="[^"]*" y="[^"]*"( style="[^"]*")/>)'
                     r'(?:<use xlink:href="[^"]*" x="[^"]*" y="[^"]*"\1/>)+')  # fmt: skip


def _theme(text):
    """Rules for the dark theme: a browser asks for the scheme of the page around the drawing."""
    rules = [f"svg {{ fill: {DARK['#000000']} }}"]  # words have no fill of their own
    for light, dark in DARK.items():
        for part in ("fill", "stroke"):
            if f"{part}: {light}" in text:
                rules.append(f'[style*="{part}: {light}"] {{ {part}: {dark} !important }}')
    return "<style>@media (prefers-color-scheme: dark) { " + " ".join(rules) + " }</style>"


def _shorter(found):
    """Coordinates to a hundredth of a pixel."""
    return _NUMBER.sub(lambda number: f"{float(number[0]):.2f}", found[0])


def _grouped(found):
    """Points of one style in a group that has it once: a third of the characters."""
    return f"<g{found[1]}>{found[0].replace(found[1], '')}</g>"


@contextlib.contextmanager
def _pixel_by_pixel(figure):
    """Keep matrices and pictures as they are, for the browser to enlarge."""
    from matplotlib.image import AxesImage

    images = [(image, image.get_interpolation()) for image in figure.findobj(AxesImage)]
    for image, _ in images:
        image.set_interpolation("none")
    yield
    for image, interpolation in images:
        image.set_interpolation(interpolation)


def _saved(figure, file, form, box="tight", **options):
    """The file, with the figure in it: in the pixels of the page, without a ground."""
    pixels = dict(dpi=SCALE * figure.dpi, bbox_inches=box, transparent=True)
    figure.savefig(file, format=form, **pixels, **options)
    return file


def drawing(figure, box="tight", boxes=None):
    """A figure as SVG, in the page's pixels and for both themes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    box : "tight" or None
        Cut to what is drawn, or the whole figure: so several keep their places.
    boxes : list of tuple, optional
        Its `panels`, where they are known.

    Returns
    -------
    str
        The element ``<svg>``; the same figure gives the same text.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ismlit_book.figures.display import drawing
    >>> empty = drawing(Figure(figsize=(4, 3)))
    >>> empty[:4], "prefers-color-scheme: dark" in empty
    ('<svg', True)
    """
    from matplotlib import rc_context

    settings = {"svg.hashsalt": "ismlit", "svg.fonttype": "path"}
    with rc_context(settings), _pixel_by_pixel(figure):
        plain = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        text = _saved(figure, io.StringIO(), "svg", box, metadata=plain).getvalue()
    text = text[text.index("<svg") :].rstrip()
    pixels = figure.dpi / 72
    for side in ("width", "height"):
        text = re.sub(
            rf'(<svg[^>]*?\b{side}=")([\d.]+)pt"',
            lambda found: f'{found[1]}{float(found[2]) * pixels:.0f}"',
            text,
            count=1,
        )
    text = re.sub(r"\s+", " ", re.sub(r"<!--.*?-->", "", text)).replace("> <", "><")
    text = re.sub(r' (?:d|x|y|points)="[^"]*"', _shorter, text)
    text = _POINTS.sub(_grouped, text)
    boxes = panels(figure, box) if boxes is None else boxes
    places = " ".join(",".join(f"{edge:.1f}" for edge in part) for part in boxes)
    start = rf'<svg data-panels="{places}"\1{_theme(text)}'
    return re.sub(r"<svg([^>]*>)", start, text, count=1)


def panels(figure, box="tight"):
    """The parts of a figure that can stand apart, for a narrow page to put below each other.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn before, so that its layout is made.
    box : "tight" or None
        Cut to what is drawn, or the whole figure.

    Returns
    -------
    list of (left, top, right, bottom[, start, end])
        In points of the drawing, in reading order. A colour bar stays with what it measures; a
        title above several panels is a part of its own. Where a panel's scale stands at another
        one, that lies from `start` to `end`, at the same height.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ismlit_book.figures.display import panels
    >>> figure = Figure(figsize=(8, 4))
    >>> left, right = figure.subplots(1, 2)
    >>> len(panels(figure))
    2
    """
    import numpy as np
    from matplotlib import rcParams

    inches = {}
    for part in (*figure.axes, *figure.texts, *figure.legends):
        extent = part.get_tightbbox()
        if extent is not None and part.get_visible():
            bar = getattr(part, "_colorbar", None)
            owner = bar.mappable.axes if bar else part
            inches.setdefault(owner, []).append(np.array(extent.extents) / figure.dpi)
    page, pad = figure.get_tightbbox(), rcParams["savefig.pad_inches"]
    if box is None:
        page, pad = figure.bbox_inches, 0
    corner = np.array([page.x0 - pad, page.y1 + pad])
    boxes = []
    for found in inches.values():
        left, bottom = np.min(found, axis=0)[:2] - corner
        right, top = np.max(found, axis=0)[2:] - corner
        boxes.append([left, -top, right, -bottom])
    whole = [0, 0, page.width + 2 * pad, page.height + 2 * pad]
    apart = [box + _scale(figure, box, corner) for box in _apart(boxes, whole)]
    return [tuple(72 * float(side) for side in box) for box in apart]


def _scale(figure, panel, corner):
    """Where the scale of a panel lies that shares another one's: [start, end], or []."""
    place = {axes: axes.get_window_extent().extents / figure.dpi for axes in figure.axes}
    middle = lambda axes: (place[axes][0] + place[axes][2]) / 2 - corner[0]
    inside = [axes for axes in figure.axes if panel[0] <= middle(axes) <= panel[2]]
    first = min(inside, key=middle, default=None)
    if first is None or first.yaxis.get_tick_params().get("labelleft", True):
        return []
    owners = [
        axes
        for axes in first.get_shared_y_axes().get_siblings(first)
        if axes.yaxis.get_tick_params().get("labelleft", True)
        and abs(place[axes][1] - place[first][1]) < ROOM
    ]
    if not owners:
        return []
    left = owners[0].get_tightbbox().x0 / figure.dpi
    return [left - ROOM - corner[0], place[owners[0]][0] - corner[0] - 1 / figure.dpi]


def _apart(boxes, page):
    """The page cut where no box stands: first into rows, then into columns, then again.

    What is not cut any more loses what is empty at its sides.
    """
    for axis in (1, 0):
        ordered = sorted(boxes, key=lambda box: box[axis])
        for k in range(1, len(ordered)):
            before = max(box[axis + 2] for box in ordered[:k])
            if before <= ordered[k][axis]:
                cut = (before + ordered[k][axis]) / 2
                first, second = list(page), list(page)
                first[axis + 2] = second[axis] = cut
                return _apart(ordered[:k], first) + _apart(ordered[k:], second)
    left = min((box[0] for box in boxes), default=0)
    right = max((box[2] for box in boxes), default=page[2])
    return [[max(page[0], left - ROOM), page[1], min(page[2], right + ROOM), page[3]]]


def pixels_of(figure, box="tight", palettes=(256, 64)):
    """A figure as PNG of few colours, a quarter of the bytes; and its size on the page.

    It has no ground; what is black becomes a grey that is read on the paper of both themes, and
    what is white is left out.
    """
    import numpy as np
    from PIL import Image

    pixels = np.array(Image.open(_saved(figure, io.BytesIO(), "png", box)).convert("RGBA"))
    low, high = pixels[..., :3].min(axis=-1), pixels[..., :3].max(axis=-1)
    grey = high - low < 12
    pixels[grey & (high < 110), :3] = INK
    pixels[grey & (low > 250), 3] = 0
    image = Image.fromarray(pixels)
    for colours in palettes:
        small = io.BytesIO()
        image.quantize(colours, Image.Quantize.FASTOCTREE).save(small, "PNG", optimize=True)
        if small.tell() <= HEAVY:
            break
    return small.getvalue(), [round(side / SCALE) for side in image.size]


def bundle(figure, include=None, exclude=None):
    """What a notebook stores of a figure: {MIME type: content} and what it says of it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    include, exclude : ignored
        IPython's protocol names them.

    Returns
    -------
    data, metadata : dict
    """
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D

    data, said = _picture(figure)
    text = drawing(figure)
    if len(text) > LARGEST:
        long = [line for line in figure.findobj(Line2D) if len(line.get_xdata()) > MANY]
        many = [(a, a.get_rasterized()) for a in (*figure.findobj(Collection), *long)]
        for artist, _ in many:
            artist.set_rasterized(True)
        text = drawing(figure)
        for artist, before in many:
            artist.set_rasterized(before)
    if len(text) <= LARGEST:
        data["image/svg+xml"] = text
    return data, said


def _picture(figure, include=None, exclude=None):
    """The PNG alone, as `bundle` has it."""
    style.open_axes(figure)
    pixels, (width, height) = pixels_of(figure)
    return {"image/png": pixels}, {"image/png": dict(width=width, height=height)}


def register(drawings=True):
    """In a notebook's kernel, store figures by `bundle`, in the book's style; else do nothing.

    Parameters
    ----------
    drawings : bool
        Store the SVG beside the PNG.
    """
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if not shell or not hasattr(shell, "kernel"):
        return
    import matplotlib_inline.backend_inline  # noqa: F401 - its own formats come first
    from matplotlib.figure import Figure

    formatters = shell.display_formatter.formatters
    for formatter in formatters.values():
        if formatter.format_type.startswith("image/"):
            formatter.pop(Figure, None)
    shell.display_formatter.mimebundle_formatter.for_type(Figure, bundle if drawings else _picture)
    warnings.filterwarnings("ignore", 'Creating legend with loc="best"')  # on slow machines alone
    style.use()
