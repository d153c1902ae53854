"""What a user meets first: copies, displays, mistakes in the data, labels that are rare or few."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from library.problems import unsettled
from numpy.testing import assert_allclose
from sklearn.datasets import (
    load_diabetes,
    load_iris,
    make_blobs,
    make_classification,
)
from sklearn.linear_model import LinearRegression
from sklearn.metrics import adjusted_rand_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from ismlit import (
    KDAC,
    Gaussian,
    KernelDependenceNetwork,
    Linear,
    Problem,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    certify,
    ism,
    label_gamma,
)
from ismlit.bandwidth import self_tuning_kernel
from ismlit.geometry.frames import principal_angles, projector_distance
from ismlit.grams import ConstantKernelError, gram

ALL = {
    "supervised": lambda X, y: SupervisedIKDR(2).fit(X, y),
    "features": lambda X, y: SupervisedIKDR(2, random_features=32, random_state=0).fit(X, y),
    "response": lambda X, y: ResponseIKDR(1).fit(X, X[:, 0]),
    "unsupervised": lambda X, y: UnsupervisedIKDR(3, random_state=0).fit(X),
    "semi": lambda X, y: SemiSupervisedIKDR(3, random_state=0).fit(X, y),
    "kdac": lambda X, y: KDAC(2, bandwidth="median", random_state=0).fit(X, y),
    "network": lambda X, y: KernelDependenceNetwork().fit(X, y),
}

# ---------------------------------------------------------------- copies and displays


@unsettled
@pytest.mark.parametrize("fitted", ALL.values(), ids=ALL)
def test_a_saved_or_copied_model_can_be_shown(wine, fitted):
    model = fitted(*wine)
    in_pipeline = make_pipeline(StandardScaler(), model)
    for twin in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert "<" in twin._repr_html_()
        assert inspect.getmembers(twin) and hasattr(twin, "n_iter_")
    assert "<" in in_pipeline._repr_html_()


def test_to_show_a_model_tests_nothing(wine):
    model = SupervisedIKDR(2).fit(*wine)
    passes = model.training_problem().count.passes
    model._repr_html_()
    inspect.getmembers(model)
    assert model.training_problem().count.passes == passes


def test_a_copy_in_the_same_process_can_be_certified(wine):
    model = SupervisedIKDR(2).fit(*wine)
    assert copy.deepcopy(model).certificate() == model.certificate()


# ---------------------------------------------------------------- directions that are not there


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 10))]
)
def test_columns_that_say_nothing_new_change_nothing(seed, wine):
    """Constant columns and sums of others add no direction: W ends on the same projection."""
    rng, (X, y) = np.random.default_rng(seed), wine
    more = np.c_[X, np.full(len(X), 7.0), X @ rng.standard_normal((13, 3)), np.zeros(len(X))]
    model = SupervisedIKDR(2, bandwidth=3.0, init="taylor", ridge=np.inf).fit(more, y)
    Z = model.transform(more)
    assert Z.std(axis=0).min() > 0.1
    assert abs(model.W_[[13, 17]]).max() < 1e-10
    assert model.certificate().is_maximum
    # the same objective, by the sum over all pairs
    K = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / (2 * 3.0**2))
    assert_allclose(np.sum(label_gamma(y).to_dense() * K), model.result_.objective, rtol=1e-9)
    assert_allclose(model.W_.T @ model.W_, np.eye(2), atol=1e-10)


def test_an_array_to_start_from_is_seen_in_the_span(wine):
    X = np.c_[wine[0], np.ones(178)]
    W = SupervisedIKDR(2, bandwidth=3.0).fit(X, wine[1]).W_
    again = SupervisedIKDR(2, bandwidth=3.0, init=W).fit(X, wine[1])
    assert again.n_iter_ <= 2
    assert_allclose(abs(again.W_), abs(W), atol=1e-4)


def test_a_component_that_is_nothing_is_said(wine):
    with pytest.warns(UserWarning, match="component . of ism hardly varies"):
        ism(wine[0][:, :1] * [[1.0, -2.0]], label_gamma(wine[1]), "gaussian", 2)


# ---------------------------------------------------------------- classes of unequal size


@pytest.mark.parametrize("seed", range(4))
def test_rare_positives_are_not_given_up(seed):
    X, y = make_classification(
        900, 20, n_informative=6, weights=[0.95], flip_y=0, random_state=seed
    )
    model = KernelDependenceNetwork().fit(scale(X)[::2], y[::2])
    found = model.predict(scale(X)[1::2])
    assert balanced_accuracy_score(y[1::2], found) > 0.55 and 1 in found
    assert model.baseline_score_ == pytest.approx(0.5)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_decision_function_decides(classes):
    X, y = make_classification(120, 6, n_informative=4, n_classes=classes, random_state=0)
    model = KernelDependenceNetwork().fit(X, y)
    scores = model.decision_function(X)
    by_score = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    assert np.array_equal(model.classes_[by_score], model.predict(X))


def test_single_precision_stays_single(wine):
    X, y = wine[0].astype("float32"), wine[1]
    assert KernelDependenceNetwork().fit(X, y).transform(X).dtype == np.float32


# ---------------------------------------------------------------- labels of some samples


@pytest.mark.parametrize("seed", range(5))
def test_labels_that_are_given_are_kept_and_named(seed, wine):
    X, y = wine
    rng = np.random.default_rng(seed)
    words = np.array(["barolo", "grignolino", "barbera"], dtype=object)[y]
    given = words.copy()
    given[rng.random(178) > 0.15] = None
    known = np.array([word is not None for word in given])
    model = SemiSupervisedIKDR(random_state=0).fit(X, given)
    assert sorted(model.classes_) == ["barbera", "barolo", "grignolino"]
    assert (model.transduction_[known] == words[known]).all()
    assert (model.transduction_ == words).mean() > 0.7  # of 20 labels; the median is 0.95
    assert (model.predict(X) == model.transduction_).mean() > 0.9


def test_every_known_class_has_a_cluster(wine):
    """Also where fewer were asked for, which is said."""
    X, y = wine
    with pytest.warns(UserWarning, match="3 known classes, more than n_clusters = 2"):
        model = SemiSupervisedIKDR(2, bandwidth="median", random_state=0).fit(X, y)
    assert np.array_equal(model.transduction_, y) and model.embedding_.shape == (178, 3)


def test_a_cluster_of_no_known_class_has_no_name():
    X, y = make_blobs(150, 4, centers=3, cluster_std=1.5, random_state=3)
    given = np.where((y < 2) & (np.arange(150) % 4 == 0), y, -1)
    model = SemiSupervisedIKDR(3, random_state=0).fit(scale(X), given)
    assert np.array_equal(model.transduction_, np.where(y < 2, y, -1))


# ---------------------------------------------------------------- clusters of new rows


@pytest.mark.parametrize("normalize", ["none", "degrees", "centred"])
def test_new_rows_get_the_cluster_of_their_neighbours(wine, normalize):
    X, y = wine
    model = UnsupervisedIKDR(3, normalize=normalize, random_state=0).fit(X[::2])
    assert (model.predict(X[::2]) == model.labels_).mean() > 0.95
    both = adjusted_rand_score(y[1::2], model.predict(X[1::2]))
    assert both > adjusted_rand_score(y[::2], model.labels_) - 0.15
    assert model.score(X[1::2]) > 0.5


@pytest.mark.filterwarnings("ignore")
def test_a_search_needs_no_scorer_of_its_own(wine):
    X, y = wine
    found = GridSearchCV(SupervisedIKDR(init="taylor"), {"bandwidth": [0.01, 3.0]}, cv=3).fit(X, y)
    assert found.best_params_ == {"bandwidth": 3.0}
    mixed = X[np.random.default_rng(0).permutation(len(X))]  # the rows come sorted by class
    found = GridSearchCV(UnsupervisedIKDR(3, random_state=0), {"bandwidth": [0.05, 2.0]}, cv=2)
    assert found.fit(mixed).best_params_ == {"bandwidth": 2.0}


def test_where_no_bandwidth_serves_it_is_said():
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((60, 2)) * 0.01, [[50.0, 50.0]]]  # one row far from all
    with pytest.warns(UserWarning, match="no bandwidth tried gives UnsupervisedIKDR"):
        model = UnsupervisedIKDR(2, random_state=0).fit(X)
    assert (model.tried_["silhouette"] == -1).all()
    assert np.array_equal(model.predict(X), model.labels_)


def test_a_constant_kernel_is_refused_everywhere(wine):
    X, y = wine
    for model in (
        SupervisedIKDR(2, bandwidth=1e12),
        UnsupervisedIKDR(3, bandwidth=1e12),
        SemiSupervisedIKDR(3, bandwidth=1e12),
        KDAC(2, bandwidth=1e12),
    ):
        with pytest.raises(ConstantKernelError):
            model.fit(X, y)
    with pytest.raises(ConstantKernelError, match="its limit"):
        ism(X, label_gamma(y), Gaussian(1e9), 2)
    wide = ism(X, label_gamma(y), Gaussian(1e6), 2).W  # wide, and yet no constant
    assert principal_angles(wide, ism(X, label_gamma(y), Linear(), 2).W).max() < 1e-3
    for bandwidth in (1e12, 1e-12):
        with pytest.raises(ValueError, match=r"sigma|bandwidth"):
            KernelDependenceNetwork(bandwidth=bandwidth).fit(X, y)


# ---------------------------------------------------------------- a response


@pytest.mark.parametrize("seed", range(5))
def test_a_response_finds_what_it_depends_on(seed):
    """Where it is even in a direction every slice has the mean 0, and SIR sees nothing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 6))
    W = ResponseIKDR(2).fit(X, X[:, 1] ** 2 + X[:, 4] + 0.1 * rng.standard_normal(300)).W_
    assert np.linalg.norm(W[[1, 4]], 2) > 0.98 and np.linalg.norm(W[[0, 2, 3, 5]]) < 0.35


