"""Exercises of chapter 3."""

import numpy as np

from ismlit_book.questions import Choice, Task


def worth(X, w, u, y, lam):
    """The reward for u less the penalty for y."""
    return (u @ X @ w) ** 2 - lam * (y @ X @ w) ** 2


def projector(Phi, q, order=lambda values: values):
    """WW' of the q eigenvectors whose eigenvalues come last in an order."""
    values, V = np.linalg.eigh(Phi)
    W = V[:, np.argsort(order(values))[-q:]]
    return W @ W.T


def rows_as_columns(Phi, q):
    """The rows of the matrix of eigenvectors, taken for the eigenvectors."""
    W = np.linalg.eigh(Phi)[1][-q:]
    return W.T @ W


def J(B, K, K_of_D):
    """The objective with the degrees of another kernel matrix."""
    D = K_of_D.sum(axis=1)
    return np.sum(B * K / np.sqrt(np.outer(D, D)))


def score(s, labels, k, least=0.25, strict=True):
    """The mean of s, or -1 where a cluster has fewer than a share of n / k."""
    sizes, bound = np.bincount(labels, minlength=k), least * len(s) / k
    tiny = sizes < bound if strict else sizes <= bound
    return -1.0 if tiny.any() else np.mean(s)


def occurring(s, labels, k):
    """As `score`, but an empty cluster is not seen."""
    few = np.unique(labels, return_counts=True)[1] < len(s) / (4 * k)
    return -1.0 if few.any() else np.mean(s)


def taken(X, known, fewer=1):
    """The share of the squares along the span of the means."""
    means = np.array([X[known == k].mean(axis=0) for k in np.unique(known)])
    V = np.linalg.svd(means)[2][: len(means) - fewer].T
    return np.sum((X @ V) ** 2) / np.sum(X**2)


def between(X, known):
    """The share of the squares that the means have."""
    means = np.array([X[known == k].mean(axis=0) for k in np.unique(known)])
    return np.sum(means[known] ** 2) / np.sum(X**2)


def entropy(p):
    """Minus the sum of p log p."""
    p = p[p > 0]
    return -np.sum(p * np.log(p))


def left(P):
    """h(L | U), classes in the rows."""
    return entropy(P.ravel()) - entropy(P.sum(axis=0))


def alike(*values):
    """A kernel matrix with these values above its diagonal."""
    n = 2 if len(values) == 1 else 3
    K = np.eye(n)
    K[np.triu_indices(n, 1)] = values
    return np.maximum(K, K.T)


CORNERS = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]])
SIDE, HEIGHT = np.array([-1, 1, -1, 1]), np.array([-1, -1, 1, 1])
DIAGONAL = np.diag([3.0, -5.0, 1.0])
TWO = np.array([[0.5, -0.5], [-0.5, 0.5]])
PADDED = np.pad(TWO, (0, 1))
SEEN = np.array([0.9, 0.8, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8, 0.4])
MIXED = np.array([[0.5, 0.4], [0.4, 0.5]])
HALVES = np.array([0, 0, 1, 1])

