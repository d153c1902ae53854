"""The steps that train a network."""

from dataclasses import asdict
from itertools import combinations

import numpy as np
import pytest
from ismlit_book.methods.knet import KNetClustering
from ismlit_book.methods.knet.attraction import frozen, pull
from ismlit_book.methods.knet.perceptron import Adam, Perceptron, batches
from ismlit_book.methods.knet.training import Schedule, Trainer, Training
from library.problems import orthonormal
from numpy.testing import assert_allclose


def test_batches_stand_for_all_pairs(rng, monkeypatch):
    """The gradient of the batches, on the average over all of them, is that of all pairs."""
    X, sigma = rng.standard_normal((6, 2)), 0.9
    U, D = orthonormal(6, 2, rng), np.full(6, 2.0)
    net, seen = Perceptron((2, 4, 2), np.random.RandomState(0)), []
    net.theta += 0.3 * rng.standard_normal(net.theta.size)

    monkeypatch.setattr(Adam, "ascend", lambda self, theta, gradient: seen.append(gradient[0]))
    rows = [list(batch) for batch in combinations(range(6), 3)]
    run = Training(net, net, iter(rows), [Adam(net.theta.size, 0.1)] * 2)
    Trainer(X, sigma, Schedule(n_steps=len(rows)), None)._block([run], U, D)
    Z, inputs = net.forward(X)
    expected = net.backward(inputs, pull(Z, frozen(U, D), sigma)[1])[0]
    assert_allclose(np.mean(seen, axis=0), expected, atol=1e-12 * np.abs(expected).max())


def test_defaults_of_a_schedule_are_those_of_the_estimator():
    asked = KNetClustering().get_params()
    assert asdict(Schedule()) == {name: asked[name] for name in asdict(Schedule())}


@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize("skip", [True, False])
def test_networks_trained_together_are_those_trained_alone(skip, penalty, rng):
    """Step by step as each on its own, with other weights, rows and numbers of steps before."""
    X, U, D = rng.standard_normal((30, 3)), orthonormal(30, 2, rng), np.full(30, 3.0)
    schedule = Schedule(n_steps=25, batch_size=8, penalty=penalty)
    trainer = Trainer(X, 0.9, schedule, None)

    def run(seed):
        state = np.random.RandomState(seed)
        nets = [Perceptron((3, 7, 4, 3), state, skip) for _ in range(2)]
        adams = [Adam(net.theta.size, 0.01) for net in nets]
        return Training(*nets, batches(30, 8, state), adams)

    together, alone = ([run(seed) for seed in range(3)] for _ in range(2))
    for _ in range(2):
        trainer._block(together, U, D)
        for one in alone:
            trainer._block([one], U, D)
    trainer._block(together[1:], U, D)  # and after one of them has dropped out
    for one in alone[1:]:
        trainer._block([one], U, D)
    for one, other in zip(together, alone, strict=True):
        assert_allclose(one.encoder.theta, other.encoder.theta, rtol=1e-8, atol=1e-10)
        assert_allclose(one.decoder.theta, other.decoder.theta, rtol=1e-8, atol=1e-10)
        assert one.optimisers[0].t == other.optimisers[0].t
    assert together[0].optimisers[0].t == 50 and together[1].optimisers[0].t == 75
    gap = np.abs(together[0].encoder.theta - together[1].encoder.theta).max()
    assert gap > 0.1  # they are not one network