def test_a_response_in_a_pipeline_and_its_score():
    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), ResponseIKDR(2), LinearRegression()).fit(X, y)
    assert model.score(X, y) > 0.4
    assert 0.05 < model[:-1].score(X, y) < 1
    with pytest.raises(ValueError, match="use ResponseIKDR"):
        SupervisedIKDR(2).fit(X, y)
    with pytest.raises(ValueError, match="y is constant"):
        ResponseIKDR(2).fit(X, np.ones(len(X)))


# ---------------------------------------------------------------- words and watching


def test_a_kernel_may_be_a_name(wine):
    X, y = wine
    named = ism(X, label_gamma(y), "gaussian", 2)
    assert isinstance(named.problem.kernel, Gaussian)
    assert_allclose(
        named.objective, ism(X, label_gamma(y), named.problem.kernel, 2).objective, rtol=1e-12
    )


def test_the_parameters_of_a_kernel_can_be_searched(wine):
    X, y = wine
    model = SupervisedIKDR(2, kernel=Gaussian(1.0), init="taylor")
    assert model.get_params()["kernel__sigma"] == 1.0
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    found = GridSearchCV(model, {"kernel__sigma": [0.01, 3.0]}, cv=folds).fit(X, y)
    assert found.best_params_ == {"kernel__sigma": 3.0}
    assert model.kernel == Gaussian(1.0)
    kernel = model.kernel
    assert model.set_params(kernel__sigma=2.0).kernel == Gaussian(2.0)
    assert kernel == Gaussian(1.0)  # which others may hold
    with pytest.raises(ValueError, match=r"is 'gaussian', which has no parameter 'sigma'"):
        SupervisedIKDR().set_params(kernel__sigma=2.0)
    with pytest.raises(ValueError, match=r"Gaussian.* has no parameter 'c'"):
        model.set_params(kernel__c=2.0)


