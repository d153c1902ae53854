import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import ArpackError
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from ismlit import Gaussian, KernelDependenceNetwork, SupervisedIKDR, UnsupervisedIKDR, memory
from ismlit.objectives import affinity
from ismlit.objectives.pairs import Pairs

ROWS = 1_000_000  # An n x n array of so many rows takes 7450 GiB.


@pytest.fixture
def table():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


@pytest.fixture
def many():
    """Rows whose Gram matrix no machine holds; 2 columns, 3 classes."""
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 3
    return rng.standard_normal((ROWS, 2)) + y[:, None], y


@pytest.mark.parametrize(
    "options, size",
    [
        (dict(), "4 arrays.*2.98e\\+04 GiB"),
        (dict(early_stopping=False), "9 arrays.*6.71e\\+04 GiB"),
        (dict(max_layers=1), "1 array of.*7.45e\\+03 GiB"),
    ],
)
def test_a_network_too_large_for_memory_is_refused_before_it_begins(options, size, many):
    network = KernelDependenceNetwork(**options)
    cure = "KernelDependenceNetwork.*" + size + " for n = 1000000,.*random_features=256"
    with pytest.raises(MemoryError, match=cure):
        network.fit(*many)
    assert not hasattr(network, "layers_")


def test_a_score_too_large_for_memory_is_refused(table, many):
    model = SupervisedIKDR(1, init="taylor").fit(table[0][:, :2], table[1])
    with pytest.raises(MemoryError, match=r"score of SupervisedIKDR.*score a sample of the rows"):
        model.score(*many)


def test_the_limit_is_that_of_the_container(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", memory.memory_limit.__wrapped__)
    machine = memory.memory_limit()
    assert machine > 2**20
    limit, none = tmp_path / "limit", tmp_path / "none"
    limit.write_text("1048576\n")
    none.write_text("max\n")
    monkeypatch.setattr(memory, "CONTAINER_LIMITS", (none, tmp_path / "missing"))
    assert memory.memory_limit() >= machine
    monkeypatch.setattr(memory, "CONTAINER_LIMITS", (none, limit))
    memory.require_memory("a fit", "fit fewer rows", 181, 4)  # 4 x 8 x 181^2 = 1048352
    with pytest.raises(
        MemoryError, match=r"0.000987 GiB for n = 182.*0.000977 GiB: fit fewer rows"
    ):
        memory.require_memory("a fit", "fit fewer rows", 182, 4)
    memory.require_memory("a fit", "fit fewer rows", 182, 4, itemsize=4)


@pytest.mark.filterwarnings("ignore:normalised HSIC ends at", "ignore:all max_layers")
@pytest.mark.parametrize("early_stopping, copies", [(True, 4), (False, 9)])
def test_a_network_keeps_as_many_arrays_as_it_says(early_stopping, copies):
    """At most: with the rest of what a fit of 400 rows holds, less than one array more."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    options = dict(ridges=(1e-2,), max_layers=2, threshold=1.0, max_iter=3)
    tracemalloc.start()
    network = KernelDependenceNetwork(early_stopping=early_stopping, **options).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] / (8 * 400**2)
    tracemalloc.stop()
    assert len(network.layers_) == 2
    assert copies - 3 < peak < copies + 1


def test_an_embedding_that_needs_the_whole_matrix_is_refused(monkeypatch, table):
    def failing(*args, **options):
        raise ArpackError(-9999)

    monkeypatch.setattr(affinity, "eigsh", failing)
    monkeypatch.setattr(memory, "memory_limit", lambda: 2**20)
    few = affinity.Affinity(Pairs(table[0], Gaussian(2.0)))
    with pytest.raises(MemoryError, match=r"all eigenvectors.*n = 178.*take a sample"):
        few.leading(2, dense=100)


@pytest.mark.parametrize("width", [1, 100, 5000, 10**8])
def test_batches_cover_the_rows_and_stay_small(width):
    cuts = [*memory.batches(9999, width)]
    assert np.array_equal(np.concatenate([np.arange(9999)[cut] for cut in cuts]), np.arange(9999))
    sizes = [cut.stop - cut.start for cut in cuts]
    assert max(sizes) <= 4096 and (max(sizes) * width <= memory.BATCH_VALUES or max(sizes) == 1)


@pytest.mark.parametrize("estimator", [KernelDependenceNetwork(), UnsupervisedIKDR(3)])
def test_batches_change_no_prediction(estimator, table, monkeypatch):
    X, y = table
    estimator.set_params(random_state=0).fit(X[::2], y[::2])
    of_a_network = isinstance(estimator, KernelDependenceNetwork)
    values = estimator.decision_function if of_a_network else estimator.predict
    expected = values(X)
    monkeypatch.setattr(memory, "BATCH_VALUES", 7 * len(X[::2]))  # 7 rows at a time
    assert_allclose(values(X), expected, rtol=1e-9, atol=1e-9)
