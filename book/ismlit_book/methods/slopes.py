"""The outer product of gradients, refined: slopes near every sample, along the last plane."""

import numpy as np
from scipy.spatial.distance import cdist


def refined_opg(X, y, q, turns=20):
    """Directions in which local linear fits of a response change.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows, of comparable columns.
    y : array of shape (n,)
        The response; two classes as 0 and 1.
    q : int
        How many directions.
    turns : int, default=20
        How often the samples near another are found anew, by distances along the last directions.

    Returns
    -------
    array of shape (d, q)
        Orthonormal columns.

    References
    ----------
    Xia, Tong, Li and Zhu 2002, An adaptive estimation of dimension reduction space.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.methods.slopes import refined_opg
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> W = refined_opg(X, np.sin(X[:, 0] + X[:, 1]), q=1)
    >>> abs(W[:, 0]).round(1).tolist()
    [0.7, 0.7, 0.0, 0.0, 0.0]
    """
    n, d = X.shape
    W, most = np.eye(d), max(d, 3)
    width, shrinks = 2.34 * n ** (-1 / (most + 6)), n ** (-1 / (2 * (most + 6)))
    least = 2.34 * n ** (-1 / (q + 4))
    apart = X[None] - X[:, None]  # the n samples as each of them sees them
    local = np.concatenate([np.ones((n, n, 1)), apart], axis=2)
    small = 1e-6 * n * np.diag([0.0] + d * [1.0])
    for _ in range(turns):
        Z = X @ W / np.std(X @ W, axis=0).mean()
        near = np.exp(-cdist(Z, Z, "sqeuclidean") / (2 * width**2))
        weighted = local * near[:, :, None]
        products = np.einsum("ija,ijb->iab", weighted, local, optimize=True)
        slopes = np.linalg.solve(products + small, (weighted * y[:, None]).sum(1)[:, :, None])
        slopes = slopes[:, 1:, 0]
        W = np.linalg.eigh(slopes.T @ slopes)[1][:, ::-1][:, :q]
        width = max(width * shrinks, least)
    return W
