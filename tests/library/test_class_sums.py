"""Sums by class and block of rows: what a visit reads, and what it keeps."""

import tracemalloc

import numpy as np
import pytest
from library.collected import FIXED, in_blocks, table
from numpy.testing import assert_allclose

from ismlit import (
    SupervisedIKDR,
    label_gamma,
)
from ismlit.kernels import Gaussian
from ismlit.objectives import blocks, class_sums
from ismlit.objectives.blocks import DaskRows
from ismlit.objectives.class_sums import ArrayRows, class_gamma, codes_of
from ismlit.objectives.features import FeatureProblem

da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Watched:
    """Rows of an array, and the order in which they are read: a slice of it reads nothing yet."""

    def __init__(self, X, read, start=0):
        self.X, self.read, self.start = X, read, start

    def __len__(self):
        return len(self.X)

    def __getitem__(self, rows):
        return Watched(self.X[rows], self.read, self.start + rows.start)

    def __sub__(self, mean):
        self.read += range(self.start, self.start + len(self.X))
        return self.X - mean

    dtype = property(lambda self: self.X.dtype)

    def mean(self, axis, dtype):
        return self.X.mean(axis=axis, dtype=dtype)


@pytest.mark.parametrize("classes", [2, 10])
def test_a_visit_reads_the_rows_once_and_in_order(classes):
    """Whatever the classes, which are mixed in the file."""
    X, y = table(50_000, 3, classes)
    problem, W, read = FeatureProblem(X, class_gamma(y), Gaussian(2.0), features=8), np.eye(3), []
    expected = problem.objective(W[:, :2])
    vars(problem)["_rows"] = ArrayRows(Watched(problem.X, read), y, classes, n_jobs=1)
    assert problem.objective(W[:, :2]) == pytest.approx(expected)
    assert read == list(range(len(X)))


def test_a_row_in_a_file_costs_at_most_32_bytes_of_memory(tmp_path):
    """The difference of two numbers of rows, so that what does not grow drops out."""
    most = {}
    for n in (200_000, 600_000):
        X, y = table(n, 4, 4)
        np.save(tmp_path / "X.npy", X.astype("float32"))
        del X
        on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
        tracemalloc.start()
        SupervisedIKDR(1, **FIXED | {"tol": 1e-2, "random_features": 4}).fit(on_disk, y)
        most[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (most[600_000] - most[200_000]) / 400_000 <= 32


@pytest.mark.parametrize("balanced", [False, True])
def test_gamma_by_class_is_gamma(balanced, rng, monkeypatch):
    monkeypatch.setattr(class_sums, "FEATURE_CHUNK", 7)  # several, which hold other classes
    y = np.sort(np.array(list("abc"))[rng.integers(0, 3, 30)])
    ours, known = class_gamma(y, balanced), label_gamma(y, balanced)
    assert_allclose(ours.to_dense(), known.to_dense(), atol=1e-14)
    assert ours.norm_bound == pytest.approx(known.norm_bound) and ours.n == 30
    rows = [3, 1, 20, 21]
    assert_allclose(ours.on(rows).to_dense(), known.on(rows).to_dense(), atol=1e-14)
    assert ours.astype("float32").to_dense().dtype == np.float32


def test_a_block_may_hold_so_many_classes_and_no_more(monkeypatch):
    monkeypatch.setattr(blocks, "MOST_CLASSES", 7)
    X, _ = table(56)
    held = lambda k: DaskRows(in_blocks(X, 56), in_blocks(np.arange(56) % k, 56), X.dtype).k
    assert held(7) == 7
    with pytest.raises(ValueError, match="y holds more than 7 classes"):
        held(8)


def test_the_codes_of_257_classes_fit_their_type():
    codes, sizes = codes_of(np.arange(257), np.arange(257))
    assert codes.tolist() == list(range(257)) and set(sizes) == {1}
