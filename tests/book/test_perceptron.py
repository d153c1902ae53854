import numpy as np
import pytest
from ismlit_book.methods.knet.perceptron import Adam, Perceptron, batches
from library.problems import slopes
from numpy.testing import assert_allclose


def network(skip, seed=0, sizes=(3, 7, 5, 3)):
    rng = np.random.RandomState(seed)
    net = Perceptron(sizes, rng, skip)
    net.theta += 0.1 * rng.standard_normal(net.theta.size)  # a last layer of zeros hides much
    return net


@pytest.mark.parametrize("skip", [True, False])
def test_backward_is_the_gradient(skip, rng):
    net, X, G = network(skip), rng.standard_normal((6, 3)), rng.standard_normal((6, 3))
    _, inputs = net.forward(X)
    gradient, back = net.backward(inputs, G)

    def loss(theta):
        net.theta[:] = theta
        return np.sum(G * net(X))

    # central differences of a function that is linear away from its kinks
    assert_allclose(back, slopes(lambda X: np.sum(G * net(X)), X, h=1e-6), atol=1e-7)
    assert_allclose(gradient, slopes(loss, net.theta.copy(), h=1e-6), atol=1e-7)


def test_images_by_hand():
    net = Perceptron((2, 1, 2), np.random.RandomState(0), skip=False)
    net.theta[:] = [1, -2, 0.5, 3, 4, 10, 20]  # W_1 = (1, -2)', b_1 = 0.5, W_2 = (3, 4), b_2
    assert_allclose(net(np.array([[1.0, 0.0], [0.0, 1.0]])), [[14.5, 26.0], [10.0, 20.0]])


def test_a_skip_connection_starts_as_the_identity(rng):
    X = rng.standard_normal((5, 3))
    assert np.array_equal(Perceptron((3, 8, 3), np.random.RandomState(1))(X), X)


def test_first_weights_keep_the_variance(rng):
    net = Perceptron((400, 300, 400), np.random.RandomState(0), skip=False)
    (W, b), _ = net.layers
    assert np.var(W) == pytest.approx(2 / 400, rel=0.02)  # 120 000 uniform draws
    assert not b.any()


def test_skip_needs_equal_widths():
    with pytest.raises(ValueError, match="as many outputs as inputs, got 3 inputs and 2"):
        Perceptron((3, 4, 2), np.random.RandomState(0))


def test_adam_follows_the_formula(rng):
    gradients = rng.standard_normal((5, 3))
    theta, adam = np.zeros(3), Adam(3, 0.01)
    m, v, expected = np.zeros(3), np.zeros(3), np.zeros(3)
    for t, g in enumerate(gradients, 1):
        adam.ascend(theta, g)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        expected += 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        assert_allclose(theta, expected, rtol=1e-10)  # the same sums in another order


def test_batches_visit_every_row_once_a_pass():
    rows = batches(11, 5, np.random.RandomState(0))
    passes = [np.r_[next(rows), next(rows)] for _ in range(3)]
    assert all(len(set(p)) == 10 and set(p) <= set(range(11)) for p in passes)
    assert not np.array_equal(passes[0], passes[1])
    with pytest.raises(ValueError, match="1 to n = 3 rows, got 5"):
        next(batches(3, 5, np.random.RandomState(0)))
