"""Which start finds a plane that is known: ten made problems, five draws of each.

What is sought are the directions of 20 columns on which the labels or the response depend. How much
of them is found is the mean squared canonical correlation of what is seen through W with what is
seen through them: 1 where one is a linear function of the other, whatever the columns' correlation.
"""

import warnings

import numpy as np
from ismlit import SAVE, GradientKDR, ResponseIKDR, SlicedInverseRegression, SupervisedIKDR
from scipy.linalg import orth
from sklearn.preprocessing import scale

from ismlit_book.experiments import named, over_runs

D = 20
DRAWS = 5
ALONE = {"gradient KDR": GradientKDR, "SIR": SlicedInverseRegression, "SAVE": SAVE}
STARTS = ("taylor", "pca", "random", "gradient", "several", *ALONE)


def turned(rng, n, q=2, draw=None):
    """X (n, 20), and n samples of the q directions on which something is to depend."""
    Z = rng.standard_normal((n, D)) if draw is None else draw(n)
    return Z @ np.linalg.qr(rng.standard_normal((D, D)))[0], Z[:, :q]


def product_of_two(rng):
    """Classes by the sign of a product: their means coincide."""
    X, Z = turned(rng, 600)
    return X, Z.prod(axis=1) > 0, Z


def product_of_three(rng):
    """By the sign of a product of three."""
    X, Z = turned(rng, 1600, 3)
    return X, Z.prod(axis=1) > 0, Z


def ring(rng):
    """A disc and what is around it."""
    X, Z = turned(rng, 400)
    return X, np.linalg.norm(Z, axis=1) > 1.18, Z


def checkerboard(rng):
    """Nine fields of a board, as many samples in one colour as in the other."""
    X, Z = turned(rng, 1200)
    return X, np.searchsorted([-0.43, 0.43], Z).sum(axis=1) % 2, Z


def hump(rng):
    """A response that is highest where one direction is 0."""
    X, Z = turned(rng, 400, 1)
    return X, np.exp(-2 * Z[:, 0] ** 2) + 0.1 * rng.standard_normal(400), Z


def product_response(rng):
    """A response that is a product, and noise."""
    X, Z = turned(rng, 600)
    return X, Z.prod(axis=1) + 0.2 * rng.standard_normal(600), Z


def correlated(rng):
    """The product of two, in columns whose spread differs by thirty."""
    X, Z = turned(rng, 600)
    left, _, right = np.linalg.svd(rng.standard_normal((D, D)))
    return X @ (left * np.geomspace(1, 30, D)) @ right, Z.prod(axis=1) > 0, Z


def heavy_tails(rng):
    """The product of two, from Student's distribution with three degrees of freedom."""
    X, Z = turned(rng, 600, draw=lambda n: rng.standard_t(3, (n, D)))
    return X, Z.prod(axis=1) > 0, Z


def one_in_twenty(rng):
    """A corner of the plane, with one row of twenty."""
    X, Z = turned(rng, 1000)
    return X, Z.min(axis=1) > 0.76, Z


def shifted_means(rng):
    """Three classes whose means differ, as discriminant analysis asks."""
    X, Z = turned(rng, 300)
    return X, np.argmax(Z @ np.array([[1, -0.5, -0.5], [0, 0.87, -0.87]]), axis=1), Z


PROBLEMS = {
    make.__name__.replace("_", " "): make
    for make in (
        *(product_of_two, product_of_three, ring, checkerboard, hump),
        *(product_response, correlated, heavy_tails, one_in_twenty, shifted_means),
    )
}


def found(seen, sought):
    """The mean squared canonical correlation of two samples (n, q) and (n, p) of directions."""
    A, B = orth(seen - seen.mean(axis=0)), orth(sought - sought.mean(axis=0))
    return float(np.mean(np.linalg.svd(A.T @ B, compute_uv=False)[: sought.shape[1]] ** 2))


def one(problem, start, seed):
    """The share found in one draw."""
    X, y, Z = PROBLEMS[problem](np.random.default_rng(seed))
    X, q = scale(X), Z.shape[1]
    is_response = np.asarray(y).dtype.kind == "f"
    if start in ALONE:
        if start == "SIR" and not is_response:
            q = min(q, len(np.unique(y)) - 1)
        model = ALONE[start](q)
    else:
        model = (ResponseIKDR if is_response else SupervisedIKDR)(
            q, init=start, ridge=np.inf, random_state=seed
        )
    with warnings.catch_warnings(action="ignore"):  # Phi_0 is all but 0 in some
        return {"share": round(found(model.fit(X, y).transform(X), Z), 3)}


def rows(only="", folds=10, jobs=1):
    """One row a problem and start."""
    draws = range(DRAWS if folds > 2 else 1)
    for problem, start in named(only, PROBLEMS, STARTS):
        found = over_runs([one(problem, start, seed) for seed in draws])
        yield {"problem": problem, "start": start} | found
