"""The cells of a page survive a reader's data: another set, another number of directions."""

from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
from sklearn import datasets

ROOT = Path(__file__).resolve().parents[2]
CHANGES = {
    "ch5/gradient": {"standard_normal((X.shape[1], 2))": "standard_normal((X.shape[1], 1))"},
    "ch5/kernels-find": {"q, width, degree = 2, 3.0, 2": "q, width, degree = 1, 2.0, 3"},
    "ch5/iteration": {"published(problem, q=2)": "published(problem, q=3)"},
    "ch5/start": {"Gaussian(width)": "Gaussian(2 * width)"},
    "ch5/maximum": {"wine.target), 2, 1e-3": "wine.target), 3, 1e-3"},
    "ch5/rate": {"(0.5, 1.0, 2.0)": "(0.75, 1.0, 2.0)"},
    "ch5/solvers": {"wine.target, 3": "wine.target, 2"},
    "ch5/safeguard": {"Gaussian(median_distance(XW))": "Gaussian(2 * median_distance(XW))"},
    "ch5/peers": {"GradientKDR(2, bandwidth=1.0)": "GradientKDR(2, bandwidth=0.5)"},
}


@pytest.mark.filterwarnings("ignore")  # a solver may stop early where the page's would not
@pytest.mark.parametrize(
    "page", [*CHANGES][::2] + [pytest.param(p, marks=pytest.mark.slow) for p in [*CHANGES][1::2]]
)
def test_a_page_runs_on_iris(page, monkeypatch):
    """In place of Wine and of breast cancer, and with one more change that its reader may make."""
    for name in ("load_wine", "load_breast_cancer"):
        monkeypatch.setattr(datasets, name, datasets.load_iris)
    cells = nbformat.read(ROOT / "book" / f"{page}.ipynb", as_version=4).cells
    program = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    for old, new in CHANGES[page].items():
        assert old in program
        program = program.replace(old, new)
    exec(compile(program, page, "exec"), {"__name__": page})
    plt.close("all")
