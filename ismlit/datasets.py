"""Data to try things on: what scikit-learn ships, and generators.

What the thesis used besides is fetched by `ismlit_book.loaders`.
"""

from __future__ import annotations

import numpy as np
from sklearn import datasets as shipped
from sklearn.utils import check_random_state

# ---------------------------------------------------------------- what scikit-learn ships


def load_wine():
    """Wine: 178 x 13, three cultivars (59, 71, 48), raw units. Ships with scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.datasets import load_wine
    >>> np.bincount(load_wine().target).tolist()
    [59, 71, 48]
    """
    return shipped.load_wine()


def load_breast_cancer():
    """Breast Cancer Wisconsin (Diagnostic): 569 x 30, two classes. Ships with scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.datasets import load_breast_cancer
    >>> data = load_breast_cancer()
    >>> dict(zip(data.target_names.tolist(), np.bincount(data.target).tolist()))
    {'malignant': 212, 'benign': 357}
    """
    return shipped.load_breast_cancer()


def load_digits():
    """Optical digits: 1797 x 64, ten classes. Ships with scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.datasets import load_digits
    >>> np.bincount(load_digits().target).tolist()
    [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    """
    return shipped.load_digits()


# ---------------------------------------------------------------- generators


def _require_multiple(n, m, rule):
    """Refuse n samples that do not make equal groups; `rule` says it in words."""
    if n != int(n) or n % m or n < m:
        raise ValueError(f"n must be a positive {rule}, got {n!r}")


def make_relation(kind, n=200, *, noise=0.05, random_state=None):
    """Two scalar variables x, y (n,) with a known relation, each in about [-1, 1].

    Parameters
    ----------
    kind : {"line", "parabola", "circle", "independent"}
        "line" is correlated; "parabola" and "circle" are uncorrelated but dependent.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.datasets import make_relation
    >>> x, y = make_relation("parabola", 2000, random_state=0)
    >>> bool(abs(np.corrcoef(x, y)[0, 1]) < 0.1), bool(np.corrcoef(x**2, y)[0, 1] > 0.9)
    (True, True)
    """
    rng = check_random_state(random_state)
    t = rng.uniform(-1, 1, n)
    relations = {
        "line": (t, t),
        "parabola": (t, 2 * t**2 - 1),
        "circle": (np.cos(np.pi * t), np.sin(np.pi * t)),
        "independent": (t, rng.uniform(-1, 1, n)),
    }
    if kind not in relations:
        raise ValueError(f"kind must be one of {sorted(relations)}, got {kind!r}")
    x, y = relations[kind]
    return x + noise * rng.standard_normal(n), y + noise * rng.standard_normal(n)


