"""Exercises of chapter 4."""

import numpy as np

from ismlit_book.questions import Choice, Task


def gamma(K, U, power=0.5, centre=True):
    """D^(-1/2) HUU'H D^(-1/2)."""
    A = (U - centre * U.mean(axis=0)) / K.sum(axis=1)[:, None] ** power
    return A @ A.T


def first(F, base=lambda F: F[1:], size=lambda gains: gains):
    """The number of the first block that gains at most 0.003 of a base."""
    return 1 + np.argmax(size(np.diff(F)) <= 0.003 * base(F))


def slopes(U, D, power=0.5):
    """Minus half the squared distances of the rows of U over the roots of D."""
    A = U / D[:, None] ** power
    return -np.sum((A[:, None] - A) ** 2, axis=2) / 2


def extended(K_new, D, u, mu, power=0.5, own=0.0):
    """Nystroem's values at new samples."""
    D_new = K_new.sum(axis=1) + own
    return K_new / np.outer(D_new**power, np.sqrt(D)) @ u / mu


HALF = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])
CHAIN = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
ENDS = np.array([[0.6], [0.0], [-0.8]])
APART = np.array([[-2.0], [1.0], [1.0]]) / np.sqrt(6)
FOUR = np.array([[0.5], [0.5], [-0.5], [-0.5]])
TRIANGLE = np.array([[1, 1], [-1, 1], [0, -2]]) / np.sqrt([2, 6])
OPPOSITE = np.array([1.0, -1.0]) / np.sqrt(2)

QUESTIONS = {
    "ch4/attract": Task(
        right=gamma,
        cases=[
            (HALF, APART),
            (CHAIN, APART),
            (CHAIN, ENDS),
            (HALF[:2, :2], np.array([[1.0], [0.0]])),
        ],
        mistakes={
            "the matrix H stands beside U on both sides: look at the means of the columns.": (
                lambda K, U: gamma(K, U, centre=False)
            ),
            "look at the power of D on each side of Gamma.": (lambda K, U: gamma(K, U, power=1.0)),
            "the degrees are missing, which stand on both sides of Gamma.": (
                lambda K, U: gamma(K, U, power=0.0)
            ),
            "the kernel enters by its degrees only; Gamma is what stands beside K in the sum.": (
                lambda K, U: gamma(K, U) * K
            ),
        },
    ),
    "ch4/maximum": Choice(
        right="b",
        feedback={
            "a": "images that put arbitrary halves of the samples into two far points reach the "
            "maximum as well.",
            "b": "the objective sees only that there are tight and distant groups, and not which "
            "samples are in them.",
            "c": "where all images coincide the objective is 0, which is its minimum.",
        },
    ),
    "ch4/patience": Task(
        right=first,
        cases=[
            (np.array([0.2, 1.9, 1.95, 1.955, 1.9551]),),
            (np.array([20.0, 30.0, 30.05, 30.051]),),
            (np.array([10.0, 12.0, 11.9, 11.91]),),
            (np.array([1.0, 1.001, 2.0, 2.0]),),
        ],
        mistakes={
            "a gain is measured by the value after its own block, not by that at the start.": (
                lambda F: first(F, base=lambda F: F[0])
            ),
            "the bound is a share of the value after the block, not a number by itself.": (
                lambda F: first(F, base=lambda F: 1.0)
            ),
            "a block that loses has gained less than the share, too.": (
                lambda F: first(F, size=np.abs)
            ),
            "the first block has the number 1.": (lambda F: first(F) - 1),
            "the first block that has settled is asked for, not the one that gains least.": (
                lambda F: 1 + np.argmin(np.diff(F) / F[1:])
            ),
        },
    ),
    "ch4/networks": Choice(
        right="a",
        feedback={
            "a": "all four climb the same function, and a network that has torn a cluster stays "
            "lower.",
            "b": "at the end each has an embedding of its own, and any partition can be as high as "
            "any other.",
            "c": "images need not look like the data; those of a good network do not.",
        },
    ),
    "ch4/slopes": Task(
        right=slopes,
        cases=[
            (FOUR, np.array([2.0, 2.0, 2.0, 2.0])),
            (np.sqrt([[8], [2], [2]]) * [[-1], [1], [1]] / np.sqrt(12), np.array([1.0, 2.0, 2.0])),
            (TRIANGLE, np.ones(3)),
        ],
        mistakes={
            "this is Gamma, the slope with the degrees held, which attracts.": (
                lambda U, D: gamma(np.diag(D), U, centre=False)
            ),
            "the theorem has a factor before the square.": lambda U, D: 2 * slopes(U, D),
            "each row of U is divided by the root of its degree.": (
                lambda U, D: slopes(U, D, power=1.0)
            ),
            "the degrees are missing.": lambda U, D: slopes(U, D, power=0.0),
            "at the maximum no pair attracts: look at the sign.": lambda U, D: -slopes(U, D),
        },
    ),
    "ch4/extend": Task(
        right=extended,
        cases=[
            (np.array([[1.0, 0.5]]), np.array([1.5, 1.5]), OPPOSITE, 1 / 3),
            (np.array([[0.4, 0.1], [0.2, 0.2]]), np.array([1.5, 1.5]), OPPOSITE, 1 / 3),
            (np.array([[0.0, 0.3, 0.6]]), np.array([1.0, 2.0, 2.0]), APART[:, 0], 0.8),
            (np.array([[0.5, 0.5], [0.9, 0.0]]), np.array([1.25, 1.25]), OPPOSITE, 0.6),
        ],
        mistakes={
            "at an old sample the formula has to give its own entry: look for mu.": (
                lambda K_new, D, u, mu: extended(K_new, D, u, 1.0)
            ),
            "the new sample has a degree, too: look at what kappa tilde divides by.": (
                lambda K_new, D, u, mu: extended(K_new, D, u, mu, power=0.0)
            ),
            "look at the power of D(x) in kappa tilde.": (
                lambda K_new, D, u, mu: extended(K_new, D, u, mu, power=1.0)
            ),
            "the degree D(x) is a sum over the old samples only.": (
                lambda K_new, D, u, mu: extended(K_new, D, u, mu, own=1.0)
            ),
        },
    ),
}
