"""The estimators on data of other people's: what they get right, and what they say when not."""

import warnings

import numpy as np
import pytest
import sklearn
from library.problems import unsettled
from numpy.testing import assert_allclose
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    make_circles,
    make_moons,
)
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, normalized_mutual_info_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from ismlit import (
    KDAC,
    Gaussian,
    KernelDependenceNetwork,
    Linear,
    Polynomial,
    Problem,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    centre,
    certify,
    datasets,
    ism,
    label_gamma,
    median_distance,
)

ALL = [
    SupervisedIKDR,
    UnsupervisedIKDR,
    SemiSupervisedIKDR,
    KDAC,
    KernelDependenceNetwork,
]
SAID = "predict", "predict_proba", "predict_log_proba", "reconstruct", "images", "gram"
WITH_CLASSES = [SupervisedIKDR, SemiSupervisedIKDR, KDAC, KernelDependenceNetwork]


@pytest.fixture
def two_groups(rng):
    return np.vstack([rng.normal(0, 1, (20, 3)), rng.normal(4, 1, (20, 3))]), np.repeat([0, 1], 20)


def fitted(estimator, X, y, **options):
    """Away from two groups KDAC finds no clusters that these rows single out, and says so."""
    with warnings.catch_warnings():
        if estimator is KDAC:
            warnings.filterwarnings("ignore", "no bandwidth tried gives KDAC")
        return estimator(**dict(random_state=0) | options).fit(X, y)


# ---------------------------------------------------------------- containers and labels


@pytest.mark.parametrize("estimator", ALL)
def test_pandas_goes_in_and_comes_out(estimator, two_groups):
    pd = pytest.importorskip("pandas")
    X, y = two_groups
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(40) + 100)
    with sklearn.config_context(transform_output="pandas"):
        model = fitted(estimator, frame, pd.Series(y, index=frame.index))
        out = model.transform(frame)
        assert isinstance(out, pd.DataFrame) and list(out.index) == list(frame.index)
        assert list(out.columns) == list(model.get_feature_names_out())
        told = {name: getattr(model, name)(frame) for name in SAID if hasattr(model, name)}
        if estimator is KernelDependenceNetwork:
            told["first images"] = model.images(frame, layer=1)
    assert_allclose(out.to_numpy(), model.transform(frame))
    for name, value in told.items():
        options = dict(layer=1) if name == "first images" else {}
        assert isinstance(value, np.ndarray)
        assert_allclose(value, getattr(model, name.removeprefix("first "))(frame, **options))


@pytest.mark.parametrize("estimator", WITH_CLASSES)
@pytest.mark.parametrize(
    "words", [np.array(["no", "yes"]), np.array([False, True]), np.array(["no", "yes"], object)]
)
def test_classes_may_be_words_or_bools(estimator, words, two_groups):
    X, y = two_groups
    by_number, by_word = fitted(estimator, X, y), fitted(estimator, X, words[y])
    assert_allclose(by_word.transform(X), by_number.transform(X))
    if estimator is KernelDependenceNetwork:
        assert np.array_equal(by_word.predict(X), words[by_number.predict(X)])


@pytest.mark.parametrize("estimator", [SupervisedIKDR, KernelDependenceNetwork])
def test_a_regression_target_is_refused(estimator, rng):
    X = rng.standard_normal((60, 3))
    with pytest.raises(ValueError, match=r"Unknown label type.*ResponseIKDR"):
        estimator().fit(X, X[:, 0])
    with (
        warnings.catch_warnings(),
        pytest.raises(ValueError, match=r"60 distinct numbers in 60 samples.*response"),
    ):
        warnings.simplefilter("ignore")  # scikit-learn wonders as well
        estimator().fit(X, rng.permutation(60))
    with pytest.raises(ValueError, match=r"214 distinct numbers in 442 samples"):
        estimator().fit(*load_diabetes(return_X_y=True))


def test_log_probabilities_stay_finite_where_probabilities_vanish(two_groups):
    X, y = two_groups
    network = KernelDependenceNetwork().fit(X, y)
    assert_allclose(np.exp(network.predict_log_proba(X)), network.predict_proba(X))
    far = np.array([[1e5, 0.0, 0.0], [-1e5, 0.0, 0.0]])
    assert np.isfinite(network.predict_log_proba(far)).all()


