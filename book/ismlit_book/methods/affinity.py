"""An affinity that is an array, as the authors' programs and the thesis's tables have it."""

import numpy as np
from ismlit import centre
from scipy.sparse.linalg import LinearOperator, eigsh

DENSE = 1500  # up to so many samples all eigenvectors are computed


class DenseAffinity:
    """K, or ``D^(-1/2) K D^(-1/2)`` with its degrees D, between two centring matrices or none.

    `ismlit.objectives.affinity.Affinity` multiplies without an array, has no other kernel matrix
    than that of its samples, and refuses a constant one.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, such as a Gram matrix, with whatever diagonal.
    degrees : bool
        Whether it is divided by the roots of its row sums.
    centred : bool

    Attributes
    ----------
    K : array of shape (n, n)
        Divided, and not centred.
    roots : array of shape (n, 1)
        The roots of the degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit_book.methods.affinity import DenseAffinity
    >>> K = np.kron(np.eye(2), np.ones((2, 2)))  # two clusters of two
    >>> U, values = DenseAffinity(K).leading(2)
    >>> abs(U[:, 0].round(2)), values.round(2) + 0
    (array([0.5, 0.5, 0.5, 0.5]), array([1., 0.]))
    """

    def __init__(self, K, degrees=True, centred=True):
        self.rest = centre if centred else np.asarray
        self.K, self.roots = K, np.ones((len(K), 1))
        if degrees:
            self.roots = np.sqrt(K.sum(axis=1, keepdims=True))
            self.K = K / self.roots / self.roots.T

    def __matmul__(self, V):
        """The affinity times V (n, m)."""
        return self.rest(self.K @ self.rest(V.reshape(len(self.K), -1)))

    def leading(self, k):
        """The k leading eigenvectors U (n, k) and their eigenvalues, falling."""
        n, dtype = len(self.K), self.K.dtype
        if n <= DENSE:
            values, U = np.linalg.eigh(self.rest(self.rest(self.K).T))
            values, U = values[-k:], U[:, -k:]
        else:
            product, start = self.__matmul__, np.random.default_rng(0).standard_normal(n)
            operator = LinearOperator((n, n), matvec=product, matmat=product, dtype=dtype)
            rough = 1e-4 if dtype == np.float32 else 0
            values, U = eigsh(operator, k, which="LA", v0=start.astype(dtype), tol=rough)
        return U[:, ::-1], values[::-1]

    def trace(self, F):
        """Tr(F' A F) of columns F (n, m), A being the affinity."""
        return float(np.sum(F * (self @ F)))
