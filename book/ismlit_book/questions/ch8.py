"""Exercises of chapter 8."""

import numpy as np

from ismlit_book.questions import Choice, Task


def centred(K):
    """HKH."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def cosine(A, B):
    """Of two matrices, read as long vectors."""
    return np.sum(A * B) / np.linalg.norm(A) / np.linalg.norm(B)


def blocks(K, y):
    """The mean of K over the pairs of two classes: the inner products of class means."""
    P = np.eye(y.max() + 1)[y] / np.bincount(y)
    return P.T @ K @ P


def mean_distance(K, y, cross=2):
    B = blocks(K, y)
    return B[0, 0] + B[1, 1] - cross * B[0, 1]


def others_only(K, y):
    """The mistake of leaving out each sample's kernel value with itself."""
    n = np.bincount(y)
    B = (blocks(K, y) * n[:, None] * n - np.diag(n)) / (n[:, None] * n - np.diag(n))
    return B[0, 0] + B[1, 1] - 2 * B[0, 1]


def spread(B):
    """The mean squared length of the m_c - m."""
    return np.trace(B) / len(B) - B.mean()


def within(K, y):
    """The mean squared distance of the samples from their class means."""
    return np.mean(np.diag(K) - np.diag(blocks(K, y))[y])


def by_size(K, y):
    """The mistake of weighing the class means by the class sizes."""
    p = np.bincount(y) / len(y)
    B = blocks(K, y)
    return within(K, y) / (p @ np.diag(B) - p @ B @ p)


def alike(K, y):
    """The mistake of letting classes count alike within."""
    scatter = np.diag(K) - np.diag(blocks(K, y))[y]
    return np.mean([scatter[y == c].mean() for c in np.unique(y)]) / spread(blocks(K, y))


def of_smallest(P):
    smallest = P.min(axis=1)
    return np.mean(smallest <= smallest[0])


def in_nats(p, y):
    return np.mean(np.log(p / (np.bincount(y) / len(y))[y]))


def views_objective(K, identity):
    same = identity[:, None] == identity
    return K[same].sum() - same.mean() * K.sum()


def positives_only(K, identity):
    """The mistake of the weight 1 for views of one image."""
    same = identity[:, None] == identity
    return K[same].sum() - same.mean() * K[~same].sum()


def with_trace(M, trace):
    """A multiple of M with a given trace."""
    return trace * M / np.trace(M)


def best_shift(mu):
    """Where the rates at the two ends are opposite, or 0."""
    return max(0, -(mu[0] + mu[-1]) / 2)


def best_rate(M, g, shift=best_shift):
    mu = np.linalg.eigvalsh(M)
    return np.abs(mu + shift(mu)).max() / (g + shift(mu))


TWO = np.array([[1.0, 0.2], [0.2, 1.0]])
THREE = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.3], [0.1, 0.3, 1.0]])
ALSO = np.array([[1.0, 0.2, 0.5], [0.2, 1.0, 0.4], [0.5, 0.4, 1.0]])
FOUR = np.array([[1, 0.8, 0.1, 0], [0.8, 1, 0.2, 0], [0.1, 0.2, 1, 0.6], [0, 0, 0.6, 1]])
FIVE = np.eye(5) + np.diag([0.7, 0.5, 0.1, 0.6], 1) + np.diag([0.7, 0.5, 0.1, 0.6], -1)
AB, ABAB, AABB, AAAB = (np.array(y) for y in ([0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1]))
AAB, AAABC = np.array([0, 0, 1]), np.array([0, 0, 0, 1, 2])
Y2, Y3 = np.eye(2), np.eye(2)[AAB]