@pytest.mark.parametrize(
    "fitted", [SupervisedIKDR, UnsupervisedIKDR], ids=lambda kind: kind.__name__
)
def test_a_long_fit_can_be_watched(fitted, wine, capsys):
    heights = []
    watching = dict(callback=lambda at: heights.append(at.J), verbose=True)
    fitted(3, bandwidth=1.0, init="taylor", **watching).fit(*wine)
    assert len(heights) >= 2 and heights[-1] == pytest.approx(max(heights))
    assert capsys.readouterr().out.count("J = ") == len(heights)


def told_to_stop(model, call, *given):
    """The model fitted with a callback that returns True once, and what that has been shown."""
    told = []
    return model.set_params(callback=lambda at: told.append(at) or len(told) == call).fit(
        *given
    ), told


def test_a_fit_that_is_told_to_stop_keeps_the_last_step(wine):
    """And says nothing: warnings are errors here. A second fit goes on to the end."""
    model, told = told_to_stop(SupervisedIKDR(2, init="random", random_state=0), 3, *wine)
    assert len(told) == 3 == len(model.history_["objective"]) and model.n_iter_ == 2
    assert not model.converged_ and model.result_.message == "the callback returned True"
    assert projector_distance(model.W_, told[-1].W) < 1e-7
    assert model.set_params(callback=None).fit(*wine).converged_


