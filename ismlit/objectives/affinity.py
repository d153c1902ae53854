"""The affinity matrix whose leading eigenvectors are the best embedding U for a given W."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import orth
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, lobpcg
from sklearn.utils import check_array

from ismlit.gamma import centre
from ismlit.geometry.frames import project_out, top_eigenvectors
from ismlit.grams import ConstantKernelError, gram
from ismlit.memory import require_memory
from ismlit.objectives.pairs import Pairs

DENSE_SAMPLES = 1500  # With more samples the affinity is not formed.
NORMALIZE = ("none", "degrees", "centred")
"""The names of the affinities HKH, D^(-1/2) K D^(-1/2), and H D^(-1/2) K D^(-1/2) H."""


def check_normalize(normalize: object) -> str:
    """Refuse a name of an affinity that is not known.

    Parameters
    ----------
    normalize : object
        What was given.

    Returns
    -------
    str
        The name itself.

    Raises
    ------
    ValueError
        Unless it is one of `NORMALIZE`.
    """
    if not (isinstance(normalize, str) and normalize in NORMALIZE):
        raise ValueError(f"normalize must be one of {NORMALIZE}, got {normalize!r}")
    return normalize


class Affinity:
    """The affinity matrix of the samples seen through W: products with it, and its eigenvectors.

    Parameters
    ----------
    pairs : Pairs
        The samples and the kernel.
    W : array of shape (d, q), optional
        The projection; the identity when None.
    normalize : {"none", "degrees", "centred"}, default="none"
        "none": HKH, whose trace with UU' is HSIC up to its factor. "degrees": ``D^(-1/2) K
        D^(-1/2)``, not centred, as in spectral clustering. "centred": ``H D^(-1/2) K D^(-1/2) H``,
        which gives the HSIC of the normalised kernel.
    away : array of shape (n, m), optional
        Directions that U must be orthogonal to, such as the centred indicators of a known
        clustering.

    Attributes
    ----------
    degrees : array of shape (n,), or None
        The row sums of K, if the affinity is divided by them.

    Raises
    ------
    ValueError
        If `normalize` is not known, or a degree is not positive.

    References
    ----------
    Ng, Jordan and Weiss 2002, On spectral clustering: analysis and an algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian
    >>> from ismlit.objectives.pairs import Pairs
    >>> from ismlit.objectives.affinity import Affinity
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])  # two clusters, hence two eigenvalues of 1
    >>> affinity = Affinity(Pairs(X, Gaussian(1.0)), normalize="degrees")
    >>> affinity.leading(3)[1].round(2)
    array([1.  , 1.  , 0.24])
    """

    degrees: np.ndarray | None

    def __init__(
        self,
        pairs: Pairs,
        W: np.ndarray | None = None,
        normalize: str = "none",
        away: ArrayLike | None = None,
    ) -> None:
        check_normalize(normalize)
        self.n, self.dtype, self.kernel = pairs.n, pairs.dtype, pairs.kernel
        self.centred, self.divided = normalize != "degrees", normalize != "none"
        self.pairs, self.W = pairs, W
        self.K = pairs.gram_operator(np.eye(pairs.d) if W is None else W)
        self.degrees = pairs.row_sums(self.K) if self.divided else None
        self.root = 1.0 if self.degrees is None else np.sqrt(self.degrees)[:, None]
        self.known = np.zeros((self.n, 0), self.dtype)
        if away is not None:
            self.known = orth(check_array(away, dtype=self.dtype), 1e-10)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Multiply the affinity by vectors; what is known is projected out before and after.

        Parameters
        ----------
        V : array of shape (n, m)
            The vectors.

        Returns
        -------
        array of shape (n, m)
            The products.
        """
        V = self._rest(project_out(V.reshape(self.n, -1), self.known))
        return project_out(self._rest((self.K @ (V / self.root)) / self.root), self.known)

    def _rest(self, V: np.ndarray) -> np.ndarray:
        return centre(V) if self.centred else V

    def dense(self) -> np.ndarray:
        """Return the affinity as an array, from K formed at once.

        Returns
        -------
        array of shape (n, n)
            The matrix.
        """
        if not self.divided:  # for the degrees the pairs have been visited already
            self.pairs.count.passes += 1
        A = gram(self.kernel, self.pairs.X, self.W) / self.root / np.transpose(self.root)
        for _ in range(2):
            A = project_out(self._rest(A), self.known).T
        return np.asarray(A)

    def leading(
        self, k: int, dense: int = DENSE_SAMPLES, near: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the leading eigenvectors, which are the best embedding.

        Parameters
        ----------
        k : int
            How many.
        dense : int, default=1500
            With at most so many samples the matrix is formed and decomposed directly; otherwise
            its eigenvectors are found by Lanczos' method.
        near : array of shape (n, m), optional
            At least k vectors near to the eigenvectors. LOBPCG then starts from them. Its products
            are of all columns at once, which helps where eigenvalues nearly coincide, since
            Lanczos needs a hundred products there.

        Returns
        -------
        U : array of shape (n, k)
            The eigenvectors.
        values : array of shape (k,)
            Their eigenvalues, falling.

        Raises
        ------
        ismlit.grams.ConstantKernelError
            If the affinity, centred, is zero up to rounding: the bandwidth is far above the
            distances.
        ValueError
            If there is no room for k columns: at most n less the rank of `away`, less one if
            centred.
        MemoryError
            If Lanczos' method finds no eigenvectors, and the matrix is larger than the memory.
        """
        n = self.n
        if not 1 <= k <= n:
            raise ValueError(f"k must be between 1 and the number of samples: k = {k}, n = {n}")
        room = n - self.known.shape[1] - self.centred
        if k > room:
            raise ValueError(
                f"U has room for {room} columns orthogonal to what is known, not for {k}: give "
                "fewer known clusters, or more samples"
            )
        eigenpairs = None
        if n > max(dense, 3 * k):
            if near is not None:
                eigenpairs = self._by_blocks(near)
            if eigenpairs is None:
                eigenpairs = self._by_lanczos(k)
        if eigenpairs is None:
            advice = "widen the bandwidth, or take a sample of the rows"
            require_memory("an embedding by all eigenvectors", advice, n, 5, self.dtype.itemsize)
            A = self.dense()
            eigenpairs = top_eigenvectors((A + A.T) / 2, k)
        values, U = eigenpairs
        self._require_signal(values)
        return U, values

    def ambiguity(self, labels: np.ndarray) -> float:
        """Return how far from a clustering another one can be that cuts the samples as well.

        It is what the clusters fall short of the leading eigenvalues, over the gap below these. It
        bounds the sum of the squared sines between the indicators of the clusters and the
        leading eigenvectors, of which there are k - 1 beside the constant: from k - 1 on, it says
        nothing, and clusters that share nothing with these may be as good.

        Parameters
        ----------
        labels : array of shape (n,)
            The clustering, of k clusters.

        Returns
        -------
        float
            0 where the clusters fall apart entirely; infinite where there is no gap.

        References
        ----------
        Meila 2006, The uniqueness of a good optimum for k-means. Meila, Shortreed and Xu 2005,
        Regularized spectral learning.

        Examples
        --------
        >>> from ismlit import Gaussian
        >>> from ismlit.objectives.pairs import Pairs
        >>> from ismlit.objectives.affinity import Affinity
        >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
        >>> affinity = Affinity(Pairs(X, Gaussian(1.0)), normalize="degrees")
        >>> affinity.ambiguity(np.array([0, 0, 1, 1])) < 1e-9
        True
        >>> affinity.ambiguity(np.array([0, 1, 1, 1])) > 0.5
        True
        """
        Z = np.eye(labels.max() + 1, dtype=self.dtype)[labels]
        Z = Z[:, Z.any(axis=0)]
        if self.centred:
            Z = np.linalg.qr(centre(Z[:, 1:]))[0]
        else:  # the first eigenvector is that of the roots of the degrees
            Z = Z * self.root / np.linalg.norm(Z * self.root, axis=0)
        values = self.leading(Z.shape[1] + 1)[1]
        short, gap = values[:-1].sum() - np.sum(Z * (self @ Z)), values[-2] - values[-1]
        return float(short / gap) if gap > 0 else np.inf

    def _by_lanczos(self, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Eigenvalues and vectors, falling, by products alone; None where they lie too close."""
        start = np.random.default_rng(0).standard_normal(self.n).astype(self.dtype)
        try:
            values, U = eigsh(self._operator(), k, which="LA", v0=start, tol=1e-6)
        except ArpackError:
            return None
        return values[::-1], U[:, ::-1]

    def _by_blocks(self, near: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """As `_by_lanczos`, as many as the columns of `near`, from which it starts."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it has not converged: seen below
            values, U, left = lobpcg(
                self._operator(), near, tol=1e-6, maxiter=60, retResidualNormsHistory=True
            )
        return (values, U) if left[-1].max() <= 1e-5 else None

    def _operator(self) -> LinearOperator:
        product, shape = self.__matmul__, (self.n, self.n)
        return LinearOperator(shape, matvec=product, matmat=product, dtype=self.dtype)

    def _require_signal(self, values: np.ndarray) -> None:
        """A kernel that is 1 for all pairs leaves nothing beside the constant vector."""
        if not self.centred and len(values) < 2:
            return
        largest, level = values[0 if self.centred else 1], 1.0
        if not self.divided:
            level = np.abs(self.K @ np.ones(self.n, self.dtype)).mean()
        if largest <= 100 * np.finfo(self.dtype).eps * level:
            raise ConstantKernelError(
                f"{self.kernel!r} is constant on this data, or leaves nothing beside what is "
                "known: use a bandwidth near the distances (median_distance)"
            )
