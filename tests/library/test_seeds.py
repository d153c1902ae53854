"""What takes a seed draws by it: two seeds give two draws, one seed gives one."""

import numpy as np
import pytest

from ismlit import (
    KDAC,
    Gaussian,
    KernelDependenceNetwork,
    Problem,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    bootstrap_importances,
    datasets,
    dependence_test,
    importance_test,
    ism,
    label_gamma,
    median_distance,
)
from ismlit.estimators.clusters import cluster_rows, cluster_rows_given
from ismlit.objectives.blocks import drawn_rows, drawn_values
from ismlit.objectives.features import FeatureProblem
from ismlit.solvers.climb import first_frame
from ismlit.solvers.permutations import permutation
from ismlit.solvers.starts import starting_point

X = np.random.default_rng(1).standard_normal((80, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
FEATURES = dict(random_features=8, init="taylor", bandwidth=1.0, max_iter=5, tol=1e-2)
SHORT = dict(init="random", bandwidth=1.0, max_iter=1)


def in_dask(rows, *chunks):
    return pytest.importorskip("dask.array").from_array(rows, chunks=chunks)


def held_of_blocks(seed, monkeypatch):
    """The sample of rows that a fit to blocks draws, by the mean of its kernel's rule."""
    monkeypatch.setattr("ismlit.objectives.blocks.SAMPLE_ROWS", 20)
    how = FEATURES | dict(bandwidth="median", random_state=seed)
    model = SupervisedIKDR(1, **how, ridge=np.inf)
    return model.fit(in_dask(X, 30, -1), in_dask(Y, 30)).kernel_.sigma


def slices_of_blocks(seed, monkeypatch):
    """The slices that a fit to blocks draws values for."""
    monkeypatch.setattr("ismlit.objectives.blocks.SLICE_VALUES", 20)
    model = ResponseIKDR(1, **FEATURES, random_state=seed, ridge=np.inf)
    return model.fit(in_dask(X, 30, -1), in_dask(X[:, 0], 30)).slices_


def values_of_dask(seed, monkeypatch):
    monkeypatch.setattr("ismlit.objectives.blocks.SLICE_VALUES", 10)
    return drawn_values(in_dask(X[:, 0], 50), seed)


def bootstrap(seed, monkeypatch):
    model = SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(X, Y)
    return bootstrap_importances(model, X, Y, n_resamples=2, random_state=seed).importances


def permuted(seed, monkeypatch):
    model = SupervisedIKDR(1, init="taylor", ridge=np.inf).fit(X[:40], Y[:40])
    return importance_test(model, X, Y, n_permutations=2, random_state=seed).importances


def random_start(model, *given):
    """The W of a fit that makes one step from a random start."""
    return lambda seed, _: model.set_params(random_state=seed).fit(X, *given).W_


problem = Problem(X, label_gamma(Y), Gaussian(1.0))
DRAWS = {
    "make_relation": lambda s, _: datasets.make_relation("line", random_state=s),
    "make_rings": lambda s, _: datasets.make_rings(random_state=s)[0],
    "make_four_gaussians": lambda s, _: datasets.make_four_gaussians(random_state=s)[0],
    "make_two_views": lambda s, _: datasets.make_two_views(random_state=s)[0],
    "make_random_labels": lambda s, _: datasets.make_random_labels(random_state=s)[1],
    "make_adversarial": lambda s, _: datasets.make_adversarial(random_state=s)[0],
    "make_spiral": lambda s, _: datasets.make_spiral(random_state=s)[0],
    "median_distance": lambda s, _: median_distance(X, max_samples=20, random_state=s),
    "dependence_test": lambda s, _: dependence_test(X, Y, random_state=s).null,
    "dependence_test split": lambda s, _: (
        dependence_test(X, Y, method="split", random_state=s).value
    ),
    "starting_point": lambda s, _: starting_point(problem, 2, "random", s),
    "first_frame": lambda s, _: first_frame(problem, 2, "random", s)[0],
    "ism": lambda s, _: ism(problem, q=2, init="random", random_state=s, max_iter=1).W,
    "FeatureProblem": lambda s, _: FeatureProblem(
        X, label_gamma(Y), Gaussian(1.0), features=8, random_state=s
    ).objective(np.eye(4)[:, :2]),
    "permutation": lambda s, _: permutation(Y, np.random.RandomState(s)),
    "drawn_rows": lambda s, _: np.concatenate(drawn_rows([30, 50], 10, s)),
    "drawn_values": values_of_dask,
    "fit to blocks, rows": held_of_blocks,
    "fit to blocks, slices": slices_of_blocks,
    "random features": lambda s, _: (
        SupervisedIKDR(2, **FEATURES, random_state=s, ridge=np.inf).fit(X, Y).W_
    ),
    "bootstrap_importances": bootstrap,
    "importance_test": permuted,
    "cluster_rows": lambda s, _: cluster_rows(X, 7, s),
    "cluster_rows_given": lambda s, _: cluster_rows_given(X, 7, np.full(80, -1), s),
    "SupervisedIKDR": random_start(SupervisedIKDR(2, **SHORT, ridge=np.inf), Y),
    "ResponseIKDR": random_start(ResponseIKDR(2, **SHORT, ridge=np.inf), X[:, 0]),
    "UnsupervisedIKDR": random_start(UnsupervisedIKDR(2, 1, max_turns=1, **SHORT)),
    "SemiSupervisedIKDR": random_start(SemiSupervisedIKDR(2, 1, max_turns=1, **SHORT), Y),
    "KDAC": random_start(KDAC(2, 1, max_turns=1, **SHORT), Y),
    "KernelDependenceNetwork": lambda s, _: (
        KernelDependenceNetwork(
            random_features=4, max_layers=2, early_stopping=False, random_state=s
        )
        .fit(X, Y)
        .layers_[1]
        .W
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", DRAWS)
def test_two_seeds_give_two_draws_and_one_seed_gives_one(name, monkeypatch):
    zero, one, two, again = (np.asarray(DRAWS[name](seed, monkeypatch)) for seed in (0, 1, 2, 1))
    assert np.array_equal(one, again)
    assert not any(np.array_equal(a, b) for a, b in ((zero, one), (one, two), (zero, two)))
