"""The steps that train a network."""

from dataclasses import asdict
from itertools import combinations

import numpy as np
from numpy.testing import assert_allclose

from ismlit import KNetClustering
from ismlit.attraction import frozen, pull
from ismlit.perceptron import Perceptron
from ismlit.training import Schedule, Trainer, Training
from tests.problems import orthonormal


def test_batches_stand_for_all_pairs(rng):
    """The gradient of the batches, on the average over all of them, is that of all pairs."""
    X, sigma = rng.standard_normal((6, 2)), 0.9
    U, D = orthonormal(6, 2, rng), np.full(6, 2.0)
    net, seen = Perceptron((2, 4, 2), np.random.RandomState(0)), []
    net.theta += 0.3 * rng.standard_normal(net.theta.size)

    class Recorder:
        def ascend(self, theta, gradient):
            seen.append(gradient)

    rows = [list(batch) for batch in combinations(range(6), 3)]
    run = Training(net, net, iter(rows), [Recorder()])
    Trainer(X, sigma, Schedule(n_steps=len(rows)), None)._block(run, U, D)
    Z, inputs = net.forward(X)
    expected = net.backward(inputs, pull(Z, frozen(U, D), sigma)[1])[0]
    assert_allclose(np.mean(seen, axis=0), expected, atol=1e-12 * np.abs(expected).max())


def test_defaults_of_a_schedule_are_those_of_the_estimator():
    asked = KNetClustering().get_params() | {"moving": KNetClustering().degrees == "moving"}
    assert asdict(Schedule()) == {name: asked[name] for name in asdict(Schedule())}
