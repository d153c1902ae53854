import shutil
import socket

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ismlit import datasets


def needs(name):
    """Skip where a real set is not to be had."""
    reason = f"data set {name!r} is not at hand (ISMLIT_DATA)"
    return pytest.mark.skipif(not datasets.is_available(name), reason=reason)


needs_cancer = needs("cancer")


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No cache, and a network that refuses every connection."""
    monkeypatch.setenv("ISMLIT_DATA", str(tmp_path))

    def refuse(*args, **kwargs):
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    datasets._fetchable.cache_clear()
    yield tmp_path
    datasets._fetchable.cache_clear()


def test_shipped_sets():
    assert datasets.load_wine().data.shape == (178, 13)
    assert datasets.load_breast_cancer().data.shape == (569, 30)
    assert datasets.load_digits().data.shape == (1797, 64)


@needs_cancer
def test_cancer_is_the_original_set():
    bunch = datasets.load_cancer()
    assert bunch.data.shape == (683, 9) and len(bunch.feature_names) == 9
    assert np.bincount(bunch.target).tolist() == [444, 239]
    assert set(np.unique(bunch.data)) == set(range(1, 11))


@pytest.mark.filterwarnings("ignore::Warning")  # requests may warn on its way out
def test_without_network_and_cache_the_error_says_what_to_do(offline):
    assert not datasets.is_available("cancer")
    with pytest.raises(OSError, match=r"cancer_683x9\.csv.*https://.*ISMLIT_DATA"):
        datasets.load_cancer()


@needs_cancer
@pytest.mark.filterwarnings("ignore::Warning")
def test_a_damaged_file_is_not_used(offline, monkeypatch):
    monkeypatch.undo()
    source = datasets.fetch("cancer")
    monkeypatch.setenv("ISMLIT_DATA", str(offline))
    (offline / "cancer").mkdir()
    for path in source:
        shutil.copy(path, offline / "cancer" / path.name)
    damaged = offline / "cancer" / source[0].name
    damaged.chmod(0o644)
    damaged.write_text("1,2,3\n")

    def refuse(*args, **kwargs):
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(OSError, match="ISMLIT_DATA"):
        datasets.fetch("cancer")


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="known are"):
        datasets.fetch("iris")
    with pytest.raises(ValueError, match="'circle'"):
        datasets.make_relation("square")


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


@needs("face")
def test_faces_agree_with_their_file_names():
    bunch = datasets.load_face()
    assert bunch.data.shape == (624, 960) and bunch.images.shape == (624, 30, 32)
    assert np.bincount(bunch.pose).tolist() == [157, 155, 156, 156]
    assert len(set(bunch.target_names)) == 20
    assert sorted(bunch.pose_names) == ["left", "right", "straight", "up"]
    assert bunch.target_names[bunch.target[0]] == "glickman"  # the first file's name
    assert bunch.pose_names[bunch.pose[0]] == "left"


@needs("mnist")
def test_mnist_is_its_test_part():
    bunch = datasets.load_mnist()
    assert bunch.data.shape == (10_000, 784)
    assert bunch.target[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert bunch.data.min() == 0 and bunch.data.max() == 255
    assert np.bincount(bunch.target)[1] == 1135


@needs("flower")
def test_flower_is_256_colours():
    bunch = datasets.load_flower()
    assert bunch.data.shape == (256, 3) and bunch.index.shape == (256, 350)
    assert len(np.unique(bunch.index)) == 256


@needs("flower-blanked")
def test_flower_with_its_flowers_white_has_106_colours():
    assert datasets.load_flower(blanked=True).data.shape == (106, 3)


def test_four_gaussians_have_two_independent_labellings():
    X, first, second = datasets.make_four_gaussians(400, 6, random_state=0)
    assert X.shape == (400, 6)
    assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    assert np.bincount(2 * first + second).tolist() == [100] * 4
    for labels, direction in ((first, [1, 1]), (second, [1, -1])):
        side = X[:, :2] @ direction > 0
        assert np.mean(side == labels) in (0.0, 1.0)  # ten deviations lie between the groups


def correlation(column, labels):
    """How well the sign of a centred column tells two labels apart, in [0, 1]."""
    return abs(np.mean(np.sign(column - column.mean()) * (2 * labels - 1)))


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


@pytest.mark.parametrize(
    "name, load, shape, existing, target",
    [
        ("small-gaussian", datasets.load_small_gaussian, (40, 2), 1, 0),
        ("large-gaussian", datasets.load_large_gaussian, (200, 4), 0, 2),
        ("moon", datasets.load_moon, (400, 4), 2, None),
        ("moon-noise", datasets.load_moon_noise, (200, 7), 3, None),
    ],
)
def test_sets_with_two_clusterings(name, load, shape, existing, target):
    if not datasets.is_available(name):
        pytest.skip(f"data set {name!r} is not at hand (ISMLIT_DATA)")
    bunch = load()
    assert bunch.data.shape == shape
    assert correlation(bunch.data[:, existing], bunch.existing) == 1
    if target is not None:
        assert correlation(bunch.data[:, target], bunch.target) == 1
    assert abs(np.mean((2 * bunch.existing - 1) * (2 * bunch.target - 1))) < 1e-12


def test_webkb_and_face_scores():
    for name in ("webkb", "face-pca"):
        if not datasets.is_available(name):
            pytest.skip(f"data set {name!r} is not at hand (ISMLIT_DATA)")
    webkb, face = datasets.load_webkb(), datasets.load_face_pca()
    assert webkb.data.shape == (1041, 139) and webkb.counts.shape == (1041, len(webkb.words))
    assert np.bincount(webkb.existing).tolist() == [226, 252, 255, 308]  # universities
    assert np.bincount(webkb.target).tolist() == [244, 153, 86, 558]  # topics
    assert face.data.shape == (624, 20)
    assert len(set(face.existing)) == 20
    assert np.bincount(face.target).tolist() == [157, 155, 156, 156]
    with pytest.raises(ValueError, match="n must be one of"):
        datasets.load_large_gaussian(500)


# ---------------------------------------------------------------- sets of chapter 6


@needs("car")
def test_the_published_label_of_car_is_a_feature():
    car = datasets.load_car()
    assert car.data.shape == (1728, 6)
    assert np.bincount(car.target).tolist() == [1210, 384, 69, 65]
    safety = car.data[:, car.feature_names.index("safety")]
    assert len(set(zip(safety, car.published))) == 3


@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [
        ("random", (60, 3), [30, 30]),
        ("adversarial", (80, 2), [40, 40]),
        ("spiral", (1200, 2), [400, 400, 400]),
        ("divorce", (170, 54), [86, 84]),
        ("cancer-615", (615, 9), [399, 216]),
        ("moon-plane", (1000, 2), [500, 500]),
        ("spiral-300", (300, 2), [89, 106, 105]),
        ("spiral-3000", (3000, 2), [1000, 1000, 1000]),
        ("spiral-30000", (30_000, 2), [10_000, 10_000, 10_000]),
        ("reuters", (10_000, 5), [4336, 2372, 2437, 855]),
    ],
)
def test_sets_of_chapters_4_and_6(name, shape, sizes):
    if not datasets.is_available(name):
        pytest.skip(f"data set {name!r} is not at hand (ISMLIT_DATA)")
    bunch = getattr(datasets, "load_" + name.replace("-", "_"))()
    assert bunch.data.shape == shape
    assert np.unique(bunch.target, return_counts=True)[1].tolist() == sizes


def test_face_27_is_made_of_the_pixels():
    if not (datasets.is_available("face-27") and datasets.is_available("face")):
        pytest.skip("data sets 'face' and 'face-27' are not at hand (ISMLIT_DATA)")
    few, pixels = datasets.load_face_27(), datasets.load_face()
    assert few.data.shape == (624, 27) and np.array_equal(few.target, pixels.target)
    assert np.array_equal(few.pose, pixels.pose)
    X = (pixels.data - pixels.data.mean(axis=0)) / pixels.data.std(axis=0)
    U = np.linalg.svd(X, full_matrices=False)[0][:, :27]
    overlap = np.abs(np.sum(U * few.data, axis=0)) / np.linalg.norm(few.data, axis=0)
    assert overlap.min() > 0.999  # the scores have four decimals


def test_the_spirals_are_draws_of_their_own():
    for name in ("spiral-300", "spiral-3000"):
        if not datasets.is_available(name):
            pytest.skip(f"data set {name!r} is not at hand (ISMLIT_DATA)")
    bunch = datasets.load_spiral_300()
    assert (
        bunch.new.shape == (30_000, 2)
        and np.bincount(bunch.new_target)[1:].tolist() == [10_000] * 3
    )


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
