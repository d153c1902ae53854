"""Exercises of chapter 5."""

import numpy as np

from ismlit_book.questions import Choice, Task


def array(*rows):
    """An array of numbers, from its rows or entries."""
    return np.array(rows, dtype=float)


def column(*entries):
    """A matrix with one column."""
    return array(*entries)[:, None]


def onto(phi, q):
    """The projector onto the q eigenvectors with the largest eigenvalues."""
    top = np.linalg.eigh(phi)[1][:, -q:]
    return top @ top.T


PLANE = array([1, 0], [0, 1], [0, 0])  # the first two axes of three


# the problem
def same(y):
    """1 for each pair of one class."""
    return (y[:, None] == y) * 1.0


def centred(K):
    """HKH."""
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


# the gradient
def pull(v, W, sigma):
    return -np.exp(-np.sum((W.T @ v) ** 2) / (2 * sigma**2)) / sigma**2 * np.outer(v, v @ W)


# kernel by kernel
def inner(X, w, c):
    """beta + c of all pairs."""
    return np.outer(X @ w, X @ w) + c


def laplacian(Psi):
    return np.diag(Psi.sum(axis=1)) - Psi


# the iteration
def stationary(Phi, W):
    return np.allclose(Phi @ W, W @ (W.T @ Phi @ W))


def largest_in_size(Phi, q):
    """The projector onto the eigenvectors whose eigenvalues are largest in size."""
    values, vectors = np.linalg.eigh(Phi)
    V = vectors[:, np.argsort(abs(values))[-q:]]
    return V @ V.T


# the start
def of_means(X, y, power=2, origin=None):
    """The sum over classes of size^power times the outer product of the mean less the origin."""
    origin = X.mean(axis=0) if origin is None else origin
    away = [(np.sum(y == c), X[y == c].mean(axis=0) - origin) for c in np.unique(y)]
    return sum(size**power * np.outer(m, m) for size, m in away)


def mean_of_means(X, y):
    return np.mean([X[y == c].mean(axis=0) for c in np.unique(y)], axis=0)


# when it cycles
def cosines(V, W):
    return np.linalg.svd(V.T @ W)[1]


# when is it a maximum
def spectrum(kd, M):
    """Eigenvalues of Kd - M, rising."""
    return np.linalg.eigvalsh(np.diag(kd) - M)


# four ways to climb
def cayley(W, G, s):
    A = s / 2 * (G @ W.T - W @ G.T)
    return np.linalg.solve(np.eye(len(W)) - A, W + A @ W)


# which method
def means_of(x, y):
    """For each sample the mean of its class."""
    return np.array([x[y == c].mean() for c in y])


def share_between(x, y):
    return means_of(x, y).var() / x.var()


