"""The problems that climbs are compared on: sizes, kernels and Gammas of many kinds."""

from dataclasses import dataclass

import numpy as np
from ismlit_book import loaders
from ismlit_book.experiments.scaling import make_classes
from sklearn import datasets as sets
from sklearn.preprocessing import scale

from ismlit.bandwidth import as_kernel, neighbour_distance
from ismlit.gamma import embedding_gamma, label_gamma
from ismlit.kernels import RelativeGaussian
from ismlit.objectives.affinity import Affinity
from ismlit.objectives.pairs import Pairs
from ismlit.objectives.plain import Problem


def toy(name):
    X, y = getattr(sets, f"load_{name}")(return_X_y=True)
    return X[:, X.std(axis=0) > 0], y


def stored(name):
    """A set of the thesis, or None without the data."""
    if not loaders.is_available(name):
        return None
    bunch = getattr(loaders, f"load_{name}")()
    return bunch.data[:, bunch.data.std(axis=0) > 0], bunch.target


def rings(n=1500, d=20):
    """Three rings in the plane, and d - 2 columns of noise."""
    rng = np.random.default_rng(0)
    y, angle = np.arange(n) % 3, rng.uniform(0, 2 * np.pi, n)
    plane = (1.0 + y[:, None]) * np.c_[np.cos(angle), np.sin(angle)]
    noise = rng.standard_normal((n, d - 2))
    return np.hstack([plane + 0.1 * rng.standard_normal((n, 2)), noise]), y


@dataclass(frozen=True)
class Case:
    """A problem by name: samples, q, how the bandwidth is chosen, or a kernel, or a clustering."""

    name: str
    samples: object
    q: int
    rule: str = "projected"  # the estimators' own; "median" is the thesis's
    kernel: str = "gaussian"
    clusters: int | None = None
    shown: bool = False  # beside the thesis's solvers too

    def problem(self):
        """The `Problem`, its columns of mean 0 and deviation 1; None without the data."""
        found = self.samples()
        if found is None:
            return None
        X, y = scale(found[0]), found[1]
        if self.kernel == "relative":
            kernel = RelativeGaussian(neighbour_distance(X))
        else:
            kernel = as_kernel(self.kernel, X, self.rule, self.q)
        gamma = label_gamma(y)
        if self.clusters:
            U = Affinity(Pairs(X, kernel)).leading(self.clusters)[0]
            gamma = embedding_gamma(U)
        return Problem(X, gamma, kernel)


made = lambda *size: lambda: make_classes(*size)
CASES = [
    Case("iris, q = 2", lambda: toy("iris"), 2),
    Case("wine, q = 2", lambda: toy("wine"), 2, shown=True),
    Case("cancer, q = 2", lambda: toy("breast_cancer"), 2, shown=True),
    Case("digits, q = 2", lambda: toy("digits"), 2, shown=True),
    Case("digits, q = 5", lambda: toy("digits"), 5),
    Case("digits, q = 10", lambda: toy("digits"), 10),
    Case("3000 x 50, 4 classes, q = 3", made(3000, 50, 4), 3, shown=True),
    Case("2500 x 40, 10 classes, q = 4", made(2500, 40, 10), 4),
    Case("1500 x 200, 30 classes, q = 5", made(1500, 200, 30), 5),
    Case("500 x 1500, 50 classes, q = 5", made(500, 1500, 50), 5),
    Case("2000 x 400, 50 classes, q = 10", made(2000, 400, 50), 10),
    Case("3000 x 50, 1000 classes, q = 3", made(3000, 50, 1000), 3),
    Case("5000 x 10, 2 classes, q = 1", made(5000, 10, 2), 1),
    Case("10 000 x 20, 4 classes, q = 2", made(10_000, 20, 4), 2),
    Case("rings, 1500 x 20, q = 2", rings, 2),
    Case("a clustering, 1000 x 20, q = 3", made(1000, 20, 4), 3, clusters=4),
    Case("polynomial, cancer, q = 2", lambda: toy("breast_cancer"), 2, kernel="polynomial"),
    Case("squared, cancer, q = 2", lambda: toy("breast_cancer"), 2, kernel="squared"),
    Case("multiquadratic, digits, q = 3", lambda: toy("digits"), 3, kernel="multiquadratic"),
    Case("relative, 1000 x 20, q = 3", made(1000, 20, 4), 3, kernel="relative"),
    Case("wine at the median, q = 3", lambda: toy("wine"), 3, "median", shown=True),
    Case("cancer at the median, q = 2", lambda: toy("breast_cancer"), 2, "median", shown=True),
    Case("digits at the median, q = 10", lambda: toy("digits"), 10, "median"),
    Case("200 x 2000 at the median, q = 3", made(200, 2000, 4), 3, "median"),
    Case("Face at the median, q = 20", lambda: stored("face"), 20, "median"),
]
