"""The objective of images under a Gaussian kernel, and its gradient: pairs attract or repel."""

from __future__ import annotations

import numpy as np

from ismlit.gamma import centre
from ismlit.kernels import Gaussian
from ismlit.pairs import betas


def frozen(U, degrees):
    """F (n, k) with Gamma = FF' = ``D^(-1/2) H U U' H D^(-1/2)``. Claims: eq-4.11, eq-B.5.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.attraction import frozen
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> frozen(U, np.array([1.0, 4.0, 1.0, 4.0]))  # a sample with many neighbours counts less
    array([[ 0.5 ],
           [ 0.25],
           [-0.5 ],
           [-0.25]])
    """
    return centre(U) / np.sqrt(degrees)[:, None]


def pull(Z, F, sigma, moving=False):
    """The objective of images Z (n, q), and its gradient (n, q) in them.

    Each pair attracts or repels by the weight ``Gamma_ij K_ij``: the gradient is that of a graph
    Laplacian, ``-(2 / sigma²) (D_w - w) Z``.

    Parameters
    ----------
    Z : array of shape (n, q)
    F : array of shape (n, k)
        `frozen` gives it, for the objective of (4.11); or ``centre(U)``, if `moving`.
    sigma : float
    moving : bool
        The degrees are those of Z, and the gradient follows them.

    Notes
    -----
    Claims: eq-4.11, eq-B.6, new-moving-degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import centre
    >>> from ismlit.attraction import pull
    >>> Z, F = np.array([[0.0], [1.0], [2.0], [3.0]]), centre([[1.0], [1.0], [0.0], [0.0]])
    >>> value, gradient = pull(Z, F, sigma=1.0)
    >>> np.sign(gradient[:, 0])  # the pairs 0, 1 and 2, 3 draw together
    array([ 1., -1.,  1., -1.])
    >>> pull(Z + 0.1 * gradient, F, sigma=1.0)[0] > value
    True
    """
    kernel = Gaussian(sigma)
    K = kernel.f(betas("difference", Z, Z))
    if moving:
        degrees = K.sum(axis=1)
        F = F / np.sqrt(degrees)[:, None]
    weights = (F @ F.T) * K
    value = float(weights.sum())
    if moving:
        r = weights.sum(axis=1) / degrees
        weights = weights - (r[:, None] + r) * K / 2
    return value, -4 * kernel.rate * (weights.sum(axis=1)[:, None] * Z - weights @ Z)