QUESTIONS = {
    "ch8/means": Task(
        right=mean_distance,
        cases=[(FOUR, AABB), (FOUR, ABAB), (FIVE, np.array([0, 0, 1, 1, 1]))],
        mistakes={
            "a mean is a sum over the samples of the class, divided by their number.": (
                lambda K, y: mean_distance(K * np.bincount(y)[y][:, None] * np.bincount(y)[y], y)
            ),
            "multiply the square out; look at the factor of the mixed term.": (
                lambda K, y: mean_distance(K, y, cross=1)
            ),
            "the square of a mean contains each sample's product with itself.": others_only,
            "the squared distance is wanted.": lambda K, y: np.sqrt(mean_distance(K, y)),
        },
    ),
    "ch8/second": Task(
        right=lambda K_X, Y, rho: centred(Y @ Y.T - rho * K_X),
        cases=[(TWO, Y2, 0.0), (TWO, Y2, 0.5), (THREE, Y3, 0.5), (ALSO, Y3, 1.0)],
        mistakes={
            "samples that resemble one another should repel; look at the sign.": (
                lambda K_X, Y, rho: centred(Y @ Y.T + rho * K_X)
            ),
            "the kernel matrix of the samples is centred as well.": (
                lambda K_X, Y, rho: centred(Y @ Y.T) - rho * K_X
            ),
            "H stands on both sides; rows and columns are centred.": (
                lambda K_X, Y, rho: Y @ Y.T - rho * K_X - (Y @ Y.T - rho * K_X).mean(axis=0)
            ),
            "centre the labels too.": lambda K_X, Y, rho: Y @ Y.T - rho * centred(K_X),
        },
    ),
    "ch8/cosine": Task(
        right=lambda K, L: cosine(centred(K), centred(L)),
        cases=[(THREE, ALSO), (FOUR, np.eye(4)), (THREE, THREE), (FOUR, 2 * FOUR[::-1, ::-1])],
        mistakes={
            "centre both matrices first.": cosine,
            "centre in the numerator and in the norms.": (
                lambda K, L: np.sum(centred(K) * centred(L)) / np.linalg.norm(K) / np.linalg.norm(L)
            ),
            "H stands on both sides of K and of L.": (
                lambda K, L: cosine(K - K.mean(axis=0), L - L.mean(axis=0))
            ),
            "divide by the lengths of both; a cosine does not change with the scale.": (
                lambda K, L: np.sum(centred(K) * centred(L))
            ),
        },
    ),
    "ch8/scatter": Task(
        right=lambda K, y: within(K, y) / spread(blocks(K, y)),
        cases=[(FOUR, AABB), (FOUR, AAAB), (FIVE, AAABC), (THREE, AAB)],
        mistakes={
            "look at how m is defined; does a large class count more in it?": by_size,
            "within the classes each sample counts once.": alike,
            "subtract m from the class means.": (
                lambda K, y: within(K, y) / np.mean(np.diag(blocks(K, y)))
            ),
            "the rows of K are not the features; use inner products of features only.": (
                lambda K, y: within(K @ K, y) / spread(blocks(K @ K, y))
            ),
        },
    ),
    "ch8/smallest": Task(
        right=of_smallest,
        cases=[
            (np.array([[0.25, 0.5], [0.5, 0.25], [0.75, 1.0], [1.0, 0.75]]),),
            (np.array([[0.5, 0.25], [1.0, 0.5], [0.75, 0.75], [0.25, 1.0], [0.5, 1.0]]),),
            (np.array([[0.2, 1.0, 0.4], [0.4, 0.2, 0.6], [0.6, 0.6, 0.8], [0.8, 0.8, 1.0]]),),
        ],
        mistakes={
            "chance had several tries as well; compare with the smallest of each shuffle.": (
                lambda P: P[0].min()
            ),
            "no level is divided here; compare with the smallest of each shuffle.": (
                lambda P: min(1, P.shape[1] * P[0].min())
            ),
            "the data are one of the exchangeable values, and a tie counts.": (
                lambda P: np.mean(P.min(axis=1) < P[0].min())
            ),
            "one number belongs to each shuffle, not one to each bandwidth.": (
                lambda P: np.mean(P <= P[0].min())
            ),
        },
    ),
    "ch8/nats": Task(
        right=in_nats,
        cases=[
            (np.array([1.0, 1.0]), AB),
            (np.array([0.5, 0.5, 0.9, 0.8]), AAAB),
            (np.array([0.9, 0.8, 0.4]), AAB),
            (np.array([0.75, 0.75, 0.75, 0.25]), AAAB),
        ],
        mistakes={
            "compare each probability with the share of the sample's class.": (
                lambda p, y: np.mean(np.log(p))
            ),
            "classes may have different sizes; look at the meaning of pi_c.": (
                lambda p, y: np.mean(np.log(p * len(np.unique(y))))
            ),
            "nats belong to the natural logarithm.": lambda p, y: in_nats(p, y) / np.log(2),
            "take the mean of the logarithms, not the logarithm of a mean.": (
                lambda p, y: np.log(np.mean(p / (np.bincount(y) / len(y))[y]))
            ),
        },
    ),
    "ch8/views": Task(
        right=views_objective,
        cases=[(TWO, AB), (FOUR, AABB), (FOUR, ABAB), (FOUR, np.arange(4))],
        mistakes={
            "two views of one image have a weight a little below 1.": positives_only,
            "look at the weight of two images; it grows with the number of views.": (
                lambda K, identity: K[identity[:, None] == identity].sum() - K.sum() / len(identity)
            ),
            "a sample is a view of its own image, so its pair with itself counts.": (
                lambda K, identity: views_objective(K - np.diag(np.diag(K)), identity)
            ),
            "pairs of two images repel; they belong in the sum.": (
                lambda K, identity: (
                    (1 - np.mean(identity[:, None] == identity))
                    * K[identity[:, None] == identity].sum()
                )
            ),
        },
    ),
    "ch8/metric": Task(
        right=lambda G: with_trace(G.T @ G, G.shape[1]),
        cases=[
            (np.array([[1.0, 0.0], [2.0, 1.0]]),),
            (np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, 2.0]]),),
            (np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]),),
        ],
        mistakes={
            "rescale the metric, since the bandwidth stays.": lambda G: G.T @ G / len(G),
            "look at the trace that the first metric, M = I, has.": (
                lambda G: with_trace(G.T @ G, 1)
            ),
            "average the outer products of the gradients, not the gradients.": (
                lambda G: with_trace(np.outer(G.mean(axis=0), G.mean(axis=0)), G.shape[1])
            ),
            "the mean gradient is not subtracted.": (lambda G: with_trace(np.cov(G.T), G.shape[1])),
        },
    ),
    "ch8/missing": Task(
        right=lambda K, Gamma: np.sum(Gamma * (centred(K) @ centred(K))) / len(K),
        cases=[
            (TWO, centred(np.eye(2))),
            (THREE, centred(Y3 @ Y3.T)),
            (ALSO, centred(Y3 @ Y3.T)),
            (FOUR, centred(np.eye(2)[ABAB] @ np.eye(2)[ABAB].T)),
        ],
        mistakes={
            "look at the power of kappa in what sympy prints.": (
                lambda K, Gamma: np.sum(Gamma * K) / len(K)
            ),
            "the penalty is n times the ridge; look at n in what sympy prints.": (
                lambda K, Gamma: np.sum(Gamma * (centred(K) @ centred(K)))
            ),
            "the eigenvalues are those of HKH, also between the two factors.": (
                lambda K, Gamma: np.sum(Gamma * (K @ K)) / len(K)
            ),
            "square the matrix, not its entries.": (
                lambda K, Gamma: np.sum(Gamma * centred(K) ** 2) / len(K)
            ),
        },
    ),
    "ch8/shift": Task(
        right=best_rate,
        cases=[
            (np.diag([-3.0, 0.5]), 1.0),
            (np.diag([0.2, 0.4]), 1.0),
            (np.array([[-1.0, 1.0], [1.0, -1.0]]), 2.0),
            (np.diag([-4.0, -3.5, 1.0]), 2.0),
        ],
        mistakes={
            "a shift is never negative; see where the best is not to shift.": (
                lambda M, g: best_rate(M, g, lambda mu: -(mu[0] + mu[-1]) / 2)
            ),
            "this is the rate without a shift.": lambda M, g: best_rate(M, g, lambda mu: 0),
            "the two ends of the eigenvalues decide, not the mean of all.": (
                lambda M, g: best_rate(M, g, lambda mu: max(0, -mu.mean()))
            ),
            "the shift widens the gap too.": (
                lambda M, g: best_rate(M, g) * (1 + best_shift(np.linalg.eigvalsh(M)) / g)
            ),
        },
    ),
    "ch8/decisions": Choice(
        right="b",
        feedback={
            "a": "the agreement is that of the training samples, and it says nothing about new "
            "ones.",
            "b": "the layers above see how similar a sample is to each class in sum, and nothing "
            "else.",
            "c": "the layers above draw the images of a class together, which moves few samples "
            "to another class.",
        },
    ),
    "ch8/tries": Choice(
        right="c",
        feedback={
            "a": "each test keeps its level, but the smallest of ten p-values is below 0.05 more "
            "often than one of them.",
            "b": "more tries find more, be it a dependence or chance.",
            "c": "the smallest p-value has to be compared with the smallest of each shuffle.",
        },
    ),
}