QUESTIONS = {
    "ch3/worth": Task(
        right=worth,
        cases=[
            (CORNERS, np.array([1.0, 0.0]), SIDE, HEIGHT, 0.5),
            (CORNERS, np.array([0.0, 1.0]), SIDE, HEIGHT, 0.5),
            (CORNERS, np.array([0.6, -0.8]), SIDE, HEIGHT, 0.25),
            (np.array([[0, 1], [2, 0], [1, 3]]), np.array([0.8, 0.6]), *np.eye(3)[:2], 2.0),
        ],
        mistakes={
            "the known split is to be avoided: look at the sign of its term.": (
                lambda X, w, u, y, lam: worth(X, w, u, y, -lam)
            ),
            "a covariance may be negative; HSIC with linear kernels is its square.": (
                lambda X, w, u, y, lam: u @ X @ w - lam * (y @ X @ w)
            ),
            "the weight multiplies the squared covariance: it is not squared itself.": (
                lambda X, w, u, y, lam: worth(X, w, u, y, lam**2)
            ),
            "look at which of u and y is new and which is known.": (
                lambda X, w, u, y, lam: worth(X, w, y, u, lam)
            ),
        },
    ),
    "ch3/step": Task(
        right=projector,
        cases=[
            (DIAGONAL, 1),
            (DIAGONAL, 2),
            (np.array([[0.0, 1.0], [1.0, -3.0]]), 1),
            (np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, -4.0]]), 2),
        ],
        mistakes={
            "look at the order in which eigh lists the eigenvalues.": (
                lambda Phi, q: projector(Phi, q, np.negative)
            ),
            "a negative eigenvalue belongs to a direction to be avoided, however large it is.": (
                lambda Phi, q: projector(Phi, q, np.abs)
            ),
            "eigh has the eigenvectors in columns, not in rows.": rows_as_columns,
        },
    ),
    "ch3/gain": Task(
        right=lambda B, old, new: J(B, new, new) - J(B, old, old),
        cases=[
            (TWO, alike(0.5), alike(0.25)),
            (TWO, alike(0.2), alike(0.6)),
            (PADDED, alike(0.5, 0.1, 0.1), alike(0.4, 0.8, 0.8)),
            (PADDED, alike(0.1, 0.2, 0.8), alike(0.5, 0.5, 0.5)),
        ],
        mistakes={
            "this is what the step with D frozen knows; the degrees move with the kernel.": (
                lambda B, old, new: J(B, new, old) - J(B, old, old)
            ),
            "before the step the degrees were those of the kernel before it.": (
                lambda B, old, new: J(B, new, new) - J(B, old, new)
            ),
            "a gain is positive where the objective is higher after the step.": (
                lambda B, old, new: J(B, old, old) - J(B, new, new)
            ),
            "the kernel is divided by the roots of the degrees, in both terms.": (
                lambda B, old, new: np.sum(B * (new - old))
            ),
        },
    ),
    "ch3/fall": Choice(
        right="b",
        feedback={
            "a": "the fall occurs also where the best angle is found exactly, as for the four "
            "points.",
            "b": "the step is the best one for degrees that hold no longer once W has moved.",
            "c": "the clustering step takes the best U there is, so it cannot lower the objective.",
        },
    ),
    "ch3/score": Task(
        right=score,
        cases=[
            (SEEN, np.array([0, 0, 0, 0, 0, 0, 0, 1, 1]), 2),
            (SEEN, np.array([0, 0, 0, 0, 0, 0, 0, 0, 1]), 2),
            (SEEN, np.array([0, 0, 0, 0, 0, 0, 1, 1, 1]), 2),
            (SEEN[:8], np.array([0, 0, 0, 0, 0, 0, 0, 1]), 2),
            (SEEN[:6], np.array([0, 0, 0, 1, 1, 1]), 3),
        ],
        mistakes={
            "a cluster may be too small: count the samples of each.": (
                lambda s, labels, k: np.mean(s)
            ),
            "a cluster without a single sample is too small as well.": occurring,
            "a cluster need not have its full share of n / k samples; a part of it will do.": (
                lambda s, labels, k: score(s, labels, k, least=1.0)
            ),
            "the more clusters there are, the smaller each may be: look for k in the bound.": (
                lambda s, labels, k: score(s, labels, k, least=0.25 * k)
            ),
            "a cluster that has just the least size is allowed.": (
                lambda s, labels, k: score(s, labels, k, strict=False)
            ),
        },
    ),
    "ch3/narrow": Choice(
        right="c",
        feedback={
            "a": "at a narrow bandwidth the quality is full also where only outliers are found.",
            "b": "where the bandwidth is too wide the quality is near 0, not near 1.",
            "c": "as the bandwidth shrinks Q tends to H, and every centred U has full marks.",
        },
    ),
    "ch3/hidden": Task(
        right=lambda B, most: np.sum(np.linalg.eigvalsh(B) <= most),
        cases=[
            (np.diag([0.9, 0.1, 0.3]), 0.35),
            (MIXED, 0.3),
            (MIXED, 0.6),
            (np.array([[0.2, 0.1, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 0.7]]), 0.8),
        ],
        mistakes={
            "the diagonal of B belongs to the given axes; other directions may hide more.": (
                lambda B, most: np.sum(np.diag(B) <= most)
            ),
            "count the directions in which the person is hidden, not those that show it.": (
                lambda B, most: np.sum(np.linalg.eigvalsh(B) > most)
            ),
            "the bound is for one direction at a time: do not add the eigenvalues up.": (
                lambda B, most: np.sum(np.cumsum(np.linalg.eigvalsh(B)) <= most)
            ),
        },
    ),
    "ch3/taken": Task(
        right=taken,
        cases=[
            (np.array([[3, 1], [1, -1], [-1, 1], [-3, -1]]), HALVES),
            (np.array([[2, 0], [0, 2], [-2, 0], [0, -2]]), HALVES),
            (np.array([[1, 3], [1, -1], [0, -2], [-2, 0]]), np.array([0, 0, 0, 1])),
            (
                np.array([[2, 0, 1], [2, 0, -1], [-1, 1, 1], [-1, 1, -1], [-2, -2, 0]]),
                np.array([0, 0, 1, 1, 2]),
            ),
        ],
        mistakes={
            "everything along the means is taken out, not the means alone.": between,
            "the share that is taken out is asked for, not the share that is left.": (
                lambda X, known: 1 - taken(X, known)
            ),
            "the means of centred data span one direction fewer than there are clusters.": (
                lambda X, known: taken(X, known, fewer=0)
            ),
        },
    ),
    "ch3/left": Task(
        right=lambda C: left(C / C.sum()),
        cases=[
            (np.array([[20, 0], [0, 20], [0, 20]]),),
            (np.array([[40, 10], [10, 40]]),),
            (np.array([[3, 1], [0, 4]]),),
            (np.array([[5, 0, 5], [0, 10, 0]]),),
        ],
        mistakes={
            "the clusters are given and the classes are left: look at which is which.": (
                lambda C: left(C.T / C.sum())
            ),
            "this is what the cluster says of the class; the rest is asked for.": (
                lambda C: entropy(C.sum(axis=1) / C.sum()) - left(C / C.sum())
            ),
            "a large cluster counts for more in the mean than a small one.": (
                lambda C: np.mean([entropy(c / c.sum()) for c in C.T])
            ),
            "the entries of C are counts, and the formulas need frequencies.": left,
        },
    ),
}