@pytest.mark.parametrize(("call", "q"), [(2, 1), (7, 1), (15, 2)])
def test_a_search_for_components_that_is_told_to_stop_takes_what_is_scored(call, q, wine):
    """Of 1, 2, ... components with five scores each; then the first start is the answer."""
    model, told = told_to_stop(SupervisedIKDR("auto", tol=1e-3), call, *wine)
    assert len(told) == call and told[-1].stage.startswith("n_components = ")
    assert len(model.component_scores_) == call // 5 and model.n_components_ == q
    assert model.result_.starts.tried == 1 and not model.converged_


@pytest.mark.parametrize("kind", [UnsupervisedIKDR, KDAC], ids=lambda kind: kind.__name__)
def test_a_clustering_that_is_told_to_stop_ends_with_the_turn(kind, wine):
    """And tries no other bandwidth."""
    model, told = told_to_stop(kind(3, random_state=0), 1, wine[0])
    assert len(told) == 1 and model.n_iter_ == 1 and len(model.labels_) == 178


@pytest.mark.parametrize("fitted", [UnsupervisedIKDR, KDAC], ids=lambda kind: kind.__name__)
def test_the_bandwidths_that_a_clustering_tries_can_be_watched(fitted, wine, capsys):
    """With a column that others determine W is solved for in fewer, and shown in all of them."""
    seen = []
    X = np.c_[wine[0][:, :4], wine[0][:, :4].sum(axis=1)]
    model = fitted(2, verbose=True, callback=seen.append, random_state=0).fit(X)
    said = capsys.readouterr().out
    served = model.tried_["silhouette"] > -1
    assert all(f"bandwidth {sigma:.3g}, " in said for sigma in model.tried_["bandwidth"][served])
    assert all(at.W.shape == (5, 2) and len(at.U) == 178 for at in seen) and seen


def test_a_certificate_of_a_given_w_sees_all_features(wine):
    X = np.c_[wine[0], np.ones(178)]
    model = SupervisedIKDR(2, bandwidth=3.0).fit(X, wine[1])
    assert certify(model, model.W_).is_maximum
    assert certify(Problem(X, label_gamma(wine[1]), model.kernel_), model.W_).is_stationary


