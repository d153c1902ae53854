"""Exercises of chapter 7."""

import numpy as np

from ismlit_book.questions import Choice, Task


def per_class(y, counted, predicted):
    """The mean over classes of the share of right answers among the rows counted for each."""
    return np.mean([np.mean((y == predicted)[counted == c]) for c in np.unique(counted)])


Z = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
F = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
COLUMN = np.array([[1.0], [-2.0], [1.0]])
MANY, FEW = np.array([0, 0, 0, 1]), np.array([0, 1, 1, 2, 2, 2])

QUESTIONS = {
    "ch7/thin": Task(
        right=lambda Z, F, s: s @ np.sum((Z.T @ F) ** 2, axis=0),
        cases=[
            (Z, F, np.array([1.0, 1.0])),
            (Z, F, np.array([1.0, -0.5])),
            (Z, COLUMN, np.array([2.0])),
            (Z, np.hstack([F, COLUMN]), np.array([1.0, 2.0, -1.0])),
        ],
        mistakes={
            "each column of F has a weight of its own.": lambda Z, F, s: np.sum((Z.T @ F) ** 2),
            "the norms in the sum are squared.": (
                lambda Z, F, s: s @ np.linalg.norm(Z.T @ F, axis=0)
            ),
            "square the entries of Z'F_k before they are added.": (
                lambda Z, F, s: s @ np.sum(Z.T @ F, axis=0) ** 2
            ),
            "a weight may be negative and keeps its sign.": (
                lambda Z, F, s: np.abs(s) @ np.sum((Z.T @ F) ** 2, axis=0)
            ),
        },
    ),
    "ch7/base": Task(
        right=lambda y, predicted: per_class(y, y, predicted),
        cases=[
            (MANY, np.array([0, 0, 0, 0])),
            (MANY, np.array([0, 0, 1, 1])),
            (FEW, np.array([0, 1, 0, 2, 2, 2])),
            (FEW, np.array([1, 1, 1, 2, 2, 1])),
        ],
        mistakes={
            "this is the accuracy of all rows, in which a large class counts more.": (
                lambda y, predicted: np.mean(y == predicted)
            ),
            "group the rows by their true class, not by the predicted one.": (
                lambda y, predicted: per_class(y, predicted, predicted)
            ),
            "the classes are averaged, so the result is at most 1.": (
                lambda y, predicted: len(np.unique(y)) * per_class(y, y, predicted)
            ),
            "this is the class with the lowest accuracy; the mean over classes is wanted.": (
                lambda y, predicted: min(np.mean((y == predicted)[y == c]) for c in np.unique(y))
            ),
        },
    ),
    "ch7/tiles": Choice(
        right="a",
        feedback={
            "a": "no tile is larger than a block of rows against a block of columns, but all "
            "pairs are still summed.",
            "b": "all pairs are still summed; for time one takes random features.",
            "c": "the sum over tiles is the same sum in another order, so nothing is lost.",
        },
    ),
    "ch7/first": Choice(
        right="c",
        feedback={
            "a": "LDA sees the differences of class means and nothing else, and here there are "
            "none.",
            "b": "PCA does not see the classes; it finds the plane only if that has the most "
            "variance.",
            "c": "both see more than the means of the classes.",
        },
    ),
}
