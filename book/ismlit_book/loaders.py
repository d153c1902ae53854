"""The thesis's real sets, and other public ones: files checked by their sha256.

They come from commit-pinned public addresses through pooch. The cache folder is ``$ISMLIT_DATA``
when set, else pooch's own; nothing is downloaded that is already there.
"""

import gzip
import json
import os
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ismlit_book.files import optional

# `files` has address and sha256 of each file; `sets`, the files that a set needs.
REGISTRY = json.loads((Path(__file__).parent / "registry.json").read_text(encoding="utf-8"))
FILES = REGISTRY["sets"]


def _pooch():
    """The pooch module; its progress bar warns about missing notebook widgets on import."""
    with warnings.catch_warnings(action="ignore"):
        import pooch
    return pooch


def _folder():
    return Path(os.environ.get("ISMLIT_DATA") or _pooch().os_cache("ismlit"))


def fetch(name):
    """Paths of the files of real set `name`, from the cache or the network, hashes checked.

    Raises
    ------
    ValueError
        For an unknown name.
    OSError
        If a file is neither in the cache nor to be had from its address.
    """
    if name not in FILES:
        raise ValueError(f"no real data set {name!r}; known are {sorted(FILES)}")
    return [_fetch_file(file) for file in FILES[name]]


def _fetch_file(file):
    pooch = _pooch()
    entry, folder = REGISTRY["files"][file], _folder()
    path = folder / file
    if path.exists() and pooch.file_hash(str(path)) == entry["sha256"]:
        return path  # also from a read-only folder
    try:
        found = pooch.retrieve(
            entry["url"], entry["sha256"], fname=path.name, path=path.parent, progressbar=False
        )
    except Exception as error:
        raise OSError(
            f"data file {file!r} is not in {folder} and could not be fetched from "
            f"{entry['url']} ({type(error).__name__}); set the variable ISMLIT_DATA to a folder "
            "that holds it, or connect to the network"
        ) from error
    return Path(found)


def is_available(name):
    """Whether `name` can be loaded; tries the network once per process. Never raises.

    Examples
    --------
    >>> from ismlit_book.loaders import is_available
    >>> is_available("wine")  # scikit-learn ships it
    True
    """
    return name not in FILES or _fetchable(name)


@cache
def _fetchable(name):
    try:
        fetch(name)
    except OSError:
        return False
    return True


# ---------------------------------------------------------------- real sets


def load_cancer():
    """Breast Cancer Wisconsin (Original): 683 x 9 integers 1..10; 444 benign, 239 malignant.

    The set behind the thesis's "Cancer"; its text links the 30-feature Diagnostic set
    (`load_breast_cancer`), which is another one. target: 0 benign, 1 malignant.
    """
    X, y = (np.loadtxt(path, delimiter=",") for path in fetch("cancer"))
    return Bunch(
        data=X,
        target=(y == y.max()).astype(int),
        feature_names=list(REGISTRY["features"]["cancer"]),
        target_names=np.array(["benign", "malignant"]),
    )


def load_face():
    """CMU Face Images: 624 x 960 grey levels of 20 people looking in 4 directions.

    target: the person; pose: the direction, an index into pose_names; images: (624, 30, 32).
    From UCI (T. Mitchell), CC BY 4.0.
    """
    pixels, identity, pose, names = fetch("face")
    X = np.loadtxt(pixels, delimiter=",")
    words = np.array([line.split("_")[:2] for line in names.read_text("utf-8").split()])
    target, pose = (np.loadtxt(path, delimiter=",").astype(int) for path in (identity, pose))
    named = lambda labels, part: words[np.unique(labels, return_index=True)[1], part]
    return Bunch(
        data=X,
        target=target,
        pose=pose,
        images=X.reshape(-1, 30, 32),
        feature_names=[f"row {i}, column {j}" for i in range(30) for j in range(32)],
        target_names=named(target, 0),
        pose_names=named(pose, 1),
    )


def load_mnist():
    """The test part of MNIST: 10000 x 784 grey levels 0..255, ten digits.

    By Y. LeCun and C. Cortes, CC BY-SA 3.0; the part that the thesis uses.
    """
    files = fetch("mnist")
    X, y = (np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8) for path in files)
    return Bunch(
        data=X[16:].reshape(-1, 784).astype(float),
        target=y[8:].astype(int),
        feature_names=[f"row {i}, column {j}" for i in range(28) for j in range(28)],
        target_names=np.array([str(k) for k in range(10)]),
    )


def load_flower(blanked=False):
    """The 256 distinct colours (256 x 3, bytes) of a 350 x 256 picture of flowers.

    index (256, 350) says which colour each pixel has. The picture is Alain Nicolas's and not
    free: it may be computed with, not shown. There are no labels (target is None). `blanked`:
    the same with its pink flowers white, 106 colours, which the runs of Table 3.1 read.
    """
    Image = optional("PIL.Image")
    with Image.open(fetch("flower-blanked" if blanked else "flower")[0]) as image:
        pixels = np.asarray(image.convert("RGB"))
    colours, index = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    return Bunch(
        data=colours.astype(float),
        target=None,
        index=index.reshape(pixels.shape[:2]),
        feature_names=["red", "green", "blue"],
    )


