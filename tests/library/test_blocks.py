"""Sums over blocks of rows: Dask collections, files, and what is refused."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from library.collected import FIXED, OPTIONS, degrees, in_blocks, table
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from ismlit import (
    ResponseIKDR,
    SupervisedIKDR,
)
from ismlit.objectives import blocks
from ismlit.objectives.blocks import DaskRows, drawn_rows
from ismlit.objectives.features import _sums

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


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
