"""Exercises of chapter 1."""

import numpy as np

from ismlit_book.questions import Choice, Task


def share(W, k):
    return np.sum(W[:k] ** 2) / W.shape[1]


PLANE = np.array([[1.0, 0.0], [0.0, 0.6], [0.0, 0.8], [0.0, 0.0]])
LINE = np.array([[0.6], [0.0], [0.8]])

QUESTIONS = {
    "ch1/share": Task(
        right=share,
        cases=[(PLANE, 2), (PLANE, 3), (LINE, 1), (LINE, 2)],
        mistakes={
            "the squares of W add up to the number of its columns; divide by that.": (
                lambda W, k: np.sum(W[:k] ** 2)
            ),
            "features are the rows of W, components its columns.": (
                lambda W, k: np.sum(W[:, :k] ** 2) / W.shape[1]
            ),
            "entries may be negative or small: add their squares, not the entries.": (
                lambda W, k: np.sum(np.abs(W[:k])) / W.shape[1]
            ),
        },
    ),
    "ch1/ring": Choice(
        right="b",
        feedback={
            "a": "there is a dependence, and a strong one: the radius decides the label.",
            "b": "for every sample of the outer class on the right there is about one on the left, "
            "so the mean of the feature is the same in both classes.",
            "c": "more samples would only bring the correlation nearer to 0.",
        },
    ),
    "ch1/gamma": Choice(
        right="c",
        feedback={
            "a": "a sample of the same class should come near: its weight is positive.",
            "b": "then all pairs would attract each other, and one point would be the best image.",
            "c": "two samples of different classes lower the sum, and least where the kernel "
            "between them is near 0, that is, where they are far apart.",
        },
    ),
}
