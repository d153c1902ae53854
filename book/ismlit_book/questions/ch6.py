"""Exercises of chapter 6."""

import numpy as np

from ismlit_book.questions import Choice, Task


def squares(Z):
    """The squared distances of all pairs of rows."""
    return np.sum((Z[:, None] - Z) ** 2, axis=2)


def indicators(y):
    """A column for each class."""
    return np.eye(y.max() + 1)[y]


def power(A, exponent):
    """A power of a positive definite matrix."""
    values, vectors = np.linalg.eigh(A)
    return vectors * values**exponent @ vectors.T


def gamma(y):
    """The weights H Y Y' H."""
    HY = indicators(y) - indicators(y).mean(axis=0)
    return HY @ HY.T


def inverted(K, y):
    """M of the construction."""
    return indicators(y).T @ np.linalg.inv(K) @ indicators(y)


def averages(y, i, j):
    """The matrix that puts the mean of two samples in the place of both."""
    P = np.eye(len(y))
    P[[i, j]] = P[[i, j]].mean(axis=0)
    return P


def highest(y, i, j):
    P = averages(y, i, j)
    return np.linalg.norm(P @ gamma(y) @ P) / np.linalg.norm(gamma(y))


def without(y, i, j):
    """The mistake of leaving the two samples out."""
    left = np.delete(np.arange(len(y)), [i, j])
    return np.linalg.norm(gamma(y)[np.ix_(left, left)]) / np.linalg.norm(gamma(y))


def uncentred(y, i, j):
    """The mistake of Y Y' in the place of Gamma."""
    L, P = indicators(y) @ indicators(y).T, averages(y, i, j)
    return np.linalg.norm(P @ L @ P) / np.linalg.norm(L)


def attracting(sizes, bound=lambda n: np.sum(n**2) / np.sum(n)):
    """The number of pairs of classes whose samples together are fewer than a bound."""
    n = np.sort(sizes)
    return int(np.sum(np.triu(n[:, None] + n < bound(n), 1)))


def weights(y):
    """The sizes of all weights of two different samples."""
    return np.abs(gamma(y))[~np.eye(len(y), dtype=bool)]


def between(y):
    """The sizes of all weights of two samples of different classes."""
    return np.abs(gamma(y))[y[:, None] != y]


def errors_ahead(first, second):
    gap = first - second
    return gap.mean() / (gap.std(ddof=1) / np.sqrt(len(gap)))


THREE = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 1.0]])
FOUR = np.array([[1, 0.4, 0.3, 0], [0.4, 1, 0, 0.2], [0.3, 0, 1, 0.1], [0, 0.2, 0.1, 1]])
TWO = np.array([[1.0, 0.5], [0.5, 1.0]])
AAB, ABB, ABAB = (np.array(y) for y in ([0, 0, 1], [0, 1, 1], [0, 1, 0, 1]))
UNEQUAL = np.array([0, 0, 1, 1, 2, 2, 2])
PAIRS, TRIPLES = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 1, 1, 1])

