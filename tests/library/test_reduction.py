import pickle

import numpy as np
import pandas as pd
import pytest
from library.problems import keep_the_contract
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.metrics import normalized_mutual_info_score, silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ismlit import datasets
from ismlit.estimators import clustering
from ismlit.estimators.kdac import KDAC
from ismlit.estimators.response import ResponseIKDR
from ismlit.estimators.semisupervised import SemiSupervisedIKDR
from ismlit.estimators.supervised import SupervisedIKDR
from ismlit.estimators.unsupervised import UnsupervisedIKDR
from ismlit.gamma import label_gamma
from ismlit.geometry.frames import principal_angles
from ismlit.kernels import Polynomial
from ismlit.objectives.affinity import Affinity
from ismlit.objectives.plain import Problem


@parametrize_with_checks(
    [
        SupervisedIKDR(1, init="taylor", ridge=np.inf),
        SupervisedIKDR(1, kernel="linear", ridge=np.inf),
        ResponseIKDR(1, n_slices=None, init="taylor", ridge=np.inf),
        UnsupervisedIKDR(bandwidth="median"),
        UnsupervisedIKDR(kernel="squared", normalize="none"),
        SemiSupervisedIKDR(bandwidth="median"),
    ]
)
@pytest.mark.filterwarnings("ignore:component", "ignore:no bandwidth")  # noise has no more
@pytest.mark.filterwarnings("ignore:y holds 3 known classes", "ignore:column")
def test_scikit_learn_contract(estimator, check):
    keep_the_contract(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:component", "ignore:no bandwidth")
@pytest.mark.filterwarnings("ignore:y holds 3 known classes", "ignore:column")
@parametrize_with_checks(
    [SupervisedIKDR(1, ridge=np.inf), UnsupervisedIKDR(), SemiSupervisedIKDR()]
)
def test_scikit_learn_contract_as_they_come(estimator, check):
    test_scikit_learn_contract(estimator, check)


@pytest.mark.parametrize(
    "kernel", ["linear", "squared", "polynomial", "gaussian", "multiquadratic"]
)
def test_wine_is_separated_by_two_components(kernel):
    X, y = load_wine().data, load_wine().target
    model = make_pipeline(
        StandardScaler(), SupervisedIKDR(2, kernel=kernel, ridge=np.inf), SVC()
    ).fit(X, y)
    assert model.score(X, y) > 0.97
    certificate = model[1].certificate()
    assert certificate.is_stationary and certificate.is_second_order


def test_finds_the_plane_of_the_rings():
    X, y, plane = datasets.make_rings(400, 6, random_state=0)
    W = SupervisedIKDR(2, bandwidth=1.0, init="random", random_state=1, ridge=np.inf).fit(X, y).W_
    assert principal_angles(W, plane).max() < 0.15  # sampling error of 400 points


def test_translation_does_not_matter_even_to_the_polynomial_kernel(rng):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    first = SupervisedIKDR(1, kernel="polynomial", ridge=np.inf).fit(X, y)
    second = SupervisedIKDR(1, kernel="polynomial", ridge=np.inf).fit(X + 50, y)
    assert principal_angles(first.W_, second.W_).max() < 1e-4
    assert_allclose(second.transform(X + 50), first.transform(X), atol=1e-4)


def test_unequal_classes_weigh_the_same_where_asked(rng):
    """The objective is that of the balanced Gamma, which differs where classes do."""
    X, y = rng.standard_normal((40, 4)), np.repeat([0, 1], [30, 10])
    model = SupervisedIKDR(1, class_weight="size", init="taylor", ridge=np.inf).fit(X, y)
    for balanced in (False, True):
        problem = Problem(X - X.mean(axis=0), label_gamma(y, balanced), model.kernel_)
        same = model.result_.objective == pytest.approx(problem.objective(model.W_))
        assert same == balanced


def test_numpy_s_bools_are_bools(rng):
    """A comparison of arrays gives numpy's own True, which says the same."""
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    SupervisedIKDR(1, init="taylor", verbose=np.False_, ridge=np.inf).fit(X, y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(n_components=4), "n_components = 4 must be at most 3, "),
        (dict(y=np.zeros(12)), "two classes"),
        (dict(X=np.ones((12, 3))), "duplicate rows"),
    ],
)
def test_bad_input_gets_a_clear_error(change, words, rng):
    data = dict(X=rng.standard_normal((12, 3)), y=np.arange(12) % 2)
    data |= {k: v for k, v in change.items() if k in data}
    parameters = {k: v for k, v in change.items() if k not in data}
    with pytest.raises(ValueError, match=words):
        SupervisedIKDR(**parameters, ridge=np.inf).fit(data["X"], data["y"])


# ---------------------------------------------------------------- without, or with few, labels


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


