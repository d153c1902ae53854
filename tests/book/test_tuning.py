"""The settings of KDAC by the rules of section 3.5."""

import warnings

import numpy as np
import pytest
from ismlit_book.methods.tuning import _preference, search
from numpy.testing import assert_allclose
from sklearn.metrics import normalized_mutual_info_score, silhouette_score
from sklearn.preprocessing import scale

from ismlit import datasets
from ismlit.bandwidth import median_distance
from ismlit.dependence import normalized_hsic
from ismlit.grams import gram
from ismlit.kernels import Gaussian


@pytest.fixture
def views():
    X, known, other = datasets.make_four_gaussians(120, 4, random_state=0)
    return scale(X), known, other


def test_search_follows_its_rule(views):
    X, known, other = views
    options = dict(sigmas=(0.1, 1.0, 4.0), penalties=(1.0, 4.0), random_state=0)
    found = search(X, known, 2, **options)
    rows = found.rows
    assert len(rows) == 6 and found.best == np.argmax([row["silhouette"] for row in rows])
    model = found.model
    apart = silhouette_score(model.embedding_, model.labels_)
    assert found.chosen["silhouette"] == round(float(apart), 3)
    aligned = search(X, known, 2, rule="alignment", **options)
    assert aligned.best == np.argmax([row["alignment"] for row in rows])
    assert found.model.kernel_.sigma == found.chosen["sigma"]
    assert normalized_mutual_info_score(other, found.model.labels_) > 0.9
    thesis = search(X, known, 2, rule="thesis", **options)
    bounds = np.array([row["bound"] for row in thesis.rows])
    assert (bounds < 1).all() and thesis.best == np.argmax(bounds)
    assert thesis.model.W_.shape[1] == thesis.chosen["q by gap"]
    with pytest.raises(ValueError, match="rule must be"):
        search(X, known, rule="best")
    with pytest.raises(ValueError, match="far too small"):
        search(X, known, sigmas=[1e-9])


@pytest.mark.parametrize("q", [1, 2])
def test_the_bound_is_that_of_the_frozen_problem(views, q):
    """(3.10) by two loops over the pairs, its gap between W and what is off W."""
    X, known, _ = views
    X, known = X[:30], known[:30]
    options = dict(n_components=q, sigmas=[1.0], penalties=[2.0], random_state=0)
    row = search(X, known, 2, **options)
    W, model = row.model.W_, row.model
    K = gram(Gaussian(1.0), X, W)
    D = K.sum(axis=1)
    H = np.eye(30) - 1 / 30
    Y = H @ np.eye(2)[known]
    U = model.embedding_
    inner = U @ U.T - 2.0 * Y @ Y.T / np.linalg.norm(Y, 2) ** 2
    gamma = H @ inner @ H / np.sqrt(np.outer(D, D))
    phi, right = np.zeros((4, 4)), 0.0
    for i in range(30):
        for j in range(30):
            A = np.outer(X[i] - X[j], X[i] - X[j])
            phi += gamma[i, j] * K[i, j] * A  # of (3.8), sigma = 1
            right += abs(gamma[i, j]) * K[i, j] * np.trace(A.T @ A)
    W_bar = np.linalg.svd(W)[0][:, q:]
    left = np.linalg.eigvalsh(W_bar.T @ phi @ W_bar)[0] - np.linalg.eigvalsh(W.T @ phi @ W)[-1]
    assert row.chosen["bound"] == pytest.approx(left / right, rel=1e-6)
    values = np.linalg.eigvalsh(phi)  # rising; the useful ones are negative in this sign
    gaps = np.diff(values)[: max((values < 0).sum(), 1)]
    assert row.chosen["q by gap"] == np.argmax(gaps) + 1
    normalised = K / np.sqrt(np.outer(D, D))
    agreement = [normalized_hsic(normalised, y) for y in (model.labels_, known)]
    assert row.chosen["alignment"] == pytest.approx(agreement[0] - agreement[1], rel=1e-6)


def test_preference_of_each_rule():
    """Rows made by hand, so that every branch decides once."""
    rows = [
        dict(alignment=0.1, silhouette=0.5, bound=0.2, quality=0.9),
        dict(alignment=0.3, silhouette=0.6, bound=0.5, quality=0.4),
        dict(alignment=0.2, silhouette=0.8, bound=1.5, quality=0.3),
        dict(alignment=0.0, silhouette=-1, bound=1.1, quality=0.6),
    ]
    best = lambda rule, rows: max(range(len(rows)), key=lambda i: _preference(rows[i], rule))
    assert best("alignment", rows) == 1
    assert best("silhouette", rows) == 2
    assert best("thesis", rows) == 3  # met, and of those the highest quality
    assert best("thesis", rows[:2]) == 1  # not met: the closest


def test_thesis_rule_keeps_q_where_the_bound_is_met():
    rng = np.random.default_rng(0)
    X = np.c_[6.0 * (np.arange(60) % 2), rng.standard_normal(60), rng.standard_normal(60)]
    known = np.arange(60) // 2 % 2
    found = search(X, known, 2, n_components=1, sigmas=[40.0], penalties=[0.0], rule="thesis")
    assert found.chosen["bound"] >= 1 and found.model.W_.shape == (3, 1)


def test_search_in_parallel_is_the_same_and_leaves_warnings_alone(views):
    X, known, _ = views
    options = dict(sigmas=(1.0, 4.0), penalties=(1.0,), random_state=0)
    before = list(warnings.filters)
    alone, both = (search(X, known, 2, n_jobs=jobs, **options) for jobs in (None, 2))
    assert list(warnings.filters) == before
    for a, b in zip(alone.rows, both.rows):
        assert {k: v for k, v in a.items() if k != "labels"} == pytest.approx(
            {k: v for k, v in b.items() if k != "labels"}
        )


def test_default_bandwidths_are_halves_of_the_median(views):
    X, known, _ = views
    found = search(X, known, 2, penalties=[2.0], random_state=0)
    sigmas = np.array([row["sigma"] for row in found.rows])
    assert_allclose(sigmas / median_distance(X), 2.0 ** np.arange(1, -6, -1), rtol=1e-12)


def test_search_skips_what_cannot_be_fitted_and_refuses_nonsense(views):
    X, known, _ = views
    found = search(X, known, 2, sigmas=[1e9, 1.0, 1e-9], penalties=[2.0], random_state=0)
    assert [row["sigma"] for row in found.rows] == [1.0]
    for change, words in (
        (dict(y=None), "needs a known clustering"),
        (dict(n_clusters=1), "at least 2 clusters"),
        (dict(sigmas=[]), "at least one number"),
        (dict(X=X[:, :1]), "minimum of 2"),
    ):
        with pytest.raises(ValueError, match=words):
            search(**(dict(X=X, y=known, n_clusters=2) | change))


def test_agreement_by_alignment_does_not_grow_as_sigma_shrinks(views):
    X, known, _ = views
    found = search(X, known, 2, sigmas=(0.02, 1.0), penalties=(2.0,), random_state=0)
    tiny, fit = found.rows[0], found.rows[1]
    assert tiny["quality"] > fit["quality"] and tiny["alignment"] < fit["alignment"]
