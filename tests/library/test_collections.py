"""Dask collections: transform, score, names of columns, and who refuses them."""

import numpy as np
import pytest
from library.collected import FIXED, degrees, in_blocks, table
from numpy.testing import assert_allclose, assert_array_equal

from ismlit import (
    KDAC,
    KernelDependenceNetwork,
    ResponseIKDR,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    UnsupervisedIKDR,
    gram,
    normalized_hsic,
)

da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


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


def test_partial_fit_is_refused_in_words():
    model = SupervisedIKDR(2)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=r"sums over all rows.*numpy.memmap or Dask"):
        model.partial_fit