# ------------------------------------------------------- two clusterings of one set (chapter 3)


def load_small_gaussian():
    """SG: 40 x 2, four tight groups of ten at (+-2.5, +-2.5). Raw units.

    existing: the side of column 1; target: the side of column 0.
    """
    X, group = _tables("small-gaussian")
    group = group.astype(int) - 1
    return Bunch(data=X, existing=group // 2, target=group % 2)


def load_large_gaussian(n=200):
    """LG: n x 4 (200 or 1000), four groups in columns 0 to 2, column 3 uniform noise.

    existing and target as published; with n = 1000 `existing` pairs opposite groups, so that
    no direction shows it. Text: 1000 samples; Table 3.2 and the published runs: 200.
    """
    return _two_views("large-gaussian", n, (200, 1000))


def load_moon():
    """Moon: 400 x 4. existing: two Gaussians (columns 2, 3); target: two parabolas (0, 1)."""
    return _two_views("moon", 400, (400,))


def load_moon_noise(n=200):
    """MoonN: n x 7 (200 or 1000), as Moon with three more features of uniform noise."""
    return _two_views("moon-noise", n, (200, 1000))


def _two_views(name, n, sizes):
    if n not in sizes:
        raise ValueError(f"n must be one of {sizes}, got {n!r}")
    X, existing, target = _tables(name)[3 * sizes.index(n) :][:3]
    return Bunch(data=X, existing=existing.astype(int), target=target.astype(int))


def _tables(name):
    return [np.loadtxt(path, delimiter=",") for path in fetch(name)]


def load_webkb():
    """WebKB: 1041 pages of four universities, as 139 PCA scores of 500 word counts.

    existing: the university; target: the topic (course, faculty, project, student). counts
    (1041, 500) and words (500,) are what the scores were made from.
    """
    X, university, topic, counts, words = fetch("webkb")
    X, university, topic, counts = (
        np.loadtxt(path, delimiter=",") for path in (X, university, topic, counts)
    )
    return Bunch(
        data=X,
        existing=university.astype(int),
        target=topic.astype(int),
        counts=counts,
        words=np.array(words.read_text("utf-8").replace(",", "\n").split()),
    )


def load_face_pca():
    """CMU Face Images as 20 whitened principal components: 624 x 20.

    existing: the person (20); target: the direction (4). Rows and label numbers are in an order
    of their own, not that of `load_face`.
    """
    X, identity, pose = _tables("face-pca")
    return Bunch(data=X, existing=identity.astype(int), target=pose.astype(int))


# ------------------------------------------------------------------- sets of chapter 4


def load_moon_plane():
    """Moon of chapter 4: 1000 x 2, two parabolas of 500 points each. Raw units."""
    return _classes("moon-plane")


def load_spiral_3000():
    """Spiral1 of chapter 4: 3000 x 2, three arms of 1000 points each. Raw units."""
    return _classes("spiral-3000")


def load_spiral_30000():
    """Spiral2 of chapter 4: 30 000 x 2, three arms of 10 000 points each. Raw units."""
    return _classes("spiral-30000")


def load_spiral_300():
    """The 300 spiral points that chapter 4 trains on, already scaled (89, 106 and 105 an arm).

    new, new_target: the 30 000 points to be clustered then, in raw units.
    """
    X, y, new, new_target = _tables("spiral-300")
    return Bunch(data=X, target=y.astype(int), new=new, new_target=new_target.astype(int))


def load_face_27():
    """CMU Face Images as 27 whitened principal components: 624 x 27, rows as in `load_face`.

    target: the person (20); pose: the direction (4).
    """
    X, identity, pose = _tables("face-27")
    return Bunch(data=X, target=identity.astype(int), pose=pose.astype(int))


def load_reuters():
    """RCV: 10 000 news articles as 5 whitened principal components of tf-idf; four topics."""
    return _classes("reuters")


# ------------------------------------------------------------------- sets of chapter 6


def load_random():
    """Random: 60 x 3 normal numbers, two classes of 30 at random. The text says 80 x 2."""
    return _classes("random")


def load_adversarial():
    """Adversarial: 80 x 2; each point of class 1 lies within 0.04 of its twin in class 0."""
    return _classes("adversarial")


def load_spiral():
    """Spiral: 1200 x 2, three arms of 400 points each."""
    return _classes("spiral")


def load_divorce():
    """Divorce Predictors: 170 x 54 answers 0..4; 84 divorced (1), 86 married (0). UCI."""
    return _classes("divorce")


def load_cancer_615():
    """The 615 rows of Cancer that chapter 6's runs read, standardised (the text: 683)."""
    return _classes("cancer-615")


def load_car():
    """Car Evaluation: 1728 x 6 ordinal codes; target the four UCI classes (1210, 384, 69, 65).

    published: the label that the thesis's runs used (576, 576, 576), a copy of the feature
    "safety"; the text says two classes. UCI.
    """
    X, target, published = _tables("car")
    return Bunch(
        data=X,
        target=target.astype(int),
        published=published.astype(int),
        feature_names=["buying", "maint", "doors", "persons", "lug_boot", "safety"],
    )


def _classes(name):
    X, y = _tables(name)
    return Bunch(data=X, target=y.astype(int))
