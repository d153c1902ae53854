"""Sums over blocks of rows: Dask collections, files, and what is refused."""

import os
import signal
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import cpu_count
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from ismlit import (
    KDAC,
    KernelDependenceNetwork,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    gram,
    label_gamma,
    normalized_hsic,
)
from ismlit.geometry.frames import principal_angles
from ismlit.kernels import Gaussian
from ismlit.objectives import blocks, class_sums
from ismlit.objectives.blocks import DaskRows, drawn_rows
from ismlit.objectives.class_sums import ArrayRows, class_gamma, codes_of
from ismlit.objectives.features import FeatureProblem, _sums

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

OPTIONS = dict(random_features=32, random_state=0)
FIXED = dict(bandwidth=2.0, init="taylor", **OPTIONS)


def table(n=600, d=5, classes=3, seed=0):
    """Rows far from the origin, whose classes differ in two columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.standard_normal((n, d)) + 5
    X[:, :2] += 2 * rng.standard_normal((classes, 2))[y]
    return X, y


def in_blocks(X, *lengths):
    return da.from_array(X, chunks=(lengths, *([-1] if X.ndim == 2 else [])))


def degrees(one, other):
    return np.degrees(principal_angles(one.W_, other.W_).max())


# ---------------------------------------------------------------- the same answer as in memory


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_a_fit_is_that_of_the_rows_in_memory(scheduler):
    """Up to 5000 rows all are held by the client: bandwidth and starts are the same too."""
    X, y = load_wine(return_X_y=True)
    X, y = scale(X), np.array(["red", "rose", "white"])[y]
    here = SupervisedIKDR(2, **OPTIONS).fit(X, y)
    with dask.config.set(scheduler=scheduler):
        there = SupervisedIKDR(2, **OPTIONS).fit(in_blocks(X, 50, 128), in_blocks(y, 100, 78))
    assert_array_equal(there.classes_, here.classes_)
    assert_allclose(there.mean_, here.mean_, atol=1e-12)
    assert there.kernel_.sigma == pytest.approx(here.kernel_.sigma)
    assert there.result_.objective == pytest.approx(here.result_.objective, rel=1e-9)
    assert degrees(there, here) < 1e-3


def test_blocks_that_share_a_task_are_fitted_too():
    """Scaled by their own mean: the mean is computed once, not again for every block."""
    X, y = table()
    blocks, calls = in_blocks(X, 100, 200, 300), []
    counted = blocks.map_blocks(lambda rows: calls.append(len(rows)) or rows, meta=X[:0])
    centred = counted - counted.mean(axis=0)
    with dask.config.set(scheduler="synchronous"):
        there = SupervisedIKDR(2, **FIXED).fit(centred, in_blocks(y, 600))
    here = SupervisedIKDR(2, **FIXED).fit(X, y)
    assert degrees(there, here) < 1e-3
    assert len(calls) <= 3 * (there.result_.n_passes + 1)


@pytest.mark.slow
def test_other_processes_make_the_same_sums():
    """The first visit, and one of J: each starts its processes anew."""
    X, y = table()
    rows, blocks = {}, (in_blocks(X, 100, 500), in_blocks(y, 100, 500))
    for scheduler in ("synchronous", "processes"):
        with dask.config.set(scheduler=scheduler, num_workers=2):
            held = DaskRows(*blocks, np.dtype(float))
            rows[scheduler] = [*held.visit(_sums, np.ones((5, 4))), held.scatter, held.X]
    for one, other in zip(*rows.values(), strict=True):
        assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("class_weight", [None, "size"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_precision_class_weight_and_rank(class_weight, dtype):
    """A column that others determine is found from the sums of the blocks, too."""
    X, y = table(900)
    y[y == 2] = np.where(np.arange((y == 2).sum()) % 5, 1, 2)  # a rare class
    X = np.c_[X, X[:, 0] - X[:, 1], np.ones(len(X))].astype(dtype)
    options = FIXED | {"class_weight": class_weight} | ({"tol": 1e-4} if dtype == "float32" else {})
    here = SupervisedIKDR(2, **options).fit(X, y)
    there = SupervisedIKDR(2, **options).fit(in_blocks(X, 400, 500), in_blocks(y, 400, 500))
    assert there.W_.dtype == there.mean_.dtype == dtype
    assert_allclose(there.W_[-1], 0, atol=1e-6)  # the constant column
    assert degrees(there, here) < (1e-3 if dtype == "float64" else 1)


def test_a_response_is_cut_into_slices():
    X, _ = table(800, 4)
    y = (X[:, 2] - 5) ** 2
    here = ResponseIKDR(1, **FIXED).fit(X, y)
    there = ResponseIKDR(1, **FIXED).fit(in_blocks(X, 300, 500), in_blocks(y, 300, 500))
    assert_allclose(there.slices_, here.slices_)
    assert degrees(there, here) < 1e-3 and abs(there.W_[2, 0]) > 0.95


@settings(max_examples=8, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_chunks_and_their_order_change_nothing(data, seed):
    """Nor does the order of the blocks, where bandwidth and start do not come from a sample."""
    X, y = table(300, 4, seed=seed)
    cuts = sorted({0, 300, *data.draw(st.lists(st.integers(1, 299), max_size=6))})
    lengths = np.diff(cuts)
    order = data.draw(st.permutations(range(len(lengths))))
    pieces = [slice(cuts[i], cuts[i + 1]) for i in order]
    with dask.config.set(scheduler="synchronous"):
        whole = SupervisedIKDR(2, **FIXED, max_iter=4)
        other = clone(whole)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # four steps need not converge
            whole.fit(in_blocks(X, 300), in_blocks(y, 300))
            other.fit(
                da.concatenate([in_blocks(X[p], len(X[p])) for p in pieces]),
                da.concatenate([in_blocks(y[p], len(y[p])) for p in pieces]),
            )
    assert_allclose(other.history_["objective"], whole.history_["objective"], rtol=1e-8)


def test_the_sample_does_not_hang_on_chunks(monkeypatch):
    """Where the client holds fewer rows than there are, it holds the same ones."""
    monkeypatch.setattr("ismlit.objectives.blocks.SAMPLE_ROWS", 200)
    X, y = table(1000)
    one = SupervisedIKDR(2, **OPTIONS).fit(in_blocks(X, 1000), in_blocks(y, 1000))
    two = SupervisedIKDR(2, **OPTIONS).fit(in_blocks(X, 1, 700, 299), in_blocks(y, 500, 500))
    assert one.kernel_.sigma == pytest.approx(two.kernel_.sigma, rel=1e-12)
    assert degrees(one, two) < 1e-3
    here = SupervisedIKDR(2, **OPTIONS | {"bandwidth": one.kernel_.sigma}).fit(X, y)
    assert one.result_.objective == pytest.approx(here.result_.objective, rel=1e-8)


@pytest.mark.parametrize("lengths", [[1, 0, 30, 9], [40], [7] * 9])
@pytest.mark.parametrize("most", [1, 15, 200])
def test_rows_are_drawn_by_their_numbers_without_replacement(lengths, most):
    """Each row of all blocks equally often, whatever the blocks; all of them if they are few."""
    n, ends = sum(lengths), np.cumsum(lengths)
    times = np.zeros(n)
    for seed in range(300):
        parts = drawn_rows(lengths, most, seed)
        assert all(np.isin(part, range(own)).all() for part, own in zip(parts, lengths))
        rows = np.concatenate([part + end - own for part, end, own in zip(parts, ends, lengths)])
        assert (np.diff(rows) > 0).all() and len(rows) == min(n, most)
        assert_array_equal(rows, drawn_rows([n], most, seed)[0])
        times[rows] += 1
    share = min(n, most) / n
    assert np.abs(times / 300 - share).max() <= 5 * np.sqrt(share * (1 - share) / 300)


def test_the_sample_of_blocks_is_drawn_by_the_seed(monkeypatch):
    """Rows and labels of one draw belong together, and two seeds draw two samples."""
    monkeypatch.setattr("ismlit.objectives.blocks.SAMPLE_ROWS", 50)
    X, y = table(400)
    rows_of = lambda seed: [
        DaskRows(in_blocks(X, *lengths), in_blocks(y, *lengths), X.dtype, None, seed)
        for lengths in ((150, 250), (300, 100))
    ]
    one, other = ([rows.X for rows in rows_of(seed)] for seed in (1, 2))
    for drawn in one + other:
        assert drawn.shape == (50, 5)
    assert_array_equal(one[0], one[1])
    assert_array_equal(one[0], rows_of(1)[0].X)
    assert len({*one[0][:, 0]} & {*other[0][:, 0]}) < 25
    rows = rows_of(1)[0]
    number = [int(np.flatnonzero((X == x).all(axis=1))[0]) for x in rows.X]
    assert_array_equal(rows.classes[rows.codes], y[number])


def test_nothing_larger_than_the_sums_comes_to_the_client(monkeypatch):
    """k (d + 1) 2m numbers a step, and one visit before the first."""
    sizes = []
    reduced = blocks.DaskRows._reduced

    def watched(self, *arguments, **options):
        found = reduced(self, *arguments, **options)
        sizes.append((arguments[0].__name__, sum(np.size(part) for part in found)))
        return found

    monkeypatch.setattr(blocks.DaskRows, "_reduced", watched)
    monkeypatch.setattr(blocks, "SAMPLE_ROWS", 100)
    X, y = table(2000)
    model = SupervisedIKDR(2, **FIXED).fit(in_blocks(X, *[100] * 20), in_blocks(y, 2000))
    names, numbers = zip(*sizes, strict=True)
    assert names.count("first_visit") == 1
    assert len(names) - 1 == model.result_.n_passes  # a Phi counts as two
    assert max(numbers[1:]) == 3 * (5 + 1) * 2 * 32


@pytest.mark.parametrize(("is_shared", "sizes"), [(False, 12 * [4]), (True, 48 * [1])])
def test_a_task_takes_several_blocks_with_their_reads(is_shared, sizes, monkeypatch):
    """Four tasks for each of three threads: 48 blocks by four; alone where they share a task."""
    seen, combine_blocks = [], blocks.combine_blocks

    def watched(function, combine, some, *rest):
        seen.append(len(some))
        return combine_blocks(function, combine, some, *rest)

    monkeypatch.setattr(blocks, "combine_blocks", watched)
    monkeypatch.setattr(blocks, "threads_of_scheduler", lambda: 3)
    X, y = table(480)
    rows = in_blocks(X, *48 * [10])
    with dask.config.set(scheduler="synchronous"):
        DaskRows(rows - rows.mean(axis=0) if is_shared else rows, in_blocks(y, *48 * [10]), float)
    assert sorted(seen) == sorted(sizes)


def test_threads_are_those_of_the_workers_or_the_processors(monkeypatch):
    class Client:
        nthreads = staticmethod(lambda: {"one": 2, "other": 3})

        def get(self):
            """What Dask computes with."""

    with dask.config.set(scheduler="threads"):
        assert blocks.threads_of_scheduler() == cpu_count()
    monkeypatch.setattr("dask.base.get_scheduler", lambda: Client().get)
    assert blocks.threads_of_scheduler() == 5


# ---------------------------------------------------------------- lazy


@pytest.mark.filterwarnings("ignore:no bandwidth tried")
def test_transform_and_predict_are_lazy_with_the_same_chunks():
    X, y = table()
    model = SupervisedIKDR(2, **FIXED).fit(X, y)
    there = model.transform(in_blocks(X, 100, 500))
    assert isinstance(there, da.Array) and there.chunks == ((100, 500), (2,))
    expected = model.transform(X)
    model.fit(X, 1 * (X[:, 4] > 5))  # what is fitted later changes nothing
    assert_allclose(there.compute(), expected, atol=1e-12)
    network = KernelDependenceNetwork(early_stopping=False).fit(X[:150], y[:150])
    labels = network.predict(in_blocks(X, 100, 500))
    assert labels.chunks == ((100, 500),)
    assert_array_equal(labels.compute(), network.predict(X))
    assert network.score(in_blocks(X, 100, 500), in_blocks(y, 600)) == pytest.approx(
        network.score(X, y)
    )
    clusters = UnsupervisedIKDR(3).fit(X[:150])
    assert_array_equal(clusters.predict(in_blocks(X, 100, 500)).compute(), clusters.predict(X))
    both = model.fit_transform(in_blocks(X, 100, 500), in_blocks(y, 600))
    assert both.chunks == ((100, 500), (2,))


def test_score_is_that_of_the_gram_matrix():
    """By 512 features, in one visit; of a response by the slices of the fit."""
    X, y = table(400)
    model = SupervisedIKDR(2, **FIXED).fit(X, y)
    exact = normalized_hsic(gram(model.kernel_, X - model.mean_, model.W_), y)
    assert model.score(in_blocks(X, 150, 250), in_blocks(y, 400)) == pytest.approx(exact, abs=2e-3)
    response = ResponseIKDR(1, **FIXED).fit(X, X[:, 0])
    there = response.score(in_blocks(X, 150, 250), in_blocks(X[:, 0], 400))
    assert there == pytest.approx(response.score(X, X[:, 0]), abs=2e-3)


def test_dataframes_keep_their_names():
    dd = pytest.importorskip("dask.dataframe", reason="dask[dataframe] needs pyarrow")
    pd = pytest.importorskip("pandas")
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(len(X)) + 7)
    frame["label"] = y
    parts = dd.from_pandas(frame, npartitions=3)
    columns = list("abcde")
    model = SupervisedIKDR(2, **FIXED).fit(parts[columns], parts["label"])
    here = SupervisedIKDR(2, **FIXED).fit(frame[columns], y)
    assert_array_equal(model.feature_names_in_, columns)
    assert degrees(model, here) < 1e-3
    assert isinstance(model.transform(parts[columns]), da.Array)
    model.set_output(transform="pandas")
    there = model.transform(parts[columns])
    assert isinstance(there, dd.DataFrame) and there.npartitions == 3
    assert_array_equal(there.columns, model.get_feature_names_out())
    pd.testing.assert_frame_equal(there.compute(), model.transform(frame[columns]))
    few = parts[parts.a > parts.a.mean()]  # partitions of other lengths, in which no rows may be
    assert model.fit(few[columns], few["label"]).converged_
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(parts[columns[::-1]])


# ---------------------------------------------------------------- refused


@pytest.mark.filterwarnings("ignore:no bandwidth")  # of noise
@pytest.mark.parametrize("estimator", [UnsupervisedIKDR, SemiSupervisedIKDR, KDAC])
def test_what_cannot_take_a_collection_says_which_can(estimator):
    X, y = table(60)
    with pytest.raises(TypeError, match="SupervisedIKDR and ResponseIKDR with random_features"):
        estimator(3).fit(in_blocks(X, 60), in_blocks(y, 60))
    model = estimator(3).fit(X, None if estimator is UnsupervisedIKDR else y)
    with pytest.raises(TypeError, match=f"score of {estimator.__name__} takes no Dask"):
        model.score(in_blocks(X, 60))


def test_a_network_refuses_to_gather():
    X, y = table(60)
    with pytest.raises(TypeError, match="fit of KernelDependenceNetwork takes no Dask"):
        KernelDependenceNetwork().fit(in_blocks(X, 60), in_blocks(y, 60))


def test_refusals_name_the_cure():
    X, y = table()
    dX, dy, model = in_blocks(X, 100, 500), in_blocks(y, 600), SupervisedIKDR(2, **FIXED)
    nan = X.copy()
    nan[590, 3] = np.nan
    many = np.arange(600) % 257 + 0.0
    for A, b, words in [
        (dX.rechunk((100, 2)), dy, r"X has 3 chunks of columns: use X.rechunk\(\{1: -1\}\)"),
        (dX[dX[:, 0] > 5], dy, r"use X = X.compute_chunk_sizes\(\)"),
        (dX, dy[dX[:, 0] > 5], r"use y = y.compute_chunk_sizes\(\)"),
        (dX, y, r"from_array\(y, chunks=X.chunks\[0\]\)"),
        (dX, dy[:-1], r"one value per row of X: \(599,\)"),
        (in_blocks(nan, 100, 500), dy, "contains NaN"),
        (dX, dy + 0.5, "fractions.*use ResponseIKDR"),
        (dX, in_blocks(np.arange(600), 600), "use ResponseIKDR"),
        (dX, in_blocks(many, 300, 300), "use ResponseIKDR"),
        (dX, 0 * dy, "at least two classes"),
        (dX[:1], dy[:1], "at least 2"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(A, b)
    assert not hasattr(model, "W_")  # a refused fit leaves nothing behind
    with pytest.raises(ValueError, match="set random_features=256"):
        SupervisedIKDR(2).fit(dX, dy)
    with pytest.raises(ValueError, match="must be numbers"):
        ResponseIKDR(1, **FIXED).fit(dX, in_blocks(y.astype(str), 600))
    model.fit(dX, dy)
    with pytest.raises(ValueError, match="5 features"):
        model.transform(dX[:, :4])
    with pytest.raises(ValueError, match="sample of the rows"):
        model.certificate()


def test_partial_fit_is_refused_in_words():
    model = SupervisedIKDR(2)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=r"sums over all rows.*numpy.memmap or Dask"):
        model.partial_fit


# ---------------------------------------------------------------- failure


class Lost(Exception):
    pass


def test_a_fit_goes_on_from_the_w_that_a_callback_wrote(tmp_path):
    """The client is lost after three steps; a new one starts where it was."""
    X, y = table(seed=3)
    blocks = in_blocks(X, 200, 400), in_blocks(y, 600)
    whole = SupervisedIKDR(2, **FIXED | {"tol": 1e-8}).fit(*blocks)
    seen = []

    def save(at):
        np.save(tmp_path / "W.npy", at.W)
        seen.append(at.J)
        if len(seen) == 3:
            raise Lost

    with pytest.raises(Lost):
        SupervisedIKDR(2, **FIXED | {"tol": 1e-8, "callback": save}).fit(*blocks)
    saved = np.load(tmp_path / "W.npy")
    model = SupervisedIKDR(2, **FIXED | {"tol": 1e-8, "init": saved}).fit(*blocks)
    first = model.history_["objective"][0]  # by features that are turned to another start
    assert first == pytest.approx(seen[-1], rel=1e-4)
    assert first > whole.history_["objective"][0]
    assert degrees(model, whole) < 0.1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the cluster's own
@pytest.mark.parametrize("step", [0, 2])
def test_a_killed_worker_changes_nothing(step):
    """Lost blocks are made anew: in the first visit, and in the middle of the solve."""
    distributed = pytest.importorskip("distributed")
    X, y = table(20_000)
    blocks = in_blocks(X, *[1000] * 20), in_blocks(y, *[1000] * 20)
    here = SupervisedIKDR(2, **FIXED).fit(*blocks)
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids, steps = client.run(os.getpid), []
        kill = lambda: os.kill(next(iter(pids.values())), signal.SIGKILL)

        def on_step(at):
            steps.append(at.J)
            if len(steps) == step:
                kill()

        if not step:
            threading.Timer(0.05, kill).start()
        held = dask.persist(*blocks)
        there = SupervisedIKDR(2, **FIXED, callback=on_step).fit(*held)
        assert set(client.run(os.getpid).values()) != set(pids.values())
    assert_allclose(there.history_["objective"], here.history_["objective"], rtol=1e-8)
    assert degrees(there, here) < 1e-3


# ---------------------------------------------------------------- files, and memory


class Watched:
    """Rows of an array, and the order in which they are read: a slice of it reads nothing yet."""

    def __init__(self, X, read, start=0):
        self.X, self.read, self.start = X, read, start

    def __len__(self):
        return len(self.X)

    def __getitem__(self, rows):
        return Watched(self.X[rows], self.read, self.start + rows.start)

    def __sub__(self, mean):
        self.read += range(self.start, self.start + len(self.X))
        return self.X - mean

    dtype = property(lambda self: self.X.dtype)

    def mean(self, axis, dtype):
        return self.X.mean(axis=axis, dtype=dtype)


@pytest.mark.parametrize("classes", [2, 10])
def test_a_visit_reads_the_rows_once_and_in_order(classes):
    """Whatever the classes, which are mixed in the file."""
    X, y = table(50_000, 3, classes)
    problem, W, read = FeatureProblem(X, class_gamma(y), Gaussian(2.0), features=8), np.eye(3), []
    expected = problem.objective(W[:, :2])
    vars(problem)["_rows"] = ArrayRows(Watched(problem.X, read), y, classes, n_jobs=1)
    assert problem.objective(W[:, :2]) == pytest.approx(expected)
    assert read == list(range(len(X)))


def test_a_row_in_a_file_costs_at_most_32_bytes_of_memory(tmp_path):
    """The difference of two numbers of rows, so that what does not grow drops out."""
    most = {}
    for n in (200_000, 600_000):
        X, y = table(n, 4, 4)
        np.save(tmp_path / "X.npy", X.astype("float32"))
        del X
        on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
        tracemalloc.start()
        SupervisedIKDR(1, **FIXED | {"tol": 1e-2, "random_features": 4}).fit(on_disk, y)
        most[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (most[600_000] - most[200_000]) / 400_000 <= 32


@pytest.mark.parametrize("balanced", [False, True])
def test_gamma_by_class_is_gamma(balanced, rng, monkeypatch):
    monkeypatch.setattr(class_sums, "FEATURE_CHUNK", 7)  # several, which hold other classes
    y = np.sort(np.array(list("abc"))[rng.integers(0, 3, 30)])
    ours, known = class_gamma(y, balanced), label_gamma(y, balanced)
    assert_allclose(ours.to_dense(), known.to_dense(), atol=1e-14)
    assert ours.norm_bound == pytest.approx(known.norm_bound) and ours.n == 30
    rows = [3, 1, 20, 21]
    assert_allclose(ours.on(rows).to_dense(), known.on(rows).to_dense(), atol=1e-14)
    assert ours.astype("float32").to_dense().dtype == np.float32


def test_a_block_may_hold_so_many_classes_and_no_more(monkeypatch):
    monkeypatch.setattr(blocks, "MOST_CLASSES", 7)
    X, _ = table(56)
    held = lambda k: DaskRows(in_blocks(X, 56), in_blocks(np.arange(56) % k, 56), X.dtype).k
    assert held(7) == 7
    with pytest.raises(ValueError, match="y holds more than 7 classes"):
        held(8)


def test_the_codes_of_257_classes_fit_their_type():
    codes, sizes = codes_of(np.arange(257), np.arange(257))
    assert codes.tolist() == list(range(257)) and set(sizes) == {1}