# ---------------------------------------------------------------- first mistakes


def test_unscaled_data_converge_but_leave_a_component_that_says_nothing():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(UserWarning, match="component 1 of SupervisedIKDR hardly varies"):
        model = SupervisedIKDR(2, bandwidth="median", init="taylor", ridge=np.inf).fit(X, y)
    assert model.converged_ and model.certificate().is_second_order


def test_a_far_origin_is_said(two_groups):
    X, y = two_groups
    with pytest.warns(UserWarning, match=r"depends on the origin.*X - X.mean"):
        ism(X + 100, label_gamma(y), Polynomial(2), 1)
    ism(centre(X), label_gamma(y), Polynomial(2), 1)
    ism(X + 100, label_gamma(y), Gaussian(5.0), 1)  # sees differences only
    ism(X + 100, label_gamma(y), Linear(), 1)  # a centred Gamma takes the origin out


@pytest.mark.parametrize("d", [3, 60])
def test_a_bad_init_is_called_init(d, rng):
    """Also where more features than samples lead through another space."""
    X, y, bad = rng.standard_normal((20, d)), np.arange(20) % 2, np.ones((d, 2))
    for solve in (
        lambda: ism(X, label_gamma(y), Gaussian(1.0), 2, init=bad),
        lambda: SupervisedIKDR(2, init=bad).fit(X, y),
        lambda: UnsupervisedIKDR(2, 2, init=bad, bandwidth="median").fit(X),
        lambda: SemiSupervisedIKDR(2, 2, init=bad, bandwidth="median").fit(X, y),
        lambda: KDAC(2, 2, init=bad, bandwidth="median").fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"^init must have orthonormal columns; init'init - I"):
            solve()


# ---------------------------------------------------------------- as they come


def neighbours(reduce, X, y):
    made = make_pipeline(StandardScaler(), reduce, KNeighborsClassifier(5))
    return cross_val_score(made, X, y, cv=5).mean()


def test_curved_classes_are_found_in_a_turned_plane():
    X, y, _ = datasets.make_rings(300, 10, random_state=0)
    ours = neighbours(SupervisedIKDR(2), X, y)
    published = neighbours(SupervisedIKDR(2, bandwidth="median", init="taylor", ridge=np.inf), X, y)
    assert ours > 0.98 and ours > published + 0.05


@pytest.mark.parametrize("shape", ["moons", "rings"])
def test_curved_clusters_are_found_without_labels(shape):
    make = dict(moons=make_moons, rings=make_circles)[shape]
    options = dict(factor=0.4) if shape == "rings" else {}
    X, y = make(200, noise=0.05, random_state=0, **options)
    labels = UnsupervisedIKDR(2, random_state=0).fit_predict(scale(X))
    assert normalized_mutual_info_score(y, labels) == 1.0


def test_a_curved_second_clustering_is_found():
    X, known, sought = datasets.make_two_views(200, random_state=0)
    model = KDAC(2, random_state=0).fit(scale(X), known)
    assert normalized_mutual_info_score(sought, model.labels_) > 0.9
    assert 0 < model.kernel_.sigma < median_distance(scale(X))
    assert len(model.tried_["bandwidth"]) == len(model.tried_["silhouette"]) > 1


@unsettled
def test_a_network_of_a_few_columns_is_still_a_classifier(two_groups):
    X, y = two_groups
    assert accuracy_score(y, KernelDependenceNetwork(n_components=1).fit(X, y).predict(X)) > 0.9


def test_certify_takes_what_there_is(two_groups):
    X, y = two_groups
    with pytest.raises(NotFittedError, match="not fitted"):
        certify(SupervisedIKDR(1))
    problem = Problem(X, label_gamma(y), Gaussian(3.0))
    frame = np.linalg.qr(np.ones((3, 1)))[0]
    found = certify(problem, 20 * np.ones((3, 1)))
    assert not found.is_orthonormal and "of the span of W" in str(found)
    assert found.residual == pytest.approx(certify(problem, frame).residual, rel=1e-9)


def test_labels_in_the_place_of_gamma(two_groups):
    X, y = two_groups
    with pytest.raises(ValueError, match=r"label_gamma\(y\)"):
        ism(X, y, Gaussian(1.0), 1)