QUESTIONS = {
    "ch5/weights": Task(
        right=lambda y: centred(same(y)),
        cases=[
            (np.array([0, 0, 1]),),
            (np.array([0, 1]),),
            (np.array([0, 1, 1, 2]),),
            (np.array([2, 2, 0, 1, 1, 2]),),
        ],
        mistakes={
            "some weights have to be negative; what does H do?": same,
            "H stands on both sides of YY'; look at the sums of the rows and of the columns.": (
                lambda y: same(y) - same(y).mean(axis=0)
            ),
            "it is not enough that all weights add up to 0; look at the sum of each row.": (
                lambda y: same(y) - same(y).mean()
            ),
            "these are the balanced weights, in which every class counts the same.": (
                lambda y: same(y) / same(y).sum(axis=0) - 1 / len(y)
            ),
        },
    ),
    "ch5/pull": Task(
        right=pull,
        cases=[
            (array(1, 2), column(1, 0), 1.0),
            (array(0, 3), column(1, 0), 1.0),
            (array(1, 1), column(0.6, 0.8), 2.0),
            (array(1, 0, 2), PLANE, 2.0),
        ],
        mistakes={
            "beta is quadratic in W; which factor does that bring?": (
                lambda v, W, sigma: pull(v, W, sigma) / 2
            ),
            "projections that move apart look less alike; look at the sign of the slope.": (
                lambda v, W, sigma: -pull(v, W, sigma)
            ),
            "the slope f' is not f with a minus sign; differentiate the exponent too.": (
                lambda v, W, sigma: 2 * sigma**2 * pull(v, W, sigma)
            ),
            "the kernel sees the distance of the projections, not that of the samples.": (
                lambda v, W, sigma: -np.exp(-v @ v / (2 * sigma**2)) / sigma**2 * np.outer(v, v @ W)
            ),
        },
    ),
    "ch5/cubic": Task(
        right=lambda X, w, Gamma, c: X.T @ (Gamma * 3 * inner(X, w, c) ** 2) @ X,
        cases=[
            (np.array([[1, 2], [0, 1]]), np.array([1, 0]), np.array([[1, -1], [-1, 1]]), 1),
            (np.array([[1, 0], [2, 1]]), np.array([0, 1]), np.array([[1, -1], [-1, 1]]), 2),
            (np.array([[1, 1], [0, 2]]), np.array([1, 0]), np.array([[0, 1], [1, 0]]), 0),
        ],
        mistakes={
            "a kernel enters Phi by its slope f', not by f itself.": (
                lambda X, w, Gamma, c: X.T @ (Gamma * inner(X, w, c) ** 3) @ X
            ),
            "look at the factor of f' once more.": (
                lambda X, w, Gamma, c: X.T @ (Gamma * inner(X, w, c) ** 2) @ X
            ),
            "which kind of pair is it? Look at the column of the table for Phi.": (
                lambda X, w, Gamma, c: 2 * X.T @ laplacian(Gamma * 3 * inner(X, w, c) ** 2) @ X
            ),
            "each pair has a weight of its own; which product of Gamma and f' is that?": (
                lambda X, w, Gamma, c: X.T @ (Gamma @ (3 * inner(X, w, c) ** 2)) @ X
            ),
        },
    ),
    "ch5/matern": Task(
        right=lambda beta: -(1 + np.sqrt(beta)) * np.exp(-np.sqrt(beta)) / 6,
        cases=[(1.0,), (4.0,), (0.25,), (9.0,)],
        mistakes={
            "this is the slope by the distance r, and f is a function of beta.": (
                lambda beta: -np.sqrt(beta) * (1 + np.sqrt(beta)) * np.exp(-np.sqrt(beta)) / 3
            ),
            "beta is not the distance r; look at step 3 of the recipe.": (
                lambda beta: -beta * (1 + beta) * np.exp(-beta) / 3
            ),
            "the kernel falls as two projections move apart; look at the sign.": (
                lambda beta: (1 + np.sqrt(beta)) * np.exp(-np.sqrt(beta)) / 6
            ),
            "this is f itself; step 4 of the recipe is missing.": (
                lambda beta: (1 + np.sqrt(beta) + beta / 3) * np.exp(-np.sqrt(beta))
            ),
        },
    ),
    "ch5/still": Task(
        right=lambda Phi, W: np.allclose(onto(Phi, W.shape[1]), W @ W.T),
        cases=[
            (np.diag([3, 1]), column(1, 0)),
            (np.diag([3, 1]), column(0, 1)),
            (np.diag([3, 1]), column(0.6, 0.8)),
            (np.diag([1, -3]), column(1, 0)),
            (np.diag([3, 2, 1]), array([0.6, -0.8], [0.8, 0.6], [0, 0])),
        ],
        mistakes={
            "this says that W is stationary; which eigenvectors does ISM take?": stationary,
            "compare the subspaces, not the columns: two bases of one span may differ.": (
                lambda Phi, W: np.allclose(abs(np.linalg.eigh(Phi)[1][:, -W.shape[1] :]), abs(W))
            ),
            "ISM takes the largest eigenvalues, not those that are largest in size.": (
                lambda Phi, W: np.allclose(largest_in_size(Phi, W.shape[1]), W @ W.T)
            ),
            "look at the order in which the eigenvalues come.": (
                lambda Phi, W: np.allclose(onto(-Phi, W.shape[1]), W @ W.T)
            ),
        },
    ),
    "ch5/means": Task(
        right=lambda X, y, sigma: of_means(X, y) / sigma**2,
        cases=[
            (np.array([[1, 0], [3, 0], [0, 1]]), np.array([0, 0, 1]), 1.0),
            (np.array([[2, 1], [0, 1], [1, 4]]), np.array([0, 1, 1]), 2.0),
            (np.array([[1, 1], [-1, -1], [0, 0]]), np.array([0, 0, 1]), 1.0),
            (np.array([[1, 0], [3, 1], [0, 1], [2, 5]]), np.array([0, 1, 2, 2]), 0.5),
        ],
        mistakes={
            "look at the power of the class sizes in the formula.": (
                lambda X, y, sigma: of_means(X, y, power=1) / sigma**2
            ),
            "from where are the class means seen?": (
                lambda X, y, sigma: of_means(X, y, origin=0) / sigma**2
            ),
            "m is the mean of all samples; larger classes count more in it.": (
                lambda X, y, sigma: of_means(X, y, origin=mean_of_means(X, y)) / sigma**2
            ),
            "insert f'(0) of the Gaussian into the factor before the sum once more.": (
                lambda X, y, sigma: of_means(X, y) / (2 * sigma**2)
            ),
        },
    ),
    "ch5/turn": Task(
        right=lambda V, W: np.linalg.norm(V @ V.T - W @ W.T, 2),
        cases=[
            (column(1, 0), column(0.6, 0.8)),
            (column(1, 0), column(-0.8, 0.6)),
            (PLANE, array([1, 0], [0, 0.6], [0, 0.8])),
            (PLANE, array([0, 0.28], [1, 0], [0, 0.96])),
        ],
        mistakes={
            "without a second argument np.linalg.norm takes another norm of a matrix.": (
                lambda V, W: np.linalg.norm(V @ V.T - W @ W.T)
            ),
            "V and W may differ though they span the same; compare what the span decides.": (
                lambda V, W: np.linalg.norm(V - W, 2)
            ),
            "this is the cosine of the angle.": lambda V, W: cosines(V, W).min(),
            "there are as many principal angles as columns; the largest is asked for.": (
                lambda V, W: np.sqrt(max(0.0, 1 - cosines(V, W).max() ** 2))
            ),
        },
    ),
    "ch5/rule": Choice(
        right="c",
        feedback={
            "a": "eigenvalues say little about the subspace: on breast cancer the rule is met, "
            "and the next step turns the plane by 88 degrees.",
            "b": "the residual is 0 at a stationary point, and where the rule stops on breast "
            "cancer it is not.",
            "c": "the eigenvalues may be nearly the same at both ends of a cycle, so look at the "
            "angle or at the residual.",
        },
    ),
    "ch5/curvature": Task(
        right=lambda w, g, F, z: z @ F @ z - (w @ g) * (z @ z),
        cases=[
            (np.array([1, 0]), np.array([-4, 0]), np.diag([-12, 0]), np.array([0, 1])),
            (np.array([0, 1]), np.array([0, 2]), np.diag([1, 0]), np.array([3, 0])),
            (np.array([1, 0]), np.array([-1, 0]), np.diag([0, 2]), np.array([0, 2])),
            (array(0.6, 0.8), array(3, 4), np.diag([1, 2]), array(-0.8, 0.6)),
        ],
        mistakes={
            "the curvature of f alone does not count: the constraint bends as well.": (
                lambda w, g, F, z: z @ F @ z
            ),
            "look at the sign of the constraint in the Lagrangian.": (
                lambda w, g, F, z: z @ F @ z + (w @ g) * (z @ z)
            ),
            "the tangent z need not have length 1.": lambda w, g, F, z: z @ F @ z - w @ g,
            "the multiplier may be negative.": (
                lambda w, g, F, z: z @ F @ z - np.linalg.norm(g) * (z @ z)
            ),
        },
    ),
    "ch5/maximum": Task(
        right=lambda kd, M: spectrum(kd, M)[0],
        cases=[
            (np.array([1, 3]), np.diag([0, 2])),
            (np.array([1, 2]), np.diag([2, 0])),
            (np.array([-1, 2]), np.diag([-2, 1])),
            (np.array([2, 2]), np.array([[1, 2], [2, 1]])),
        ],
        mistakes={
            "this is the loss alone, the eigengap; where is the gain?": lambda kd, M: np.min(kd),
            "the least loss and the largest gain may lie in different directions.": (
                lambda kd, M: np.min(kd) - np.linalg.eigvalsh(M)[-1]
            ),
            "the diagonal of M does not say what happens when several entries turn together.": (
                lambda kd, M: np.min(kd - np.diag(M))
            ),
            "ask for the direction in which the loss wins by least, not by most.": (
                lambda kd, M: spectrum(kd, M)[-1]
            ),
        },
    ),
    "ch5/fate": Task(
        right=lambda Kd, M: (Kd > M, Kd > abs(M)),
        cases=[(2.0, -1.0), (2.0, -3.0), (2.0, 3.0), (-1.0, -3.0), (-3.0, -1.0)],
        mistakes={
            "with a negative Kd the quotient does not decide whether it is a maximum.": (
                lambda Kd, M: (M / Kd < 1, Kd > abs(M))
            ),
            "to be a maximum is not enough to attract plain ISM.": lambda Kd, M: (Kd > M, Kd > M),
            "what does plain ISM do where Kd is negative, however small the quotient is?": (
                lambda Kd, M: (Kd > M, abs(M / Kd) < 1)
            ),
            "an error may change its sign at each step and grow.": (
                lambda Kd, M: (Kd > M, Kd > 0 and M / Kd < 1)
            ),
        },
    ),
    "ch5/shift": Task(
        right=lambda Phi, W, tau: onto(Phi + tau * W @ W.T, W.shape[1]),
        cases=[
            (np.array([[1, 2], [2, 1]]), column(1, 0), 3.0),
            (np.diag([0, 3]), column(1, 0), 1.0),
            (np.diag([0, 3]), column(1, 0), 5.0),
            (np.diag([1, 3, 2]), PLANE, 2.0),
        ],
        mistakes={
            "this is the plain step; a multiple of I moves no eigenvector.": (
                lambda Phi, W, tau: onto(Phi, W.shape[1])
            ),
            "the shift should reward staying at W, not leaving it.": (
                lambda Phi, W, tau: onto(Phi - tau * W @ W.T, W.shape[1])
            ),
            "look at the order in which the eigenvalues come.": (
                lambda Phi, W, tau: onto(-Phi - tau * W @ W.T, W.shape[1])
            ),
            "the new subspace should have as many dimensions as the old one.": (
                lambda Phi, W, tau: onto(Phi + tau * W @ W.T, 1)
            ),
        },
    ),
    "ch5/trace": Task(
        right=lambda K, k: np.linalg.eigvalsh(centred(K))[-k:].sum(),
        cases=[
            (array([1, 0.5], [0.5, 1]), 1),
            (array([1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]), 1),
            (array([1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]), 2),
            (np.diag([4.0, 1.0, 1.0]), 1),
        ],
        mistakes={
            "look at what stands on both sides of K.": (
                lambda K, k: np.linalg.eigvalsh(K)[-k:].sum()
            ),
            "look at the order in which the eigenvalues come.": (
                lambda K, k: np.linalg.eigvalsh(centred(K))[:k].sum()
            ),
            "this is the trace of HKH itself, and U has k columns only.": (
                lambda K, k: np.trace(centred(K))
            ),
            "the columns of U are orthonormal, so only one of them can be the first eigenvector.": (
                lambda K, k: k * np.linalg.eigvalsh(centred(K))[-1]
            ),
        },
    ),
    "ch5/curve": Task(
        right=cayley,
        cases=[
            (column(1, 0), column(0, 1), 1.0),
            (column(1, 0), column(0, 1), 2.0),
            (column(0.6, 0.8), column(2, 1), 0.5),
            (PLANE, array([1, 0], [0, 2], [1, 1]), 1.0),
        ],
        mistakes={
            "the curve leads downhill; look at the sign of A.": lambda W, G, s: cayley(W, G, -s),
            "the velocity at s = 0 should be AW, and here it is 2AW.": (
                lambda W, G, s: cayley(W, G, 2 * s)
            ),
            "this follows the tangent, and the columns do not stay orthonormal.": (
                lambda W, G, s: W + s * (G @ W.T - W @ G.T) @ W
            ),
            "(1) has two factors before W.": (lambda W, G, s: W + s / 2 * (G @ W.T - W @ G.T) @ W),
        },
    ),
    "ch5/between": Task(
        right=share_between,
        cases=[
            (np.array([0, 1, 4]), np.array([0, 0, 1])),
            (np.array([0, 2, 1, 5]), np.array([0, 0, 1, 1])),
            (np.array([-1, 1, -3, 3]), np.array([0, 0, 1, 1])),
            (np.array([1, 2, 3, 6, 8]), np.array([0, 0, 0, 1, 1])),
        ],
        mistakes={
            "a class with more samples counts more in B.": (
                lambda x, y: np.var([x[y == c].mean() for c in np.unique(y)]) / x.var()
            ),
            "this is the eigenvalue of LDA; S is the spread of all samples.": (
                lambda x, y: means_of(x, y).var() / (x.var() - means_of(x, y).var())
            ),
            "this is the share within classes.": lambda x, y: 1 - share_between(x, y),
            "a covariance is about the differences from the mean.": (
                lambda x, y: np.sum(means_of(x, y) ** 2) / np.sum(x**2)
            ),
        },
    ),
    "ch5/method": Choice(
        right="c",
        feedback={
            "a": "LDA sees the class means only, and these coincide.",
            "b": "gKDR sees that the spreads differ, but it has to solve an n x n system of "
            "equations, which is too large here.",
            "c": "IKDR compares whole distributions, and with random features it needs no n x n "
            "matrix.",
        },
    ),
}