def make_rings(n=200, d=6, *, noise=0.1, random_state=None):
    """Two concentric rings in two of d dimensions (rotated), noise in the others.

    Returns X (n, d), labels y (n,), and the plane W (d, 2) that holds the rings: no linear
    method sees the classes, and only that plane shows them.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.datasets import make_rings
    >>> X, y, plane = make_rings(random_state=0)
    >>> radius = np.linalg.norm(X @ plane, axis=1)
    >>> [round(float(radius[y == k].mean()), 1) for k in (0, 1)]
    [1.0, 2.5]
    """
    rng = check_random_state(random_state)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    plane = (1 + 1.5 * y)[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    plane = plane + noise * rng.standard_normal((n, 2))
    X = np.c_[plane, rng.standard_normal((n, d - 2)) * plane.std()]
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return X @ rotation.T, y, rotation[:, :2]


def make_four_gaussians(n=200, d=4, *, random_state=None):
    """Four unit Gaussians at distance 10 on two axes, and d - 2 columns of uniform noise.

    Returns X (n, d), centred, and two labellings (n,), by the sign of either diagonal: each
    splits the four groups in two, and they are independent of each other. The noise lies in
    (-30, 30), as in the thesis's data for growing dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.datasets import make_four_gaussians
    >>> X, one, other = make_four_gaussians(200, random_state=0)
    >>> np.histogram2d(one, other, bins=2)[0].astype(int)  # how many of each pair of labels
    array([[50, 50],
           [50, 50]])
    """
    rng = check_random_state(random_state)
    group = np.arange(n) % 4
    centres = 10.0 * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    X = np.c_[centres[group] + rng.standard_normal((n, 2)), rng.uniform(-30, 30, (n, d - 2))]
    return X - X.mean(axis=0), (group < 2).astype(int), ((group + 1) % 4 < 2).astype(int)


def make_two_views(n=400, noise_features=0, *, random_state=None):
    """Two parabolas in columns 0 and 1, two Gaussians in 2 and 3, then uniform noise.

    The recipe of the thesis's Moon and MoonN. Returns X (n, 4 + noise_features), the side of the
    Gaussians and the parabola, both (n,): they are independent of each other. n is a multiple
    of 4.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.datasets import make_two_views
    >>> X, side, parabola = make_two_views(400, noise_features=3, random_state=0)
    >>> bool(((X[:, 2] > 0) == side).all())
    True
    >>> np.histogram2d(side, parabola, bins=2)[0].astype(int)  # how many of each pair of labels
    array([[100, 100],
           [100, 100]])
    """
    _require_multiple(n, 4, "multiple of 4 (equal groups)")
    rng = check_random_state(random_state)
    half, parabola, side = n // 2, np.arange(n) // (n // 2), (np.arange(n) + n // 4) // (n // 2) % 2
    x = np.tile(np.linspace(0, 4, half // 2), 2)
    left = np.c_[x - 2, (x - 2) ** 2]
    right = np.c_[x, 8 - 1.4 * (x - 2) ** 2]
    curves = np.vstack([left, right]) + 0.1 * rng.standard_normal((n, 2))
    groups = (10 * side - 5)[:, None] + rng.standard_normal((n, 2))
    noise = rng.uniform(-10, 10, (n, noise_features))
    return np.hstack([curves, groups, noise]), side, parabola


def make_random_labels(n=80, d=2, *, random_state=None):
    """Standard normal X (n, d) and labels (n,) of two equal halves that know nothing of X.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from ismlit.datasets import make_random_labels
    >>> X, y = make_random_labels(1000, random_state=0)
    >>> model = KNeighborsClassifier(5).fit(X[:500], y[:500])
    >>> bool(0.4 < model.score(X[500:], y[500:]) < 0.6)
    True
    """
    _require_multiple(n, 2, "even number (equal halves)")
    rng = check_random_state(random_state)
    return rng.standard_normal((n, d)), rng.permutation(np.arange(n) % 2)


def make_adversarial(n=80, *, scale=0.01, random_state=None):
    """Points on the unit square, and a twin of each at distance about `scale` in the other class.

    Returns X (n, 2) and labels (n,), class 0 first; n must be even.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.datasets import make_adversarial
    >>> X, y = make_adversarial(80, random_state=0)
    >>> twins = np.linalg.norm(X[:40] - X[40:], axis=1)
    >>> bool((y[:40] != y[40:]).all()), round(float(twins.mean()), 2)
    (True, 0.01)
    """
    _require_multiple(n, 2, "even number (pairs)")
    rng = check_random_state(random_state)
    X = rng.uniform(size=(n // 2, 2))
    return np.vstack([X, X + scale * rng.standard_normal(X.shape)]), np.arange(n) // (n // 2)


def make_spiral(n=1200, *, noise=0.16, random_state=None):
    """Three spiral arms in the plane: X (n, 2), labels (n,); n must be a multiple of 3.

    Arm j has radii from 0.3 to 2 and angles from 4j to 4j + 2.4 radians, with normal noise.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.datasets import make_spiral
    >>> X, arm = make_spiral(1200, random_state=0)
    >>> radius = np.linalg.norm(X, axis=1)
    >>> round(float(radius.min()), 2), round(float(radius.max()), 2)
    (0.3, 2.0)
    >>> np.bincount(arm).tolist()
    [400, 400, 400]
    """
    _require_multiple(n, 3, "multiple of 3 (equal arms)")
    rng = check_random_state(random_state)
    size = n // 3
    arm = np.repeat(np.arange(3), size)
    radius = np.tile(np.linspace(0.3, 2, size), 3)
    angle = 4 * arm + np.tile(np.linspace(0, 2.4, size), 3) + noise * rng.standard_normal(n)
    return np.c_[radius * np.sin(angle), radius * np.cos(angle)], arm
