"""matplotlib's backend on a page: draws as Agg does, and `show` shows the open figures."""

import page_kernel
from ismlit_book.figures import style
from matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas  # noqa: F401

style.use()


def show(*args, **options):
    page_kernel.flush()