@pytest.mark.parametrize("kind", [UnsupervisedIKDR, SemiSupervisedIKDR, KDAC])
def test_underflow_far_from_all_rows_is_no_error(kind, rng):
    X, y = rng.standard_normal((60, 3)) + 9 * np.eye(3)[np.arange(60) % 3], np.arange(60) % 2
    with np.errstate(all="raise"):
        model = kind(3, random_state=0).fit(X, y)
        assert len(model.predict(X + 50)) == 60 and model.score(X) <= 1


GAPS = {
    "NaN": np.array([0, 1, np.nan] * 20),
    "NaN in single precision": np.array([0, 1, np.nan] * 20, dtype="f4"),
    "None": np.array([0, 1, None] * 20),
    "NaN among words": np.array(["a", "b", np.nan] * 20, dtype=object),
    "NA": pd.Series([0, 1, pd.NA] * 20, dtype="Int64"),
    "NA among words": pd.Series(["a", "b", pd.NA] * 20, dtype="string"),
    "NA among bools": pd.Series([False, True, pd.NA] * 20, dtype="boolean"),
    "NA among objects": pd.Series(["a", "b", pd.NA] * 20, dtype=object),
    "of categories": pd.Series(pd.Categorical([0, 1, None] * 20)),
}


@pytest.mark.parametrize("gap", GAPS)
def test_every_kind_of_gap_says_that_a_label_is_not_known(gap, rng):
    X = rng.standard_normal((60, 2)) + 6 * (np.arange(60) % 3 == 1)[:, None]
    options = dict(n_clusters=2, bandwidth="median", random_state=0)
    plain = SemiSupervisedIKDR(**options).fit(X, [0, 1, -1] * 20)
    model = SemiSupervisedIKDR(**options).fit(X, GAPS[gap])
    assert np.array_equal(model.labels_, plain.labels_) and len(model.classes_) == 2
    assert set(model.transduction_) == set(model.classes_)


def test_known_labels_help_where_noise_hides_the_clusters(wine, rng):
    X, y = wine
    X = np.hstack([X, 1.5 * rng.standard_normal((178, 12))])
    known = np.where(rng.random(178) < 0.25, y, -1)
    rest = known == -1
    score = lambda weight: normalized_mutual_info_score(
        y[rest],
        SemiSupervisedIKDR(3, weight=weight, random_state=0).fit(X, known).labels_[rest],
    )
    assert score(1.0) > score(0.0) + 0.1


def test_no_labels_are_no_guidance(wine):
    X, _ = wine
    alone = SemiSupervisedIKDR(3, random_state=0).fit(X)
    unguided = UnsupervisedIKDR(3, normalize="degrees", random_state=0).fit(X)
    assert_allclose(alone.W_, unguided.W_)


def test_fit_predict_does_not_drop_the_labels(wine):
    X, y = wine
    model = SemiSupervisedIKDR(3, weight=100.0, random_state=0)
    labels, by_fit = model.fit_predict(X, y), model.fit(X, y).labels_
    assert np.array_equal(labels, by_fit)
    assert not np.array_equal(labels, model.fit(X).labels_)


def test_scores_guide_as_their_labels_do(wine):
    X, y = wine
    by_label = SemiSupervisedIKDR(3, bandwidth="median", random_state=0).fit(X, y)
    by_score = SemiSupervisedIKDR(3, bandwidth="median", random_state=0).fit(X, np.eye(3)[y])
    assert_allclose(by_label.W_, by_score.W_, atol=1e-8)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(178, -1), "unknown"),
        (
            np.where(np.arange(178) < 9, 2, -1),
            "holds one class alone, 2, in the 9 rows",
        ),
        (np.ones((178, 2)), "constant"),
    ],
)
def test_useless_guidance_is_refused(wine, y, message):
    with pytest.raises(ValueError, match=message):
        SemiSupervisedIKDR(3).fit(wine[0], y)


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


def test_a_promise_is_the_mean_of_silhouette_and_agreement(rng):
    """The agreement under the better of the two ways to name two clusters."""
    U = np.repeat([-1.0, 1.0], 20)[:, None] + 0.3 * rng.standard_normal((40, 1))
    labels = (U[:, 0] > 0).astype(int)
    model = SemiSupervisedIKDR(2)
    model._given = np.where(np.arange(40) % 3 == 0, np.arange(40) % 2, -1)
    known = model._given >= 0
    named = [np.mean(labels[known] == model._given[known]) for labels in (labels, 1 - labels)]
    expected = (silhouette_score(U, labels) + max(named)) / 2
    assert model._promise(U, labels, np.arange(40)) == pytest.approx(expected, abs=1e-3)
    model._given = np.full(40, -1)  # nothing known
    assert model._promise(U, labels, np.arange(40)) == round(silhouette_score(U, labels), 3)


def test_training_data_is_neither_changed_nor_kept(rng):
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    before = X.copy()
    model = SupervisedIKDR(1, ridge=np.inf).fit(X, y)
    assert np.array_equal(X, before)
    Z = model.transform(X)
    assert model.result_.problem is None and len(pickle.dumps(model)) < 20_000
    X[:] = 0
    assert_allclose(model.transform(before), Z)