def test_columns_of_numbers_and_of_words_are_known_together():
    X, y = load_iris(return_X_y=True)
    known = np.empty((150, 2), dtype=object)
    known[:, 0], known[:, 1] = y, np.array(["a", "b"])[np.arange(150) % 2]
    model = KDAC(2, 2, bandwidth="median", random_state=0).fit(scale(X), known)
    assert 0 <= model.known_nmi_ <= 1


# ---------------------------------------------------------------- what misled


def test_a_network_as_good_as_one_class_says_so():
    """Its accuracy and that of one class are sums of the same numbers in another order."""
    X, y = np.random.default_rng(0).standard_normal((745, 5)), (np.arange(745) < 30).astype(int)
    with pytest.warns(UserWarning, match="no better .* than by one class for all"):
        KernelDependenceNetwork(class_weight=None).fit(X, y)


def test_equal_weights_change_nothing_and_unequal_ones_not_everything():
    X, y = make_blobs(600, 3, centers=3, random_state=0, cluster_std=2)
    found = {}
    for w in (None, 1, 10):
        weight = None if w is None else {0: w, 1: 1, 2: 1}
        found[w] = KernelDependenceNetwork(class_weight=weight).fit(scale(X), y).predict(scale(X))
    assert np.array_equal(found[None], found[1])
    assert (found[10] == 0).sum() > (found[1] == 0).sum()
    assert balanced_accuracy_score(y, found[10]) > 0.85


@pytest.mark.filterwarnings("ignore:column 0 of X makes", "ignore:no bandwidth")
def test_where_nothing_serves_new_rows_are_told_all_the_same():
    X = np.random.default_rng(0).standard_normal((150, 4))
    X[:, 0] = abs(X[:, 0]) ** 6
    model = UnsupervisedIKDR(8, random_state=0).fit(X)
    assert (model.predict(X) == model.labels_).mean() > 0.9
    assert -1 <= model.score(X[:100]) <= 1


def test_score_with_a_bandwidth_for_each_row_is_that_of_the_new_rows(wine):
    X, y = wine
    model = SupervisedIKDR(2, bandwidth="self_tuning").fit(X[::2], y[::2])
    here, there = model.score(X[::2], y[::2]), model.score(X[1::2], y[1::2])  # 89 rows each
    assert there == pytest.approx(SupervisedIKDR.score(model, X[1::2].copy(), y[1::2]))
    assert 0.3 < there < here + 0.1 and here != there
    own = SupervisedIKDR(2, kernel=self_tuning_kernel(X[::2])).fit(X[::2], y[::2])
    with pytest.raises(ValueError, match="for the training rows alone"):
        own.score(X[1::2], y[1::2])


def test_more_features_than_rows_are_no_gain_and_it_is_said(wine):
    with pytest.warns(UserWarning, match="a fit without them is exact, and faster"):
        SupervisedIKDR(2, random_features=200, random_state=0).fit(*wine)


@pytest.mark.parametrize("bandwidth", [1e-12, 1e9])
def test_features_do_not_hide_a_constant_kernel(bandwidth, wine):
    with pytest.raises(
        ConstantKernelError, match=r"(constant|is 1) between any two|constant on this data"
    ):
        SupervisedIKDR(2, bandwidth=bandwidth, random_features=64, random_state=0).fit(*wine)
    with pytest.raises(ValueError, match="positive and finite"):
        Gaussian(1e300)


def test_a_default_is_never_more_than_there_is():
    X, y = load_iris(return_X_y=True)
    X = np.c_[X[:, 2:], np.ones(150)]
    assert UnsupervisedIKDR(3, random_state=0).fit(X).W_.shape == (3, 2)
    assert SupervisedIKDR(None).fit(X, y).W_.shape == (3, 2)
    with pytest.raises(ValueError, match="at most 2, the number of directions"):
        UnsupervisedIKDR(3, 3).fit(X)


