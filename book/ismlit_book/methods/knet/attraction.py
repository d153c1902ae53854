"""The objective of images under a Gaussian kernel, and its gradient: pairs attract or repel."""

import numpy as np
from ismlit import Gaussian, centre


def frozen(U, degrees):
    """F (n, k) with Gamma = FF' = ``D^(-1/2) H U U' H D^(-1/2)``. Claims: eq-4.11, eq-B.5.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.methods.knet.attraction import frozen
    >>> U = np.array([[0.5], [0.5], [-0.5], [-0.5]])
    >>> frozen(U, np.array([1.0, 4.0, 1.0, 4.0]))  # a sample with many neighbours counts less
    array([[ 0.5 ],
           [ 0.25],
           [-0.5 ],
           [-0.25]])
    """
    return centre(U) / np.sqrt(degrees)[:, None]


def pull(Z, F, sigma):
    """The objective of images Z (n, q), and its gradient (n, q) in them; of several sets at once.

    Each pair attracts or repels by the weight ``Gamma_ij K_ij``: the gradient is that of a graph
    Laplacian, ``-(2 / sigma²) (D_w - w) Z``.

    Parameters
    ----------
    Z : array of shape (n, q) or (r, n, q)
    F : array of shape (n, k) or (r, n, k)
        `frozen` gives it, for the objective of (4.11).
    sigma : float

    Notes
    -----
    Claims: eq-4.11, eq-B.6.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import centre
    >>> from ismlit_book.methods.knet.attraction import pull
    >>> Z, F = np.array([[0.0], [1.0], [2.0], [3.0]]), centre([[1.0], [1.0], [0.0], [0.0]])
    >>> value, gradient = pull(Z, F, sigma=1.0)
    >>> np.sign(gradient[:, 0])  # the pairs 0, 1 and 2, 3 draw together
    array([ 1., -1.,  1., -1.])
    >>> pull(Z + 0.1 * gradient, F, sigma=1.0)[0] > value
    True
    """
    kernel = Gaussian(sigma)
    K = kernel.f(_squared_distances(Z))
    weights = F @ F.swapaxes(-1, -2)
    weights *= K
    Z1 = np.concatenate([Z, np.ones_like(Z[..., :1])], axis=-1)  # sums of rows by the last column
    sums = weights @ Z1
    value = sums[..., -1].sum(axis=-1)
    gradient = 4 * kernel.rate * (sums[..., :-1] - sums[..., -1:] * Z)
    return (float(value) if value.ndim == 0 else value), gradient


def _squared_distances(Z):
    """Of the rows in each set: of small batches one product, without the detours of large ones."""
    squares = np.einsum("...i,...i->...", Z, Z)[..., None]
    ones = np.ones_like(squares)
    left = np.concatenate([-2 * Z, squares, ones], axis=-1)
    right = np.concatenate([Z, ones, squares], axis=-1)
    found = left @ right.swapaxes(-1, -2)
    return np.maximum(found, 0, out=found)
