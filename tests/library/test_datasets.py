import numpy as np
import pytest
from library.problems import correlation
from numpy.testing import assert_allclose

from ismlit import datasets


def test_relations_are_what_they_say():
    x, y = datasets.make_relation("parabola", 4000, noise=0, random_state=0)
    assert_allclose(y, 2 * x**2 - 1)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.05  # 3 / sqrt(4000)
    x, y = datasets.make_relation("circle", 50, noise=0, random_state=0)
    assert_allclose(x**2 + y**2, 1)


def test_a_line_is_a_line():
    """Both variables are one, over all of [-1, 1]."""
    x, y = datasets.make_relation("line", 500, noise=0, random_state=0)
    assert np.array_equal(x, y) and -1 <= x.min() < -0.9 and 0.9 < x.max() <= 1


def test_independent_variables_are_independent_and_uniform():
    """No power of one tells anything of a power of the other, and both fill [-1, 1]."""
    x, y = datasets.make_relation("independent", 4000, noise=0, random_state=0)
    for a in (1, 2, 3):
        for b in (1, 2, 3):
            assert abs(np.corrcoef(x**a, y**b)[0, 1]) < 0.06  # four deviations: 4 / sqrt(4000)
    for values in (x, y):
        assert np.abs(np.sort(values) - np.linspace(-1, 1, 4000)).max() < 0.08
    shares = np.histogram2d(x, y, bins=2)[0] / 4000
    assert_allclose(shares, 0.25, atol=0.03)


@pytest.mark.parametrize("kind", ["line", "parabola", "circle", "independent"])
def test_relations_have_the_noise_asked_for(kind):
    """It is added to both variables, normal with the given deviation; the rest is the same."""
    clean = datasets.make_relation(kind, 4000, noise=0, random_state=3)
    noisy = datasets.make_relation(kind, 4000, noise=0.1, random_state=3)
    for before, after in zip(clean, noisy):
        assert np.std(after - before) == pytest.approx(0.1, rel=0.05)
        assert abs(np.mean(after - before)) < 0.01


def test_rings_lie_in_their_plane():
    X, y, plane = datasets.make_rings(300, 5, noise=0, random_state=1)
    radii = np.linalg.norm(X @ plane, axis=1)
    assert_allclose(radii, 1 + 1.5 * y)
    assert_allclose(plane.T @ plane, np.eye(2), atol=1e-12)


def test_four_gaussians_have_two_independent_labellings():
    X, first, second = datasets.make_four_gaussians(400, 6, random_state=0)
    assert X.shape == (400, 6)
    assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    assert np.bincount(2 * first + second).tolist() == [100] * 4
    for labels, direction in ((first, [1, 1]), (second, [1, -1])):
        side = X[:, :2] @ direction > 0
        assert np.mean(side == labels) in (0.0, 1.0)  # ten deviations lie between the groups


def test_two_views_show_in_their_own_columns():
    X, side, parabola = datasets.make_two_views(200, 2, random_state=0)
    assert X.shape == (200, 6) and np.bincount(side).tolist() == [100, 100]
    assert correlation(X[:, 2], side) == correlation(X[:, 3], side) == 1
    assert abs(np.mean((2 * side - 1) * (2 * parabola - 1))) == 0
    curve = np.where(parabola == 0, X[:, 0] ** 2, 8 - 1.4 * (X[:, 0] - 2) ** 2)
    assert np.abs(X[:, 1] - curve).max() < 2  # noise of 0.1 on both coordinates
    wrong = np.where(parabola == 1, X[:, 0] ** 2, 8 - 1.4 * (X[:, 0] - 2) ** 2)
    assert np.abs(X[:, 1] - wrong).max() > 5
    for bad in (0, 6, 10.5):
        with pytest.raises(ValueError, match="multiple of 4"):
            datasets.make_two_views(bad)


def test_adversarial_twins_are_close_and_differ_in_class():
    X, y = datasets.make_adversarial(40, random_state=0)
    assert y.tolist() == [0] * 20 + [1] * 20
    gaps = np.linalg.norm(X[:20] - X[20:], axis=1)
    assert gaps.max() < 0.05  # five deviations of 0.01 in the plane
    with pytest.raises(ValueError, match="even"):
        datasets.make_adversarial(7)


def test_spiral_arms():
    X, y = datasets.make_spiral(300, noise=0, random_state=0)
    radius = np.linalg.norm(X, axis=1)
    assert np.bincount(y).tolist() == [100, 100, 100]
    assert_allclose([radius.min(), radius.max()], [0.3, 2])
    with pytest.raises(ValueError, match="multiple of 3"):
        datasets.make_spiral(100)


def test_arms_of_the_spiral_lie_beside_each_other():
    """Where they have one radius, two arms that follow each other are 4 radians apart."""
    X, arm = datasets.make_spiral(90, noise=0, random_state=0)
    angles = np.array([np.arctan2(*X[arm == k].T) for k in range(3)])
    assert_allclose(np.diff(angles, axis=0) % (2 * np.pi), 4)


def test_random_labels_are_balanced():
    X, y = datasets.make_random_labels(80, 2, random_state=0)
    assert X.shape == (80, 2) and y.sum() == 40


def test_an_unknown_relation_is_refused():
    with pytest.raises(ValueError, match="'circle'"):
        datasets.make_relation("square")