def test_a_certificate_says_what_of_and_what_chance_gives(wine):
    X, y = wine
    model = SupervisedIKDR(2, ridge=np.inf).fit(X, y)
    text = str(model.certificate())
    assert text.splitlines()[1] == "beyond chance: yes, p = 0.05 (19 refits to permuted rows)"
    shuffled = (
        SupervisedIKDR(2, ridge=np.inf)
        .fit(X, np.random.default_rng(1).permutation(y))
        .certificate()
    )
    assert shuffled.is_maximum and shuffled.p_value > 0.1
    assert certify(model, model.W_).p_value is None


def test_a_network_can_be_watched(wine, capsys):
    layers = []
    KernelDependenceNetwork(callback=layers.append, verbose=1).fit(*wine)
    assert len(layers) >= 2 and capsys.readouterr().out.count("Layer(width=") == len(layers)


def test_who_watches_sees_w_for_the_columns_of_x(wine):
    X, shapes = np.c_[wine[0], np.ones(178)], set()
    SupervisedIKDR(2, init="taylor", callback=lambda at: shapes.add(at.W.shape)).fit(X, wine[1])
    assert shapes == {(14, 2)}


WEIGHTS = "weights of classes must be above 0"
two_kinds = lambda y: np.where(y == 0, None, "a")


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (
            lambda X, y: SupervisedIKDR(3).fit(np.c_[X[:, :2], X[:, :2].sum(axis=1)], y),
            "at most 2, the number of directions",
        ),
        (lambda X, y: SupervisedIKDR(1).fit(np.ones((178, 3)), y), "all rows of X are equal"),
        (lambda X, y: SemiSupervisedIKDR(2).fit(X, X[:, 0]), "fractions, which are no labels"),
        (lambda X, y: SupervisedIKDR(2).fit(X, two_kinds(y)), "use SemiSupervisedIKDR"),
        (lambda X, y: ResponseIKDR(2).fit(X, np.array(["a", "b"])[y % 2]), "must be numbers"),
        *(
            (
                lambda X, y, w=w: KernelDependenceNetwork(class_weight={0: w, 1: 1, 2: 1}).fit(
                    X, y
                ),
                WEIGHTS,
            )
            for w in (0, -1.0, np.nan)
        ),
        (lambda X, y: SupervisedIKDR(2).score(X, y), "not fitted"),
    ],
)
def test_what_misleads_is_refused(fit, words, wine):
    with pytest.raises(ValueError, match=words):
        fit(*wine)


def test_a_name_is_no_kernel_of_a_gram_matrix(wine):
    with pytest.raises(TypeError, match=r"such as Gaussian\(1.0\)"):
        gram("gaussian", wine[0])


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_around_never_ends_below_the_taylor_start(seed):
    """Beyond 800 rows, too, where it looks at a sample."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1200, 10))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    several, taylor = (
        SupervisedIKDR(2, init=init).fit(X, y).result_.objective for init in ("several", "taylor")
    )
    assert several >= taylor * (1 - 1e-3)


def test_a_class_that_weighs_more_is_predicted_more_often():
    X, y = make_classification(300, 6, n_informative=3, flip_y=0.2, random_state=0)
    counts = []
    for weight in (0.5, 1.0, 2.0):
        model = KernelDependenceNetwork(class_weight={0: 1.0, 1: weight})
        counts.append(int(model.fit(X, y).predict(X).sum()))
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize("seed", range(20))
def test_of_two_classes_balanced_changes_nothing(seed):
    """Claim new-two-classes: both Gammas are multiples of the squared distance of two means."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.random(rng.integers(3, 40)) < rng.uniform(0.02, 0.98)].astype(int)
    share = np.bincount(y)
    means = np.where(y == 0, 1 / share[0], -1 / share[1])
    for gamma in (label_gamma(y), label_gamma(y, balanced=True)):
        dense = gamma.to_dense()
        assert_allclose(dense / dense[0, 0], np.outer(means, means) / means[0] ** 2, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_a_score_sees_rows_about_the_mean_of_training(kernel, wine):
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
