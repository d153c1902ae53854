"""The estimator of gradient-based kernel dimension reduction."""

from library.problems import exclusive_or, share

from ismlit import GradientKDR


def test_the_estimator_takes_more_rows_by_random_features():
    X, y, plane = exclusive_or(6000, 0, d=10)
    assert share(GradientKDR(2).fit(X, y).W_, plane) > 0.95
