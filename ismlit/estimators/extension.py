"""A spectral embedding extended to new rows."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ismlit.estimators.clusters import normalize_rows
from ismlit.grams import betas, gram
from ismlit.kernels import Gaussian
from ismlit.memory import batches
from ismlit.objectives.joint import JointProblem


class NystroemEmbedding:
    """A spectral embedding and its clusters, extended to new rows by Nystroem's formula.

    Parameters
    ----------
    joint : JointProblem
        What was solved.
    W : array of shape (d, q)
        The projection that was found.
    U : array of shape (n, columns)
        The embedding that was found.
    labels : array of shape (n,)
        The cluster of each training row.

    References
    ----------
    Bengio, Delalleau, Le Roux, Paiement, Vincent and Ouimet 2004, Learning eigenfunctions links
    spectral embedding and kernel PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian
    >>> from ismlit.estimators.extension import NystroemEmbedding
    >>> from ismlit.objectives.joint import JointProblem
    >>> from ismlit.solvers.alternate import alternate
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> joint = JointProblem(X, Gaussian(2.0))
    >>> solution = alternate(joint, 1, 1)
    >>> extension = NystroemEmbedding(joint, solution.W, solution.U, np.array([0, 0, 1, 1]))
    >>> extension.cluster(extension(np.array([[0.5], [8.5]])))
    array([0, 1])
    """

    def __init__(self, joint: JointProblem, W: np.ndarray, U: np.ndarray, labels) -> None:
        affinity = joint.affinity(W)
        self.kernel, self.divided, self.centred = joint.kernel, affinity.divided, affinity.centred
        self.points, self.root, self.U = joint.X @ W, affinity.root, U
        self.local = isinstance(self.kernel, Gaussian) or self.kernel.is_relative
        if self.local:
            known = affinity.degrees
            degrees = affinity.pairs.row_sums(affinity.K) if known is None else known
            self.least_degree = float(degrees.min())
        images = (affinity.K @ (U / self.root)) / self.root
        self.mean = images.mean(axis=0) if self.centred else 0.0
        self.values = np.sum(U * images, axis=0)
        rows = normalize_rows(U)
        self.named = np.unique(labels)
        self.centres = np.array([rows[labels == c].mean(axis=0) for c in self.named])

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Return the embedding of new rows.

        Parameters
        ----------
        Z : array of shape (m, q)
            Projected rows.

        Returns
        -------
        array of shape (m, columns)
            Their embedding.
        """
        embedded = []
        for rows in batches(len(Z), len(self.points)):
            K = self._kernel(Z[rows])
            if self.local:
                K = self._brought_near(K, Z[rows])
            if self.divided:
                K = K / np.sqrt(K.sum(axis=1))[:, None] / np.transpose(self.root)
            embedded.append((K @ self.U - self.mean) / self.values)
        return np.vstack(embedded)

    def near(self, Z: np.ndarray) -> np.ndarray:
        """Return which rows have a training row near, so that the kernel is not 0.

        Parameters
        ----------
        Z : array of shape (m, q)
            Projected rows.

        Returns
        -------
        array of shape (m,)
            True where one is near.
        """
        if not self.local:
            return np.ones(len(Z), dtype=bool)
        sums = [self._kernel(Z[rows]).sum(axis=1) for rows in batches(len(Z), len(self.points))]
        return ~_underflows(np.concatenate(sums))

    def _brought_near(self, K, Z):
        """K (m, n) of rows Z (m, q), with row sums of at least the least one in training.

        A row far from all others has entries that fall to 0, but their ratios have a limit, the
        nearest training row alone. It is what the row is judged by, as if it were one of those
        that have the fewest neighbours.
        """
        sums = K.sum(axis=1)
        lost = _underflows(sums)
        if lost.any():
            K[lost] = 0.0
            K[lost, cdist(Z[lost], self.points).argmin(axis=1)] = 1.0
            sums[lost] = 1.0
        return K * np.maximum(self.least_degree / sums, 1.0)[:, None]

    def _kernel(self, Z):
        """K between projected rows and the training rows.

        Of a kernel with a bandwidth for each training row a new one takes that of the nearest.
        """
        if not self.kernel.is_relative:
            return gram(self.kernel, Z, X2=self.points)
        squares = betas("difference", Z, self.points)
        u = self.kernel.scale(len(self.points))
        return self.kernel.f(u[squares.argmin(axis=1)][:, None] * u * squares)

    def cluster(self, U: np.ndarray) -> np.ndarray:
        """Return the cluster of each row of an embedding.

        Parameters
        ----------
        U : array of shape (m, columns)
            An embedding.

        Returns
        -------
        array of shape (m,)
            The names of the nearest clusters.
        """
        return self.named[cdist(normalize_rows(U), self.centres).argmin(axis=1)]


def _underflows(sums):
    """Which sums of kernel values are 0, or so small that their ratios have no digits left."""
    return sums < np.finfo(sums.dtype).tiny / np.finfo(sums.dtype).eps
