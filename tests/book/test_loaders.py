import shutil
import socket

import numpy as np
import pytest
from ismlit_book import loaders
from library.problems import correlation
from sets import needs


def without_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No cache, and a network that refuses every connection."""
    monkeypatch.setenv("ISMLIT_DATA", str(tmp_path))
    without_network(monkeypatch)
    loaders._fetchable.cache_clear()
    yield tmp_path
    loaders._fetchable.cache_clear()


@pytest.mark.filterwarnings("ignore::Warning")  # requests may warn on its way out
def test_without_network_and_cache_the_error_says_what_to_do(offline):
    assert not loaders.is_available("cancer")
    with pytest.raises(OSError, match=r"cancer_683x9\.csv.*https://.*ISMLIT_DATA"):
        loaders.load_cancer()


@pytest.mark.filterwarnings("ignore::Warning")
def test_a_damaged_file_is_not_used(offline, monkeypatch):
    monkeypatch.undo()
    needs("cancer")
    source = loaders.fetch("cancer")
    monkeypatch.setenv("ISMLIT_DATA", str(offline))
    (offline / "cancer").mkdir()
    for path in source:
        shutil.copy(path, offline / "cancer" / path.name)
    damaged = offline / "cancer" / source[0].name
    damaged.chmod(0o644)
    damaged.write_text("1,2,3\n")
    without_network(monkeypatch)
    with pytest.raises(OSError, match="ISMLIT_DATA"):
        loaders.fetch("cancer")


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="known are"):
        loaders.fetch("iris")
    with pytest.raises(ValueError, match="200"):
        loaders.load_large_gaussian(500)


def test_faces_agree_with_their_file_names():
    needs("face")
    bunch = loaders.load_face()
    assert bunch.data.shape == (624, 960) and bunch.images.shape == (624, 30, 32)
    assert np.bincount(bunch.pose).tolist() == [157, 155, 156, 156]
    assert len(set(bunch.target_names)) == 20
    assert sorted(bunch.pose_names) == ["left", "right", "straight", "up"]
    assert bunch.target_names[bunch.target[0]] == "glickman"  # the first file's name
    assert bunch.pose_names[bunch.pose[0]] == "left"


def test_mnist_is_its_test_part():
    needs("mnist")
    bunch = loaders.load_mnist()
    assert bunch.data.shape == (10_000, 784)
    assert bunch.target[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]
    assert bunch.data.min() == 0 and bunch.data.max() == 255
    assert np.bincount(bunch.target)[1] == 1135


def test_flower_is_256_colours():
    needs("flower")
    bunch = loaders.load_flower()
    assert bunch.data.shape == (256, 3) and bunch.index.shape == (256, 350)
    assert len(np.unique(bunch.index)) == 256


@pytest.mark.parametrize(
    "name, load, shape, existing, target",
    [
        ("small-gaussian", loaders.load_small_gaussian, (40, 2), 1, 0),
        ("large-gaussian", loaders.load_large_gaussian, (200, 4), 0, 2),
        ("moon", loaders.load_moon, (400, 4), 2, None),
        ("moon-noise", loaders.load_moon_noise, (200, 7), 3, None),
    ],
)
def test_sets_with_two_clusterings(name, load, shape, existing, target):
    needs(name)
    bunch = load()
    assert bunch.data.shape == shape
    assert correlation(bunch.data[:, existing], bunch.existing) == 1
    if target is not None:
        assert correlation(bunch.data[:, target], bunch.target) == 1
    assert abs(np.mean((2 * bunch.existing - 1) * (2 * bunch.target - 1))) < 1e-12


def test_webkb_and_face_scores():
    needs("webkb", "face-pca")
    webkb, face = loaders.load_webkb(), loaders.load_face_pca()
    assert webkb.data.shape == (1041, 139) and webkb.counts.shape == (1041, len(webkb.words))
    assert np.bincount(webkb.existing).tolist() == [226, 252, 255, 308]  # universities
    assert np.bincount(webkb.target).tolist() == [244, 153, 86, 558]  # topics
    assert face.data.shape == (624, 20)
    assert len(set(face.existing)) == 20
    assert np.bincount(face.target).tolist() == [157, 155, 156, 156]


# ---------------------------------------------------------------- sets of chapter 6


def test_the_published_label_of_car_is_a_feature():
    needs("car")
    car = loaders.load_car()
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
        ("cancer", (683, 9), [444, 239]),
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
    needs(name)
    bunch = getattr(loaders, "load_" + name.replace("-", "_"))()
    assert bunch.data.shape == shape
    assert np.unique(bunch.target, return_counts=True)[1].tolist() == sizes


def test_face_27_is_made_of_the_pixels():
    needs("face-27", "face")
    few, pixels = loaders.load_face_27(), loaders.load_face()
    assert few.data.shape == (624, 27) and np.array_equal(few.target, pixels.target)
    assert np.array_equal(few.pose, pixels.pose)
    X = (pixels.data - pixels.data.mean(axis=0)) / pixels.data.std(axis=0)
    U = np.linalg.svd(X, full_matrices=False)[0][:, :27]
    overlap = np.abs(np.sum(U * few.data, axis=0)) / np.linalg.norm(few.data, axis=0)
    assert overlap.min() > 0.999  # the scores have four decimals


def test_the_spirals_are_draws_of_their_own():
    needs("spiral-300", "spiral-3000")
    bunch = loaders.load_spiral_300()
    assert (
        bunch.new.shape == (30_000, 2)
        and np.bincount(bunch.new_target)[1:].tolist() == [10_000] * 3
    )
