"""Exercises of chapter 2."""

import numpy as np

from ismlit_book.questions import Choice, Task


def apart(K):
    """Squared distances of the features: k(x, x) - 2 k(x, y) + k(y, y)."""
    return np.diag(K)[:, None] - 2 * K + np.diag(K)


def covariance(F, G):
    """F'HG, which is n - 1 times the covariance."""
    return (F - F.mean(axis=0)).T @ (G - G.mean(axis=0))


def centred(M):
    """HMH."""
    return M - M.mean(axis=0) - M.mean(axis=1)[:, None] + M.mean()


def divided(K):
    """K tilde: every entry over the roots of two degrees."""
    return K / np.sqrt(np.outer(K.sum(axis=1), K.sum(axis=1)))


def leading(M, c):
    """The sum of the c largest eigenvalues."""
    return np.linalg.eigvalsh(M)[-c:].sum()


COLUMN = np.array([[-1.0], [0.0], [1.0]])
POWERS = np.array([[-1.0, 1.0], [0.0, 0.0], [2.0, 4.0]])
PAIR = np.array([[1.0, 0.5], [0.5, 1.0]])
THREE = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
RECTANGLE = np.kron([[1.0, 0.1], [0.1, 1.0]], PAIR)

QUESTIONS = {
    "ch2/apart": Task(
        right=apart,
        cases=[
            (PAIR,),
            (np.array([[4.0, 2.0], [2.0, 9.0]]),),
            (POWERS @ POWERS.T,),
            (np.array([[1.0, 2.0], [2.0, 5.0]]),),
        ],
        mistakes={
            "k(x, x) is 1 for a Gaussian, not for every kernel: look at the diagonal.": (
                lambda K: 2 - 2 * K
            ),
            "the middle term of the square occurs twice.": (
                lambda K: np.diag(K)[:, None] - K + np.diag(K)
            ),
            "the squared distances are asked for, without the root.": (lambda K: np.sqrt(apart(K))),
            "the rows of K are not the features; expand the square of the difference.": (
                lambda K: np.sum((K[:, None] - K) ** 2, axis=2)
            ),
        },
    ),
    "ch2/zeros": Choice(
        right="b",
        feedback={
            "a": "a kernel is symmetric, but not every symmetric function is a kernel.",
            "b": "the eigenvalues add up to the diagonal, which is 0, and they are not all 0, so "
            "one of them is negative.",
            "c": "one Gram matrix with a negative eigenvalue is enough to know that there are no "
            "features.",
        },
    ),
    "ch2/covariance": Task(
        right=lambda F, G: np.sum(covariance(F, G) ** 2) / (len(F) - 1) ** 2,
        cases=[
            (COLUMN, COLUMN + 1),
            (COLUMN, POWERS),
            (POWERS, POWERS),
            (np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[2.0], [0.0]])),
        ],
        mistakes={
            "look at what the cross-covariance C is divided by.": (
                lambda F, G: np.sum(covariance(F, G) ** 2) / len(F) ** 2
            ),
            "a covariance needs features less their means.": (
                lambda F, G: np.sum((F.T @ G) ** 2) / (len(F) - 1) ** 2
            ),
            "the squared norm is asked for, without the root.": (
                lambda F, G: np.linalg.norm(covariance(F, G)) / (len(F) - 1)
            ),
            "covariances of both signs may cancel: square each entry before you add them.": (
                lambda F, G: np.sum(covariance(F, G)) ** 2 / (len(F) - 1) ** 2
            ),
        },
    ),
    "ch2/shuffles": Choice(
        right="b",
        feedback={
            "a": "then even a single shuffle could give p = 0; the observed order is counted as "
            "well, above and below the line.",
            "b": "the order that was observed has the highest of 100 values, which has a chance of "
            "at most 1 in 100 under independence.",
            "c": "the shuffled values take the place of the distribution, for every kernel and "
            "every n.",
        },
    ),
    "ch2/quality": Task(
        right=lambda K, c: leading(centred(divided(K)), c),
        cases=[(PAIR, 1), (THREE, 1), (THREE, 2), (RECTANGLE, 2)],
        mistakes={
            "the largest eigenvalue of K tilde is 1 for every K; look at what H does in Q.": (
                lambda K, c: leading(divided(K), c)
            ),
            "the matrix Q is made of K tilde, in which the degrees are divided out.": (
                lambda K, c: leading(centred(K), c)
            ),
            "look at the order in which eigvalsh lists the eigenvalues.": (
                lambda K, c: np.linalg.eigvalsh(centred(divided(K)))[:c].sum()
            ),
            "every column of U adds an eigenvalue, not only the last.": (
                lambda K, c: np.linalg.eigvalsh(centred(divided(K)))[-c]
            ),
        },
    ),
}
