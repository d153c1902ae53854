"""KNet: its objective, its network, what it finds, and what it says when it does not."""

import inspect
import pickle
import warnings
from functools import partial
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from ismlit_book.methods.knet import KNetClustering
from ismlit_book.methods.knet.attraction import frozen, pull
from ismlit_book.methods.knet.perceptron import Perceptron
from ismlit_book.methods.knet.training import Training, embedding_affinity
from library import test_architecture as house
from library import test_base
from library import test_estimators as shared
from library.problems import dense, keep_the_contract, slopes, tenth, unsettled
from numpy.testing import assert_allclose
from scipy.linalg import eigh, subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from ismlit import datasets
from ismlit.bandwidth import median_distance, self_tuning_kernel
from ismlit.estimators.parameters import PARAMETERS
from ismlit.grams import gram
from ismlit.kernels import Gaussian


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.05, random_state=0)
    return scale(X), y


@pytest.fixture(scope="module")
def model(moons):
    return KNetClustering(2, bandwidth=tenth, random_state=0).fit(moons[0])


# ---------------------------------------------------------------- the objective


def test_affinity_is_that_of_the_thesis(rng):
    Z, V = rng.standard_normal((30, 3)), rng.standard_normal((30, 4))
    L, _, D = dense(Z, 0.7)
    found = embedding_affinity(Z, Gaussian(0.7))
    assert_allclose(found @ V, L @ V, atol=1e-13)
    assert_allclose(found.degrees, D, rtol=1e-13)
    assert_allclose(found.leading(3)[1], eigh(L)[0][::-1][:3], atol=1e-13)


def test_pull_is_objective_and_gradient(rng):
    Z, sigma = rng.standard_normal((12, 2)), 0.8
    U = np.linalg.qr(rng.standard_normal((12, 2)))[0]
    _, _, D0 = dense(Z + 0.1, sigma)  # degrees of other images
    H = np.eye(12) - 1 / 12

    def value(Z):
        K = dense(Z, sigma)[1]
        return np.trace(K @ np.diag(D0**-0.5) @ H @ U @ U.T @ H @ np.diag(D0**-0.5))

    found, gradient = pull(Z, frozen(U, D0), sigma)
    assert found == pytest.approx(value(Z), rel=1e-12)
    assert_allclose(gradient, slopes(value, Z), atol=1e-8)  # h² = 1e-10


def test_local_is_the_formula(rng):
    X = rng.standard_normal((15, 2))
    distances = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    s = np.sort(distances, axis=1)[:, 7]
    K = np.exp(-(distances**2) / np.outer(s, s))
    assert_allclose(gram(self_tuning_kernel(X), X), K, atol=1e-12)


# ---------------------------------------------------------------- the clusterer


def test_moons_are_told_apart_and_new_ones_too(model, moons):
    X, y = moons
    assert adjusted_rand_score(y, model.labels_) == 1
    old, _ = make_moons(300, noise=0.05, random_state=0)
    new, truth = make_moons(2000, noise=0.05, random_state=1)
    predicted = model.predict((new - old.mean(axis=0)) / old.std(axis=0))
    assert adjusted_rand_score(truth, predicted) > 0.98  # points between the training points
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_spirals_are_told_apart(seed):
    X, y = datasets.make_spiral(900, noise=0.1, random_state=seed)
    found = KNetClustering(3, bandwidth=tenth, random_state=seed).fit(scale(X))
    assert adjusted_rand_score(y, found.labels_) > 0.99  # a handful of 900


