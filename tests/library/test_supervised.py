"""The score of a supervised fit on new rows."""

import numpy as np
import pytest

from ismlit import SupervisedIKDR
from ismlit.bandwidth import self_tuning_kernel


def test_score_with_self_tuning_bandwidths_is_that_of_the_new_rows(wine):
    X, y = wine
    model = SupervisedIKDR(2, bandwidth="self_tuning").fit(X[::2], y[::2])
    here, there = model.score(X[::2], y[::2]), model.score(X[1::2], y[1::2])  # 89 rows each
    assert there == pytest.approx(SupervisedIKDR.score(model, X[1::2].copy(), y[1::2]))
    assert 0.3 < there < here + 0.1 and here != there
    own = SupervisedIKDR(2, kernel=self_tuning_kernel(X[::2])).fit(X[::2], y[::2])
    with pytest.raises(ValueError, match="for the training rows alone"):
        own.score(X[1::2], y[1::2])


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_score_centres_new_rows_by_the_training_mean(kernel, wine):
    """A kernel of inner products depends on the origin, so the mean is taken off new rows too."""
    X, y = wine
    plain = SupervisedIKDR(2, kernel=kernel).fit(X[::2], y[::2])
    far = SupervisedIKDR(2, kernel=kernel).fit(X[::2] + 100.0, y[::2])
    here, there = plain.score(X[1::2], y[1::2]), far.score(X[1::2] + 100.0, y[1::2])
    assert there == pytest.approx(here, rel=1e-6)
    Z = (X[1::2] - X[::2].mean(axis=0)) @ plain.W_  # by hand: HSIC of the two Gram matrices
    K = Z @ Z.T if kernel == "linear" else (Z @ Z.T + 1) ** 3
    H, Y = np.eye(len(Z)) - 1 / len(Z), np.eye(3)[y[1::2]]
    K, L = H @ K @ H, H @ Y @ Y.T @ H
    assert here == pytest.approx(np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L), rel=1e-9)
