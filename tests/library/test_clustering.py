"""The search for a bandwidth in the clusterings, watched and stopped."""

import numpy as np
import pytest
from library.problems import told_to_stop

from ismlit import (
    KDAC,
    UnsupervisedIKDR,
)


def test_warning_where_no_bandwidth_serves():
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((60, 2)) * 0.01, [[50.0, 50.0]]]  # one row far from all
    with pytest.warns(UserWarning, match="no bandwidth tried gives UnsupervisedIKDR"):
        model = UnsupervisedIKDR(2, random_state=0).fit(X)
    assert (model.tried_["silhouette"] == -1).all()
    assert np.array_equal(model.predict(X), model.labels_)


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
