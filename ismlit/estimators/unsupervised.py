"""A subspace and a clustering that depend most on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from ismlit.estimators.base import all_or_nothing
from ismlit.estimators.clustering import BANDWIDTH, ClusteringIKDR
from ismlit.estimators.linear import FLOATS
from ismlit.estimators.parameters import check_parameters


@dataclass(eq=False, repr=False)
class UnsupervisedIKDR(ClusteringIKDR):
    """Find a linear subspace of X and a clustering that depend most on each other.

    Maximises Tr(U' D^(-1/2) K_XW D^(-1/2) U) over orthonormal W and U in turns: W by ISM, U by
    leading eigenvectors, D = diag(K_XW 1). The objective never falls. The papers' own,
    Tr(HUU'H K_XW) with one bandwidth, is ``normalize="none", bandwidth="median"``.

    Parameters
    ----------
    n_clusters : int, default=2
        How many clusters are looked for; also the number of columns of U.
    n_components : int, optional
        Dimension q of the subspace; min(n_clusters, n_features) when None.
    kernel : str, Kernel or function, default="gaussian"
        As for `SupervisedIKDR`.
    bandwidth : float, str or function, default="silhouette"
        As for `SupervisedIKDR`; and "silhouette": shares of the median distance are tried from
        1 on until clusters fall apart, and of the Gaussian the self-tuning kernel. Of those whose
        clusters the data single out (see Notes) the one is kept whose clusters stand apart best
        in U (`ismlit.estimators.clusters.embedding_silhouette`, which sees no classes), among
        equals the self-tuning kernel or the widest.
    normalize : {"none", "degrees", "centred"}, default="degrees"
        "degrees": divide the kernel by the roots of its row sums, as spectral clustering does;
        "centred": centre it afterwards, too; "none": centre it alone.
    init : {"taylor", "pca", "random", "several"} or array, default="taylor"
        Of the first W; U starts as the embedding of all of X.
    tol : float, default=1e-6
        Stop when a turn raises the objective by less than this share.
    max_iter : int, default=2000
        Most steps of the solver in a turn.
    max_turns : int, default=100
        Most turns of U and W.
    n_jobs : int, optional
    callback : callable, optional
        Called after every half-turn with an object that has W, U and J. If it returns True, the
        turn is the last, and no other bandwidth is tried.
    verbose : bool, default=False
        Print J after every half-turn.
    random_state : int, RandomState, optional
        For k-means, and for random starts.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each row, from 0; `predict` gives those of new rows.
    embedding_ : array of shape (n_samples, n_clusters)
        U; k-means on its rows, scaled to length 1, gives the labels.
    W_ : array of shape (n_features, n_components)
        Orthonormal columns; the largest entry of each is positive. ``components_`` is W'.
    mean_, kernel_, converged_, feature_importances_
        As for `SupervisedIKDR`.
    tried_ : dict of equal-length arrays
        The bandwidths tried, and the silhouette of each; empty where none was searched.
    n_iter_ : int
        Turns.
    history_ : dict of equal-length arrays
        The objective and the passes after every half-turn.
    result_ : Alternation

    See Also
    --------
    SemiSupervisedIKDR : where some labels are known.
    KDAC : another clustering than a known one.
    sklearn.cluster.SpectralClustering : without a projection.

    Notes
    -----
    Silhouettes rise as a kernel gets narrower, also where it cuts a group at a chance gap. Another
    cut is then nearly as cheap: the k-th eigenvalue of the affinity is near to the next. What the
    clusters fall short of the leading eigenvalues, over that gap, bounds how far from them a
    clustering as good can be (Meila 2006). At k - 1 and beyond the bound says nothing: such an end
    comes after all others, and a warning says so where there is no other.

    The embedding needs all pairs of rows, so that time grows with their square: 1000 rows of ten
    columns in three clusters took 2 seconds of one core, 4000 took 6 (`KDAC` 3 and 14), so that
    50,000 take a quarter of an hour. Up to 16,000 rows half of the kernel matrix is kept, in at
    most 1 GiB; beyond that each product with it computes it anew, and memory is linear in the
    rows. Where that takes too long, fit a sample of the rows and `predict` the others.

    References
    ----------
    Niu, Dy and Jordan 2011, Dimensionality reduction for spectral clustering.
    Ng, Jordan and Weiss 2002, On spectral clustering: analysis and an algorithm.
    Meila 2006, The uniqueness of a good optimum for k-means.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import UnsupervisedIKDR
    >>> X, y = load_wine(return_X_y=True)
    >>> labels = UnsupervisedIKDR(3, random_state=0).fit_predict(scale(X))
    >>> round(float(normalized_mutual_info_score(y, labels)), 2)
    0.91
    """

    @all_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn ``W_`` and ``labels_`` from rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter breaks its rule, or there are fewer rows than clusters.

        Warns
        -----
        ConvergenceWarning
            If the alternation did not arrive in `max_turns` turns.
        UserWarning
            If one column makes nearly all of the variance, a component hardly varies, or no
            bandwidth gives clusters of some size that the data single out.
        """
        check_parameters(self, bandwidth=BANDWIDTH)
        self._fit(validate_data(self, X, dtype=FLOATS, ensure_min_samples=2))
        return self
