""""""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group
from sklearn.exceptions import DataConversionWarning

from ismlit.dependence import hsic, normalized_hsic
from ismlit.gamma import (
    DenseGamma,
    Gamma,
    as_gamma,
    embedding_gamma,
    guidance_gamma,
    label_gamma,
    one_hot,
)


def centring(n):
    return np.eye(n) - np.ones((n, n)) / n


def test_supervised_is_hyyh_for_any_labels():
    y = np.array(["b", "a", "c", "a", "b", "b"])
    Y = np.array([[v == c for c in "abc"] for v in y], dtype=float)
    expected = centring(6) @ Y @ Y.T @ centring(6)
    assert_allclose(label_gamma(y).to_dense(), expected, atol=1e-15)


def test_gamma_of_an_embedding_is_its_formula(rng):
    U, H = ortho_group.rvs(7, random_state=rng)[:, :2], centring(7)
    gamma, expected = embedding_gamma(U), H @ U @ U.T @ H
    assert_allclose(gamma.to_dense(), expected, atol=1e-14)
    V = rng.standard_normal((7, 2))
    assert_allclose(gamma @ V, expected @ V, atol=1e-13)
    rows, columns = slice(1, 4), slice(3, 7)
    assert_allclose(gamma.tile(rows, columns), expected[rows, columns], atol=1e-14)


