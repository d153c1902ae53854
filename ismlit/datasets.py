"""Data to try things on, drawn from models whose answer is known."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

Seed = int | np.random.RandomState | None
Arrays = tuple[np.ndarray, ...]


def _require_multiple(n, m, rule):
    """Refuse n samples that do not make equal groups; `rule` says it in words."""
    if n != int(n) or n % m or n < m:
        raise ValueError(f"n must be a positive {rule}, got {n!r}")


def make_relation(
    kind: str, n: int = 200, *, noise: float = 0.05, random_state: Seed = None
) -> Arrays:
    """Draw two variables with a known relation, each in about [-1, 1].

    Parameters
    ----------
    kind : {"line", "parabola", "circle", "independent"}
        Those of "line" are correlated; those of "parabola" and "circle" are uncorrelated, yet
        dependent.
    n : int, default=200
        The number of samples.
    noise : float, default=0.05
        The standard deviation of what is added to both.
    random_state : int, RandomState, optional
        Seed of the draw.

    Returns
    -------
    tuple of two arrays of shape (n,)
        The two variables.

    Raises
    ------
    ValueError
        If `kind` is none of the four words.

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


def make_rings(
    n: int = 200, d: int = 6, *, noise: float = 0.1, random_state: Seed = None
) -> Arrays:
    """Draw two concentric rings in a hidden plane, with noise in the other dimensions.

    No linear method sees the classes, and only that plane shows them.

    Parameters
    ----------
    n : int, default=200
        The number of samples.
    d : int, default=6
        The number of features, at least 2.
    noise : float, default=0.1
        The standard deviation of the rings' thickness. Their radii are 1 and 2.5.
    random_state : int, RandomState, optional
        Seed of the draw.

    Returns
    -------
    X : array of shape (n, d)
        The samples, rotated at random.
    y : array of shape (n,)
        Which ring: 0 is the inner one.
    W : array of shape (d, 2)
        An orthonormal basis of the plane of the rings.

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


def make_four_gaussians(n: int = 200, d: int = 4, *, random_state: Seed = None) -> Arrays:
    """Draw four groups that can be split into two pairs in two ways, and columns of noise.

    The groups are unit Gaussians at distance 10 from the origin, on two axes. The noise is uniform
    in (-30, 30), as in the thesis's data for growing dimension.

    Parameters
    ----------
    n : int, default=200
        The number of samples.
    d : int, default=4
        The number of columns, of which d - 2 are noise.
    random_state : int, RandomState, optional
        Seed of the draw.

    Returns
    -------
    X : array of shape (n, d)
        The samples, centred.
    one, other : arrays of shape (n,)
        Two labellings, by the sign of either diagonal. They are independent of each other.

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


def make_two_views(n: int = 400, noise_features: int = 0, *, random_state: Seed = None) -> Arrays:
    """Draw data with two clusterings: two parabolas in two columns, two Gaussians in two others.

    It is the recipe of the thesis's sets Moon and MoonN.

    Parameters
    ----------
    n : int, default=400
        The number of samples, a multiple of 4.
    noise_features : int, default=0
        Columns of uniform noise in (-10, 10) to be added.
    random_state : int, RandomState, optional
        Seed of the draw.

    Returns
    -------
    X : array of shape (n, 4 + noise_features)
        The parabolas in columns 0 and 1, the Gaussians in 2 and 3, then the noise.
    side, parabola : arrays of shape (n,)
        Which Gaussian and which parabola a sample is of. They are independent of each other.

    Raises
    ------
    ValueError
        If n is not a multiple of 4.

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


def make_random_labels(n: int = 80, d: int = 2, *, random_state: Seed = None) -> Arrays:
    """Draw normal samples, and labels of two equal halves that are independent of them.

    Parameters
    ----------
    n : int, default=80
        The number of samples, an even number.
    d : int, default=2
        The number of features.
    random_state : int, RandomState, optional
        Seed of the draw.

    Returns
    -------
    X : array of shape (n, d)
        Standard normal samples.
    y : array of shape (n,)
        The labels 0 and 1.

    Raises
    ------
    ValueError
        If n is odd.

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


def make_adversarial(n: int = 80, *, scale: float = 0.01, random_state: Seed = None) -> Arrays:
    """Draw points on the unit square, and close to each of them a twin of the other class.

    Parameters
    ----------
    n : int, default=80
        The number of samples, an even number.
    scale : float, default=0.01
        The standard deviation of the step from a point to its twin, in each direction.
    random_state : int, RandomState, optional
        Seed of the draw.

    Returns
    -------
    X : array of shape (n, 2)
        The points, then their twins in the same order.
    y : array of shape (n,)
        The labels: 0 for the points, 1 for the twins.

    Raises
    ------
    ValueError
        If n is odd.

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


def make_spiral(n: int = 1200, *, noise: float = 0.16, random_state: Seed = None) -> Arrays:
    """Draw three arms of a spiral in the plane.

    Arm j has radii from 0.3 to 2 and angles from 4j to 4j + 2.4 radians.

    Parameters
    ----------
    n : int, default=1200
        The number of samples, a multiple of 3.
    noise : float, default=0.16
        The standard deviation of the angle, in radians.
    random_state : int, RandomState, optional
        Seed of the draw.

    Returns
    -------
    X : array of shape (n, 2)
        The samples.
    y : array of shape (n,)
        The arm of each: 0, 1 or 2.

    Raises
    ------
    ValueError
        If n is not a multiple of 3.

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
