"""The climb, watched and stopped by a callback."""

import numpy as np
import pytest
from library.problems import told_to_stop

from ismlit import (
    SupervisedIKDR,
    UnsupervisedIKDR,
)
from ismlit.geometry.frames import projector_distance


@pytest.mark.parametrize(
    "fitted", [SupervisedIKDR, UnsupervisedIKDR], ids=lambda kind: kind.__name__
)
def test_callback_and_verbose_see_every_step(fitted, wine, capsys):
    heights = []
    watching = dict(callback=lambda at: heights.append(at.J), verbose=True)
    fitted(3, bandwidth=1.0, init="taylor", **watching).fit(*wine)
    assert len(heights) >= 2 and heights[-1] == pytest.approx(max(heights))
    assert capsys.readouterr().out.count("J = ") == len(heights)


def test_callback_stops_a_fit_which_keeps_the_last_step(wine):
    """And says nothing: warnings are errors here. A second fit goes on to the end."""
    model, told = told_to_stop(SupervisedIKDR(2, init="random", random_state=0), 3, *wine)
    assert len(told) == 3 == len(model.history_["objective"]) and model.n_iter_ == 2
    assert not model.converged_ and model.result_.message == "the callback returned True"
    assert projector_distance(model.W_, told[-1].W) < 1e-7
    assert model.set_params(callback=None).fit(*wine).converged_


def test_callback_sees_w_for_the_columns_of_x(wine):
    X, shapes = np.c_[wine[0], np.ones(178)], set()
    SupervisedIKDR(2, init="taylor", callback=lambda at: shapes.add(at.W.shape)).fit(X, wine[1])
    assert shapes == {(14, 2)}
