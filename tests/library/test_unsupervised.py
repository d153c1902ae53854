"""The unsupervised estimator: bandwidths, and clusters that keep what was promised."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import normalized_mutual_info_score

from ismlit.estimators import clustering
from ismlit.estimators.kdac import KDAC
from ismlit.estimators.semisupervised import SemiSupervisedIKDR
from ismlit.estimators.unsupervised import UnsupervisedIKDR
from ismlit.kernels import Polynomial
from ismlit.objectives.affinity import Affinity


@pytest.mark.parametrize(
    "options", [dict(normalize="none", bandwidth="median"), dict()], ids=["as published", "ours"]
)
def test_clusters_of_wine_are_its_cultivars(wine, options):
    X, y = wine
    model = UnsupervisedIKDR(3, random_state=0, **options).fit(X)
    assert normalized_mutual_info_score(y, model.labels_) > 0.85
    assert model.result_.converged and model.embedding_.shape == (178, 3)
    assert_allclose(model.W_.T @ model.W_, np.eye(3), atol=1e-10)
    assert model.certificate().is_second_order


def test_the_bandwidth_kept_is_the_one_that_keeps_its_promise(rng, monkeypatch):
    """Nine shares promise; the two best are held against more turns, the third cannot win.

    The self-tuning kernel is far behind; the winner's end keeps what was promised.
    """
    promises, held = [0.1, 0.2, 0.9, 0.8, 0.55, 0.0, 0.0, 0.0, 0.0], [0.5, 0.6]
    values = iter([*promises, *held, 0.3, 0.6])
    monkeypatch.setattr(clustering, "embedding_silhouette", lambda U, labels: next(values))
    X = rng.standard_normal((40, 3)) + 4 * (np.arange(40) % 2)[:, None]
    model = UnsupervisedIKDR(2, random_state=0).fit(X)
    assert list(values) == [] and model.tried_["silhouette"].tolist() == promises
    assert model.kernel_.sigma == model.tried_["bandwidth"][3]


def test_where_the_best_falls_apart_in_the_end_a_lesser_promise_is_taken_up(wine, monkeypatch):
    """Of four the third is best and held, but its end has tiny clusters: the second serves."""
    promises, held, ends = [0.5, 0.9, 0.95, -1.0], [0.95, -1.0], [-1.0, 0.9]
    values = iter([*promises, *held, *ends])
    monkeypatch.setattr(clustering, "embedding_silhouette", lambda U, labels: next(values))
    model = UnsupervisedIKDR(3, random_state=0).fit(wine[0])
    assert list(values) == [] and model.kernel_.sigma == model.tried_["bandwidth"][1]


def test_a_bandwidth_that_breaks_its_promise_gives_way_to_the_next(wine, monkeypatch):
    """What a glimpse promised need not be where the alternation ends: the end is judged too."""
    X, _ = wine
    ends = {"solved": []}

    def spied(self, joint, columns, q, W):
        ends["solved"].append(joint.kernel)
        return solved(self, joint, columns, q, W)

    def judged(U, labels):  # on all rows, but not at the first bandwidth that is solved with
        value = silhouette(U, labels)
        return -1.0 if len(ends["solved"]) == 1 else value

    solved, silhouette = clustering.ClusteringIKDR._solved_with, clustering.embedding_silhouette
    monkeypatch.setattr(clustering.ClusteringIKDR, "_solved_with", spied)
    monkeypatch.setattr(clustering, "embedding_silhouette", judged)
    model = UnsupervisedIKDR(3, random_state=0).fit(X)
    assert len(ends["solved"]) == 2 and model.kernel_ is ends["solved"][1]


@pytest.mark.parametrize("kind", [UnsupervisedIKDR, KDAC])
def test_no_bandwidth_is_looked_at_beyond_the_one_where_clusters_fall_apart(
    kind, wine, monkeypatch
):
    """Whether a narrower one serves again is decided by rounding."""
    values = iter([0.5, 0.6, -1.0])
    monkeypatch.setattr(clustering, "embedding_silhouette", lambda U, labels: next(values, 0.4))
    model = kind(3, random_state=0).fit(wine[0])
    assert model.tried_["silhouette"].tolist() == [0.5, 0.6] + [-1.0] * 7


@pytest.mark.parametrize("kind", [UnsupervisedIKDR, KDAC])
def test_what_the_data_single_out_comes_before_a_better_silhouette(kind, wine, monkeypatch):
    """From k - 1 on the bound on the distance of clusterings as good says nothing, below it does.

    Where nothing is singled out the choice is the one by silhouettes alone, and it is said.
    """
    X, _ = wine
    width = lambda kernel: getattr(kernel, "sigma", "self-tuning")
    bounds, others = {}, 0.0
    bound = lambda self, labels: bounds.get(width(self.kernel), others)
    monkeypatch.setattr(Affinity, "ambiguity", bound)
    fit = lambda: kind(3, n_components=2, random_state=0).fit(X)
    plain = fit()
    best = width(plain.kernel_)
    bounds[best] = 1.99
    assert np.array_equal(fit().labels_, plain.labels_)
    bounds[best] = 2.0
    assert width(fit().kernel_) != best
    others = np.inf
    with pytest.warns(UserWarning, match="no bandwidth tried .* 3 clusters that X singles out"):
        assert np.array_equal(fit().labels_, plain.labels_)


@pytest.mark.filterwarnings("ignore:component", "ignore:column")
@pytest.mark.parametrize("draw", [0, 1])
def test_clusters_of_what_has_none_are_said_to_be_nothing(draw):
    """But not where labels say what the clusters are."""
    X = np.random.default_rng(draw).standard_normal((150, 2))
    with pytest.warns(UserWarning, match="no bandwidth tried gives UnsupervisedIKDR"):
        UnsupervisedIKDR(2, random_state=0).fit(X)
    SemiSupervisedIKDR(2, random_state=0).fit(X, (X[:, 0] > 0).astype(int))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n_clusters=200), "n_samples=178 should be >= n_clusters=200"),
        (dict(n_components=14), "at most 13, the number of directions"),
        (dict(kernel=Polynomial(3), normalize="degrees"), "positive row sums"),
    ],
)
def test_impossible_clusterings_are_refused(wine, options, message):
    with pytest.raises(ValueError, match=message):
        UnsupervisedIKDR(**options).fit(wine[0])