def quick(X, **options):
    """A fit that is not meant to converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KNetClustering(**(dict(bandwidth=tenth, n_init=1, random_state=0) | options)).fit(X)


def few_moons(**options):
    """The same of a hundred samples, which come with it."""
    X = scale(make_moons(100, noise=0.05, random_state=0)[0])
    return X, quick(X, **(dict(bandwidth=0.3) | options))


def test_a_step_follows_the_stated_objective(rng):
    """Mean batch gradient, penalty included, against differences of the whole objective."""
    X, sigma, penalty = rng.standard_normal((6, 2)), 0.9, 0.7
    seed = np.random.RandomState(0)
    nets = [Perceptron((2, 4, 2), seed) for _ in range(2)]
    for net in nets:
        net.theta += 0.3 * seed.standard_normal(net.theta.size)
    F = frozen(np.linalg.qr(rng.standard_normal((6, 2)))[0], np.full(6, 2.0))

    seen = [], []
    keep = lambda kept: SimpleNamespace(ascend=lambda theta, gradient: kept.append(gradient))
    run = Training(*nets, None, [*map(keep, seen)])
    for rows in map(list, combinations(range(6), 3)):
        gradient = lambda Z, rows=rows: 6 * 5 / (3 * 2) * pull(Z, F[rows], sigma)[1]
        run.ascend(X[rows], gradient, penalty)

    def objective(theta, net):
        kept, net.theta[:] = net.theta.copy(), theta
        Z = nets[0](X)
        value = pull(Z, F, sigma)[0] - penalty * np.mean((X - nets[1](Z)) ** 2)
        net.theta[:] = kept
        return value

    for net, gradients in zip(nets, seen):
        expected = slopes(partial(objective, net=net), net.theta.copy(), h=1e-6)
        assert_allclose(np.mean(gradients, axis=0), expected, atol=1e-6)


def test_settings_are_used(moons):
    X, _ = moons
    short = dict(n_steps=20, max_blocks=2)
    base = quick(X, **short)
    for options in (
        dict(n_vectors=2),
        dict(learning_rate=1e-2),
        dict(batch_size=32),
        dict(init="self_tuning"),
        dict(hidden_layer_sizes=(9,)),
        dict(penalty=5.0),
        dict(n_init=2, random_state=1),
    ):
        assert not np.array_equal(quick(X, **short | options).transform(X), base.transform(X))
    assert quick(X, **short, n_vectors=2).embedding_.shape == (300, 2)
    top = embedding_affinity(X, self_tuning_kernel(X)).leading(1)[0]
    assert abs(np.sum(top * quick(X, **short, init="self_tuning").start_)) > 1 - 1e-9
    assert quick(X, **short, hidden_layer_sizes=(9, 4)).encoder_.shapes == [(2, 9), (9, 4), (4, 2)]
    loose = KNetClustering(2, bandwidth=tenth, tol=0.5, n_steps=50, n_init=1, random_state=0).fit(X)
    assert loose.converged_ and loose.n_iter_ < quick(X, n_steps=50, tol=0).n_iter_


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_more_blocks_than_allowed(most):
    assert few_moons(n_steps=5, max_blocks=most, min_gain=0, tol=0)[1].n_iter_ == most


def test_the_bandwidth_of_the_deep_clusterer_has_the_best_silhouette():
    _, found = few_moons(bandwidth="silhouette", n_steps=1, max_blocks=1)
    silhouettes = found.tried_["silhouette"]
    assert len(set(silhouettes)) > 2
    assert found.sigma_ == pytest.approx(found.tried_["bandwidth"][np.argmax(silhouettes)])


@unsettled
def test_no_bandwidth_is_taken_at_which_samples_have_no_neighbours():
    """On digits K is the identity at a sixteenth of the median, and its clusters look good."""
    X = load_digits().data[:300]
    options = dict(n_init=1, n_steps=1, max_blocks=1, random_state=0)
    found = KNetClustering(10, **options).fit(X)
    alone = found.tried_["bandwidth"] < 0.15 * median_distance(X)
    assert (found.tried_["silhouette"][alone] == -1).all()
    assert np.median(embedding_affinity(X, Gaussian(found.sigma_)).degrees) > 1.1


def test_the_penalty_is_part_of_what_is_climbed(moons):
    X, _ = moons
    found = quick(X, penalty=3.0, n_steps=20, max_blocks=1)
    Z = found.transform(X)
    F = frozen(found.start_, dense(X, found.sigma_)[2])
    error = np.mean((X - found.reconstruct(X)) ** 2) / found.scale_**2
    expected = pull(Z, F, found.sigma_)[0] - 3.0 * error
    assert found.history_["surrogate"][0] == pytest.approx(expected, rel=1e-9)
    assert found.history_["reconstruction"][0] == pytest.approx(error, rel=1e-9)


def test_callback_sees_the_images_of_every_block(moons):
    X, seen = moons[0], []
    found = quick(
        X, n_steps=20, max_blocks=3, n_init=2, callback=lambda Z, value: seen.append((Z, value))
    )
    assert len(seen) >= found.n_iter_ + 1
    kept = found.history_["surrogate"]
    assert kept[0] in [value for _, value in seen]
    assert any(np.array_equal(Z, found.transform(X)) for Z, _ in seen)


def test_history_says_what_happened(model, moons):
    history, renewals = model.history_, model.renewals_
    for record in (history, renewals):
        assert len({len(values) for values in record.values()}) == 1
    assert model.converged_ and len(history["surrogate"]) == model.n_iter_
    assert history["renewed"][-1] and history["renewed"].sum() == len(renewals["objective"]) - 1
    L, _, _ = dense(model.transform(moons[0]), model.sigma_)
    assert renewals["objective"][-1] == pytest.approx(eigh(L)[0][-1], rel=1e-8)
    U = model.embedding_
    assert renewals["objective"][-1] == pytest.approx(float(np.sum(U * (L @ U))), rel=1e-8)
    assert renewals["change"][-1] <= model.tol < renewals["change"][1]
    L0 = dense(moons[0], model.sigma_)[0]
    assert renewals["objective"][0] == pytest.approx(eigh(L0)[0][-1], rel=1e-8)
    assert (renewals["kept"] <= renewals["objective"] + 1e-12).all()  # renewing U cannot lose


def test_the_change_of_u_is_a_mean_over_its_columns():
    _, found = few_moons(n_vectors=3, n_steps=50, max_blocks=1)
    angles = subspace_angles(found.start_, found.embedding_)
    assert len(angles) == 3
    assert found.renewals_["change"][1] == pytest.approx(np.mean(np.sin(angles) ** 2), abs=1e-10)


def test_centres_are_the_means_of_images_in_the_units_of_x():
    X = 3 * few_moons(n_steps=1, max_blocks=1)[0] + 50
    with pytest.warns(ConvergenceWarning):
        found = KNetClustering(2, bandwidth=1.0, n_init=1, n_steps=1, max_blocks=1, tol=0).fit(X)
    Z = found.transform(X)
    means = [Z[found.labels_ == k].mean(axis=0) for k in (0, 1)]
    assert_allclose(found.cluster_centers_, means, rtol=1e-6)


def test_u_waits_until_the_network_has_settled(moons):
    X, _ = moons
    patient = KNetClustering(2, bandwidth=tenth, n_steps=100, random_state=0).fit(X).history_
    gains = np.diff(patient["surrogate"])
    for k, gain in enumerate(gains):
        if not patient["renewed"][k]:
            settled = gain <= 3e-3 * abs(patient["surrogate"][k + 1])
            assert patient["renewed"][k + 1] == settled
    hasty = quick(X, n_steps=100, min_gain=np.inf, max_blocks=5)
    assert hasty.history_["renewed"].all()


def test_the_penalty_keeps_what_can_be_reconstructed(moons):
    free, tied = (
        quick(moons[0], penalty=penalty, n_steps=1000, max_blocks=3) for penalty in (0.0, 10.0)
    )
    last = lambda model: model.history_["reconstruction"][-1]
    assert last(tied) < 0.1 * last(free)


def test_units_and_origin_do_not_matter(model, moons):
    X, _ = moons
    again = KNetClustering(2, bandwidth=tenth, random_state=0).fit(1000 * X + 7)
    assert np.array_equal(again.labels_, model.labels_)
    assert_allclose(again.transform(1000 * X + 7), 1000 * model.transform(X) + 7, rtol=1e-3)
    assert again.sigma_ == pytest.approx(1000 * model.sigma_, rel=1e-6)


def test_same_seed_same_answer_and_input_untouched(model, moons):
    X = moons[0].copy()
    again = clone(model).fit(X)
    assert np.array_equal(X, moons[0])
    assert np.array_equal(again.transform(X), model.transform(X))
    kept = pickle.loads(pickle.dumps(model))
    assert np.array_equal(kept.predict(X), model.labels_)


def test_start_can_be_given(model, moons):
    X, _ = moons
    again = quick(X, init=model.start_, n_steps=1000, max_blocks=3)
    assert adjusted_rand_score(again.labels_, model.labels_) == 1
    clusterer = KNetClustering(2, bandwidth=tenth, init="self_tuning", n_init=1, random_state=0)
    piped = make_pipeline(StandardScaler(), clusterer)
    assert adjusted_rand_score(moons[1], piped.fit_predict(X)) == 1


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(n_clusters=400), "should be >= n_clusters=400"),
        (dict(n_vectors=300), "n_vectors = 300 must be below the number of samples"),
        (dict(bandwidth=1e-6), "sigma = 1e-06 is so small that the kernel is 0"),
        (dict(bandwidth=1e6), "sigma = 1e.06 is so large that the kernel is 1"),
        (dict(bandwidth=1e200), "so large"),
        (dict(init=np.ones((300, 1))), "columns of init, less their means"),
        (dict(init=np.eye(300)[:, :2]), "init must have shape"),
        (dict(hidden_layer_sizes=(5, 0)), "hidden_layer_sizes must be whole numbers"),
        (dict(hidden_layer_sizes=()), "hidden_layer_sizes must be whole numbers"),
        (dict(learning_rate=1e6, n_steps=20), "left all bounds: lower learning_rate"),
        (dict(penalty=1e300, n_steps=20), "or penalty"),
    ],
)
def test_bad_settings_are_refused(moons, options, message):
    with pytest.raises(ValueError, match=message):
        KNetClustering(**options).fit(moons[0])


def test_many_twins_are_no_trouble(rng):
    X = np.repeat(rng.standard_normal((6, 2)), 10, axis=0)
    assert quick(
        X, init="self_tuning", n_steps=20, max_blocks=1, bandwidth="median"
    ).start_.shape == (60, 1)
    most = np.r_[np.zeros((40, 2)), rng.standard_normal((3, 2)) + 5]
    assert len(set(quick(most, bandwidth=1.0, n_steps=20, max_blocks=1).labels_)) == 2


def test_bad_data_are_refused(rng):
    with pytest.raises(ValueError, match="2 distinct rows, which cannot form n_clusters=3"):
        KNetClustering(3).fit(np.repeat([[0.0, 1.0], [1.0, 0.0]], 10, axis=0))
    for unit in (1e-310, 1e-170, 1e60, 1e160, 1e300):
        with pytest.raises(ValueError, match="column 1, which varies most"):
            KNetClustering(2).fit(unit * np.c_[np.ones(20), rng.standard_normal(20)])
    with pytest.raises(ValueError, match="all rows of X are equal"):
        KNetClustering(1).fit(np.ones((20, 2)))


@pytest.mark.parametrize("sizes", [(60, 40), (20, 1), (50, 30, 5)])
@pytest.mark.parametrize("bandwidth", ["silhouette", "median", "projected", 0.7])
@pytest.mark.parametrize("init", ["several", "spectral"])
def test_rows_that_are_mostly_equal_are_clustered(init, bandwidth, sizes):
    """The median distance of all pairs is 0; that of the distinct rows is not."""
    kinds = np.array([[0.0, 0.0], [3.0, 1.0], [-2.0, 4.0]])[: len(sizes)]
    X, truth = np.repeat(kinds, sizes, axis=0), np.repeat(range(len(sizes)), sizes)
    options = dict(init=init, bandwidth=bandwidth, n_steps=20, max_blocks=2)
    found = quick(X, n_clusters=len(sizes), **options)
    assert adjusted_rand_score(truth, found.labels_) == 1
    if bandwidth == "median":
        assert found.sigma_ == pytest.approx(median_distance(kinds))


def test_underflow_is_no_error():
    """Of rows far apart the kernel is 0, also where numpy is asked to raise."""
    X = np.vstack([np.random.default_rng(k).normal(9 * k, 0.1, (20, 2)) for k in range(3)])
    with np.errstate(all="raise"):
        found = quick(X, n_clusters=3, bandwidth=0.2, n_steps=20, max_blocks=2)
        assert len(found.predict(1e3 * X)) == len(found.transform(1e3 * X)) == 60


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(blocks, rng):
    """Refused at once, or interrupted after some blocks: nothing of the new rows remains."""
    X, other = rng.standard_normal((30, 2)), 5 + 2 * rng.standard_normal((40, 3))
    found, calls = quick(X, n_steps=20, max_blocks=4), []
    before, kept = found.transform(X), dict(vars(found))

    def interrupt(Z, value):
        calls.append(value)
        if len(calls) == blocks:
            raise KeyboardInterrupt

    found.set_params(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        found.fit(other)
    found.set_params(callback=None)
    with pytest.raises(ValueError, match="n_vectors"):
        found.set_params(n_vectors=99).fit(other)
    found.set_params(n_vectors=None)
    assert vars(found) == kept and np.array_equal(found.transform(X), before)


def test_not_converged_is_said(moons):
    with pytest.warns(ConvergenceWarning, match="U still changed"):
        KNetClustering(
            2, init="spectral", bandwidth="median", n_steps=5, max_blocks=2, random_state=0
        ).fit(moons[0])


def test_progress_is_shown(moons, capsys):
    quick(moons[0], n_steps=20, max_blocks=2, verbose=True)
    assert "KNet" in capsys.readouterr().err


# ---------------------------------------------------------------- as the library's estimators


class Quick(KNetClustering):
    """A fit of a moment."""

    def __init__(self, n_clusters=2, **options):
        super().__init__(n_clusters, **dict(n_init=1, n_steps=20, max_blocks=1, tol=1.0) | options)


Quick.__init__.__signature__ = inspect.signature(KNetClustering.__init__)


def test_its_words_are_those_of_the_library_and_its_own():
    own = "hidden_layer_sizes n_steps batch_size learning_rate min_gain max_blocks"
    words = set(KNetClustering().get_params()) - {"random_state"}
    assert words - set(PARAMETERS) == set(own.split())
    house.test_every_parameter_and_attribute_is_explained(KNetClustering)


def test_it_keeps_what_the_library_s_estimators_promise(rng, moons):
    X = np.vstack([rng.normal(0, 1, (20, 3)), rng.normal(4, 1, (20, 3))])
    shared.test_pandas_goes_in_and_comes_out(Quick, (X, np.repeat([0, 1], 20)))
    house.test_what_happened_is_said_in_the_same_words(Quick, rng)
    test_base.test_copies_and_pickles_can_be_displayed(moons, lambda X, y: quick(X))
    single = moons[0].astype("float32")
    assert quick(single).transform(single).dtype == "float32"


@pytest.mark.parametrize("word", [w for w in KNetClustering().get_params() if w in house.BAD])
def test_bad_parameters_are_named_with_the_rule(word, rng):
    for bad in house.BAD[word]:
        house.test_bad_parameters_are_named_with_the_rule(KNetClustering, word, bad, rng)


def test_rings_are_told_apart():
    X, y = make_circles(200, noise=0.05, factor=0.4, random_state=0)
    labels = KNetClustering(2, n_init=1, random_state=0).fit_predict(scale(X))
    assert normalized_mutual_info_score(y, labels) == 1.0


@parametrize_with_checks([KNetClustering(n_init=1, n_steps=20, max_blocks=2, penalty=0.1)])
@unsettled  # so short a run
def test_scikit_learn_contract(estimator, check):
    keep_the_contract(estimator, check)