def test_a_gamma_of_any_weights_acts_as_its_matrix(rng):
    F, s, V = rng.standard_normal((7, 2)), np.array([2.0, -0.3]), rng.standard_normal((7, 3))
    gamma, expected = Gamma(F, s), F @ np.diag(s) @ F.T
    assert_allclose(gamma.to_dense(), expected, atol=1e-14)
    assert_allclose(gamma @ V, expected @ V, atol=1e-13)
    assert_allclose((3 * gamma).to_dense(), 3 * expected, atol=1e-14)
    assert_allclose(as_gamma(expected).to_dense(), expected, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: label_gamma([1, 1, 1]), "at least two classes, got only"),
        (lambda: DenseGamma(np.ones((2, 3))), "square"),
        (lambda: DenseGamma([[0.0, 1], [2, 0]]), "must be symmetric"),
        (lambda: DenseGamma([[np.nan, 0], [0, 1.0]]), "NaN"),
        (lambda: hsic(np.eye(3), np.eye(4)), "one size"),
        (lambda: hsic(np.eye(3), np.eye(3), estimator="fair"), "'unbiased'"),
        (lambda: hsic(np.eye(3), np.eye(3), estimator="unbiased"), "at least 4"),
        (lambda: normalized_hsic(np.ones((3, 3)), np.eye(3)), "constant"),
        (lambda: normalized_hsic(np.full((13, 13), 1e6 / 3), np.eye(13)), "constant"),
        (lambda: Gamma(np.eye(3), [1, np.nan, 1]), "s must be finite"),
    ],
)
def test_bad_input_gets_a_clear_error(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_rounding_of_a_textbook_gamma_is_accepted(rng):
    H, Y = centring(100), np.eye(3)[np.arange(100) % 3]
    gamma = DenseGamma(H @ Y @ Y.T @ H)
    assert np.array_equal(gamma.array, gamma.array.T)


def test_guidance_is_the_scaled_centred_indicator(rng):
    y = np.array([0, -1, 1, 1, -1, 2])
    known = y != -1
    F = np.zeros((6, 3))
    F[known] = centring(4) @ one_hot(y[known])
    F /= np.linalg.norm(F, 2)
    assert_allclose(guidance_gamma(y, 0.7).to_dense(), 0.7 * F @ F.T, atol=1e-15)
    scores = rng.standard_normal((6, 2))
    centred = centring(6) @ scores
    expected = -2 * centred @ centred.T / np.linalg.norm(centred, 2) ** 2
    assert_allclose(guidance_gamma(scores, -2.0).to_dense(), expected, atol=1e-14)


def test_labels_that_guide_may_be_words():
    expected = guidance_gamma([0, 1, -1, 1], 2.0)
    words = np.array(["a", "b", None, "b"], dtype=object)
    assert_allclose(guidance_gamma(words, 2.0).F, expected.F)
    words[2] = -1
    assert_allclose(guidance_gamma(words, 2.0).F, expected.F)
    assert_allclose(guidance_gamma(["a", "b", "b"], 2.0).F, guidance_gamma([0, 1, 1], 2.0).F)


def test_unknown_labels_among_numbers_kept_as_objects():
    """Numbers in an array of objects guide as plain numbers do; None and -1 are unknown."""
    found = guidance_gamma(np.array([0, 3, None, -1, 3], dtype=object), 2.0)
    assert_allclose(found.F, guidance_gamma([0, 3, -1, -1, 3], 2.0).F)
    assert not found.F[2:4].any()


def test_numbers_and_words_among_labels_are_refused_in_words():
    """Labels that mix numbers and words have no order, so no classes: a ValueError says it."""
    with pytest.raises(ValueError, match=r"mix|numbers and words"):
        guidance_gamma(np.array(["a", 1, None, "b"], dtype=object), 1.0)


def test_a_gamma_is_scaled_and_added(rng):
    first, second = label_gamma([0, 1, 1, 2]), label_gamma([0, 0, 1, 1])
    found = 2 * first + second * -0.5
    expected = 2 * first.to_dense() - 0.5 * second.to_dense()
    assert_allclose(found.to_dense(), expected, atol=1e-15)
    with pytest.raises(TypeError):
        first * second


def test_labels_in_the_place_of_gamma_get_a_hint():
    for y in ([0, 1, 1], np.array(["a", "b", "b"])):
        with pytest.raises(ValueError, match=r"length 3: for class labels y pass label_gamma\(y\)"):
            as_gamma(y)


def test_useless_or_ambiguous_guidance_is_refused():
    with pytest.raises(ValueError, match="constant"):
        guidance_gamma(np.full((60, 2), 0.1), 1.0)  # 0.1 leaves rounding behind when centred
    with pytest.raises(ValueError, match="'-1' as text"):
        guidance_gamma(np.array(["a", "b", -1]), 1.0)
    for unknown in (np.full(3, -1), np.array([None] * 3)):
        with pytest.raises(ValueError, match="unknown for every sample"):
            guidance_gamma(unknown, 1.0)
    y = np.array([0, -1, 1, 1])
    with pytest.warns(DataConversionWarning):
        column = guidance_gamma(y[:, None], 1.0)
    assert_allclose(column.F, guidance_gamma(y, 1.0).F)


@pytest.mark.parametrize("sizes", [(3, 3), (1, 1, 3), (5, 2, 7, 1)])
def test_balanced_gamma_is_the_centred_projector_onto_the_classes(sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    Y, n = one_hot(y), len(y)
    H = np.eye(n) - 1 / n
    expected = H @ Y @ np.linalg.inv(Y.T @ Y) @ Y.T @ H
    assert_allclose(label_gamma(y, balanced=True).to_dense(), expected, atol=1e-12)
    between = y[:, None] != y
    assert (expected[between] < 0).all()


def test_gamma_is_centred():
    assert_allclose(label_gamma([0, 1, 1, 2, 1]) @ np.ones((5, 1)), 0, atol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_balanced_changes_nothing_for_two_classes(seed):
    """Claim new-two-classes: both Gammas are multiples of the squared distance of two means."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.random(rng.integers(3, 40)) < rng.uniform(0.02, 0.98)].astype(int)
    share = np.bincount(y)
    means = np.where(y == 0, 1 / share[0], -1 / share[1])
    for gamma in (label_gamma(y), label_gamma(y, balanced=True)):
        dense = gamma.to_dense()
        assert_allclose(dense / dense[0, 0], np.outer(means, means) / means[0] ** 2, atol=1e-12)
