"""The search for a bandwidth in the clusterings, watched and stopped."""

import numpy as np
import pytest
from library.problems import told_to_stop
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from ismlit import KDAC, Kernel, UnsupervisedIKDR
from ismlit.datasets import make_two_views


def test_warning_where_no_bandwidth_serves():
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((60, 2)) * 0.01, [[50.0, 50.0]]]  # one row far from all
    with pytest.warns(UserWarning, match="no bandwidth tried gives UnsupervisedIKDR"):
        model = UnsupervisedIKDR(2, random_state=0).fit(X)
    assert (model.tried_["silhouette"] == -1).all()
    assert np.array_equal(model.predict(X), model.labels_)


def test_a_kernel_of_ones_own_has_its_bandwidth_found_by_the_silhouette():
    X, clouds, bands = make_two_views(120, random_state=0)
    own = Kernel(lambda beta, xp: 1 / (1 + beta) ** 4)
    model = KDAC(2, kernel=own.with_bandwidth, random_state=0).fit(scale(X), clouds)
    assert normalized_mutual_info_score(bands, model.labels_) > 0.9
    assert model.kernel_.sigma in model.tried_["bandwidth"]


@pytest.mark.parametrize("kind", [UnsupervisedIKDR, KDAC], ids=lambda kind: kind.__name__)
def test_callback_stops_a_clustering_with_the_turn(kind, wine):
    """And tries no other bandwidth."""
    model, told = told_to_stop(kind(3, random_state=0), 1, wine[0])
    assert len(told) == 1 and model.n_iter_ == 1 and len(model.labels_) == 178


@pytest.mark.parametrize("fitted", [UnsupervisedIKDR, KDAC], ids=lambda kind: kind.__name__)
def test_callback_and_verbose_see_every_bandwidth(fitted, wine, capsys):
    """With a column that others determine W is solved for in fewer, and shown in all of them."""
    seen = []
    X = np.c_[wine[0][:, :4], wine[0][:, :4].sum(axis=1)]
    model = fitted(2, verbose=True, callback=seen.append, random_state=0).fit(X)
    said = capsys.readouterr().out
    served = model.tried_["silhouette"] > -1
    assert all(f"bandwidth {sigma:.3g}, " in said for sigma in model.tried_["bandwidth"][served])
    assert all(at.W.shape == (5, 2) and len(at.U) == 178 for at in seen) and seen