QUESTIONS = {
    "ch6/products": Task(
        right=lambda K, C, sigma: np.exp(-squares(K @ C) / (2 * sigma**2)),
        cases=[
            (TWO, np.array([[1.0], [-1.0]]), 1.0),
            (TWO, np.array([[1.0], [0.0]]), 0.5),
            (THREE, np.array([[1.0], [0.0], [-1.0]]), 1.0),
            (THREE, np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.0]]), 2.0),
        ],
        mistakes={
            "put W = R'C into Z = RW; the rows of C alone are not the images.": (
                lambda K, C, sigma: np.exp(-squares(C) / (2 * sigma**2))
            ),
            "look at what the squared distance is divided by in the Gaussian kernel.": (
                lambda K, C, sigma: np.exp(-squares(K @ C) / sigma**2)
            ),
            "the Gaussian kernel takes the square of the distance.": (
                lambda K, C, sigma: np.exp(-np.sqrt(squares(K @ C)) / (2 * sigma**2))
            ),
            "K holds inner products of the inputs R; the result compares the images of R.": (
                lambda K, C, sigma: K @ C @ C.T @ K
            ),
        },
    ),
    "ch6/third": Task(
        right=lambda H_2, sigma_3: 4 - 4 * np.exp(-H_2 / (4 * sigma_3**2)),
        cases=[(2.0, 1.0), (3.9, 1.0), (2.0, 0.5), (1.0, 2.0)],
        mistakes={
            "the kernel takes the squared distance of the two images; look at the exponent.": (
                lambda H_2, sigma_3: 4 - 4 * np.exp(-np.sqrt(H_2 / 2) / (2 * sigma_3**2))
            ),
            "compute the squared distance of the two features from their inner product.": (
                lambda H_2, sigma_3: 4 - 4 * np.exp(-H_2 / (2 * sigma_3**2))
            ),
            "count the ordered pairs of samples of different classes.": (
                lambda H_2, sigma_3: 4 - 2 * np.exp(-H_2 / (4 * sigma_3**2))
            ),
            "this is the kernel value of the two classes; H is a sum over all pairs.": (
                lambda H_2, sigma_3: np.exp(-H_2 / (4 * sigma_3**2))
            ),
        },
    ),
    "ch6/interpolation": Task(
        right=lambda K, y: indicators(y) @ power(inverted(K, y), -0.5),
        cases=[(THREE, AAB), (THREE, ABB), (FOUR, ABAB), (TWO, np.array([0, 1]))],
        mistakes={
            "these are class sums, which serve from the third layer on; the second interpolates.": (
                lambda K, y: K @ indicators(y) @ power(indicators(y).T @ K @ indicators(y), -0.5)
            ),
            "the weights must have orthonormal columns; look at the power of M.": (
                lambda K, y: indicators(y) @ power(inverted(K, y), -1)
            ),
            "the root of M is right, but look at the sign of its exponent.": (
                lambda K, y: indicators(y) @ power(inverted(K, y), 0.5)
            ),
            "this interpolates, but nothing makes the columns of the weights orthonormal.": (
                lambda K, y: indicators(y)
            ),
        },
    ),
    "ch6/twins": Task(
        right=highest,
        cases=[
            (ABB, 0, 1),
            (np.array([0, 0, 1, 1]), 1, 2),
            (PAIRS, 0, 5),
            (TRIPLES, 2, 3),
            (AAB, 0, 1),
        ],
        mistakes={
            "the norms themselves are compared, not their squares.": (
                lambda y, i, j: highest(y, i, j) ** 2
            ),
            "the kernel treats the two alike in its rows and in its columns.": (
                lambda y, i, j: (
                    np.linalg.norm(averages(y, i, j) @ gamma(y)) / np.linalg.norm(gamma(y))
                )
            ),
            "the two samples stay; only their weights are replaced.": without,
            "the labels have to be centred before they are multiplied.": uncentred,
        },
    ),
    "ch6/attract": Task(
        right=attracting,
        cases=[
            (np.array([1, 1, 3]),),
            (np.array([4, 4, 4]),),
            (np.array([1210, 384, 69, 65]),),
            (np.array([5, 12, 30, 53]),),
            (np.array([30, 60]),),
        ],
        mistakes={
            "look at the right side of the exact condition; it is not the largest share.": (
                lambda sizes: attracting(sizes, np.max)
            ),
            "count each pair of classes once.": lambda sizes: 2 * attracting(sizes),
            "look at all pairs of classes, not at the two smallest classes alone.": (
                lambda sizes: min(attracting(sizes), 1)
            ),
            "these are the pairs that repel each other.": (
                lambda sizes: len(sizes) * (len(sizes) - 1) // 2 - attracting(sizes)
            ),
        },
    ),
    "ch6/off": Task(
        right=lambda y, gap: gap / (2 * weights(y).min()),
        cases=[(ABB, 0.01), (np.array([0, 1, 1, 1]), 0.01), (UNEQUAL, 0.1), (TRIPLES, 0.2)],
        mistakes={
            "the weight of the pair belongs in the bound.": lambda y, gap: gap,
            "a pair occurs twice in the sum, as ij and as ji.": (
                lambda y, gap: gap / weights(y).min()
            ),
            "pairs of samples of one class count too, and their weights may be smaller.": (
                lambda y, gap: gap / (2 * between(y).min())
            ),
            "the pair whose kernel value is bounded least is wanted; which weight does it have?": (
                lambda y, gap: gap / (2 * weights(y).max())
            ),
        },
    ),
    "ch6/paired": Task(
        right=errors_ahead,
        cases=[
            (np.array([0.9, 0.8, 0.7, 0.9, 0.6]), np.array([0.8, 0.7, 0.7, 0.8, 0.5])),
            (np.array([0.5, 0.9, 0.7]), np.array([0.6, 0.9, 0.9])),
            (np.array([0.9, 0.7, 0.8, 0.6]), np.array([0.8, 0.7, 0.6, 0.5])),
        ],
        mistakes={
            "take the difference on each split first; one standard error belongs to it.": (
                lambda first, second: (
                    (first - second).mean()
                    / np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / len(first))
                )
            ),
            "the standard error of a mean is smaller than the standard deviation.": (
                lambda first, second: errors_ahead(first, second) / np.sqrt(len(first))
            ),
            "the standard deviation of a sample of m numbers divides by m - 1.": (
                lambda first, second: (
                    errors_ahead(first, second) * np.sqrt(len(first) / (len(first) - 1))
                )
            ),
            "where the first method is behind the result is negative; look at the order.": (
                lambda first, second: errors_ahead(second, first)
            ),
        },
    ),
    "ch6/wide": Choice(
        right="b",
        feedback={
            "a": "H is no cosine: it changes when the entries of the centred kernel matrix shrink.",
            "b": "all kernel values come near 1, and the weights sum to 0; the agreement divides "
            "by the norm of HKH, which shrinks as well.",
            "c": "H is near its ideal value only if the kernel is near 0 between classes, and a "
            "wide kernel is near 1 there.",
        },
    ),
    "ch6/existence": Choice(
        right="c",
        feedback={
            "a": "it says that weights exist with which H rises, and ISM need not find them.",
            "b": "the labels of Random are tosses of a coin, and the network fits them all the "
            "same.",
            "c": "it is a statement about weights that are built; whether a solver comes near "
            "them is another question.",
        },
    ),
}
