"""The Gaussian problem in time linear in n, by (quasi-)random Fourier features.

With frequencies w_l of N(0, I / sigma^2) in q dimensions, K_ij is close to
``1/m sum_l cos(w_l' W'(x_i - x_j))``. They come from a scrambled Sobol sequence, which is far
more even than random draws (Avron et al. 2016), and W is first turned to a frame that depends on
its span alone. Gamma made of class labels has few distinct rows, so that sums over the samples
of each class are all that J, its gradient and Phi need (`ismlit.objectives.class_sums`); beside X,
which may lie on disk as a numpy.memmap, memory is that of Gamma, of one d x 2m array a class and
of some thousand rows. Where the classes are so many that these arrays are too large, the rows are
visited twice: with the sums of the first visit the second one adds up the gradient alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from scipy.stats.qmc import MultivariateNormalQMC
from sklearn.utils import check_random_state, gen_batches

from ismlit.gamma import Gamma, distinct_rows
from ismlit.geometry.frames import fixed_signs, project_out
from ismlit.grams import ConstantKernelError, gram
from ismlit.kernels import Gaussian
from ismlit.objectives.blocks import DaskRows
from ismlit.objectives.class_sums import (
    MOST_CLASSES,
    ArrayRows,
    ClassGamma,
    Sums,
    Visitor,
    by_class,
)
from ismlit.objectives.pairs import Count, Samples
from ismlit.objectives.plain import Problem

LOOKED_AT = 300  # Rows on which the exact kernel is looked at before a climb.
MOST_MOMENTS = 2**23  # Numbers held in one visit: columns times features, for each class.


class VisitedSamples(Samples):
    """`Samples` that may lie elsewhere, where `rows` visits them: X is then some of them."""

    rows: ArrayRows | DaskRows | None

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.X) if self.rows is None else self.rows.n

    def _through(self, V: np.ndarray) -> dict[str, Any]:
        rows = None if self.rows is None else self.rows.through(V)
        return super()._through(V) | {"rows": rows}


@dataclass(frozen=True, eq=False)
class FeatureProblem(VisitedSamples):
    """A `Problem` whose Gaussian kernel is replaced by m random features, the same in every call.

    Sums over pairs become sums over rows, so that the time is linear in the number of samples.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in rows.
    gamma : Gamma
        Of labels: low-rank, with few distinct rows.
    kernel : Gaussian
        The kernel that is approximated.
    n_jobs : int, optional
        Workers of joblib, as for `Problem`.
    count : Count, optional
        Where passes over the rows are counted.
    features : int, default=512
        Number m of frequencies; powers of two are the most even.
    random_state : int, RandomState, default=0
        Scrambles the Sobol sequence.
    anchor : array of shape (d, q), optional
        The frame of W is the one nearest to this; by default to the eigenvectors of Phi_0. At
        right angles to it the nearest frame jumps, so a W that ends far away is solved for again
        with itself as the anchor.
    rows : DaskRows, optional
        Where the sums over the rows are made, if not from X and gamma; these are then a sample.

    Raises
    ------
    ValueError
        For another kernel, a dense gamma, or one with more than 4096 distinct rows.

    See Also
    --------
    ismlit.Problem : The exact one.

    Notes
    -----
    `objective_and_phi` returns a symmetric matrix whose product with W is exactly half the
    gradient of the approximate J, so that ISM stays monotone; on the complement of W it is Phi
    with K approximated. It visits the samples twice and counts as two passes, `objective` and
    `objective_and_gradient` as one; of many classes these two visit them twice, and it more often.
    A result is one of the approximate problem; certify its W on
    the exact one.

    References
    ----------
    Rahimi and Recht 2007, Random features for large-scale kernel machines. Avron, Sindhwani, Yang
    and Mahoney 2016, Quasi-Monte Carlo feature maps for shift-invariant kernels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import Gaussian, ism, label_gamma
    >>> from ismlit.objectives.features import FeatureProblem
    >>> X, y = load_iris(return_X_y=True)
    >>> exact = ism(X, label_gamma(y), Gaussian(1.0), 2)
    >>> problem = FeatureProblem(X, label_gamma(y), Gaussian(1.0), features=512)
    >>> round(problem.objective(exact.W) / exact.objective, 2)
    1.0
    """

    X: np.ndarray
    gamma: Gamma
    kernel: Gaussian
    n_jobs: int | None = None
    count: Count = field(default_factory=Count, repr=False)
    features: int = 512
    random_state: int | np.random.RandomState | None = 0
    anchor: np.ndarray | None = None
    rows: DaskRows | None = None

    def __post_init__(self) -> None:
        is_integer = isinstance(self.features, int | np.integer) and not isinstance(
            self.features, bool
        )
        if not (is_integer and self.features >= 1):
            raise ValueError(
                f"random_features must be a positive whole number, got {self.features!r}"
            )
        if not isinstance(self.kernel, Gaussian):
            raise ValueError(
                f"random features need a Gaussian kernel, got {self.kernel!r}: take "
                "kernel='gaussian', or leave random_features out"
            )
        exact = Problem(self.X, self.gamma, self.kernel)
        object.__setattr__(self, "X", exact.X)
        object.__setattr__(self, "gamma", exact.gamma)
        if not isinstance(self.random_state, int | np.integer):  # drawn once, for `near` as well
            drawn = check_random_state(self.random_state).randint(2**31 - 1)
            object.__setattr__(self, "random_state", int(drawn))
        if not isinstance(self.gamma, Gamma) or len(self._table[0]) > MOST_CLASSES:
            raise ValueError(
                f"random features need a Gamma made of labels, with at most {MOST_CLASSES} "
                "distinct rows of F, one for each class and weight: round the weights, or solve "
                "without random_features, or on a subset"
            )

    def on(self, rows: slice | np.ndarray) -> Problem:
        """Return the exact problem of some of the samples.

        Parameters
        ----------
        rows : slice, or array of int
            Which samples are kept, of those that `X` holds.

        Returns
        -------
        Problem
            With a count of its own.
        """
        return Problem(self.X[rows], self.gamma.on(rows), self.kernel, self.n_jobs)

    def near(self, W: np.ndarray) -> Self:
        """Return the problem whose frames are turned towards the axes of the samples seen by W.

        Parameters
        ----------
        W : array of shape (d, q)
            The start of a climb.

        Returns
        -------
        FeatureProblem
            With a frame of the same span as its anchor.

        Raises
        ------
        ConstantKernelError
            If the exact kernel is constant on some of the rows.
        """
        rows = self.X[:: -(-len(self.X) // LOOKED_AT)]
        K = gram(self.kernel, rows, W)[~np.eye(len(rows), dtype=bool)]
        if K.size and (K.max() < 1e-12 or K.min() > 1 - 1e-12):
            raise ConstantKernelError(
                f"{self.kernel!r} is constant between any two projected samples to rounding: use "
                "a bandwidth near their distances (median_distance)"
            )
        return replace(self, anchor=W @ self._own_axes(W).astype(W.dtype))

    def _own_axes(self, W: np.ndarray) -> np.ndarray:
        """A rotation (q, q) of W that all of its frames agree on.

        To the principal axes of the rows that it sees, each pointing to the class farthest off.
        """
        scatter = W.T @ self._rows.weighted_scatter(np.ones(len(self._table[0]))) @ W
        axes = eigh(scatter.astype(float))[1][:, ::-1]
        sums = self._rows.class_sums()[0] @ W @ axes
        farthest = sums[np.abs(sums).argmax(axis=0), np.arange(len(axes))]
        return np.asarray(axes * np.where(farthest < 0, -1.0, 1.0))

    def phi_0(self) -> np.ndarray:
        """Return Phi at W = 0, which is exact.

        Returns
        -------
        array of shape (d, d)
            The symmetric matrix.
        """
        (F, s), sizes = self._table, self._rows.sizes
        weights = F @ (s * (sizes @ F))  # the row sums of Gamma; of labels they are 0
        sums, squares = self._rows.class_sums()
        along = F.T @ sums
        total = (along.T * s) @ along
        if np.abs(weights).max() > 1e-12 * self.n * np.abs(F).max() ** 2:
            total -= self._rows.weighted_scatter(weights)
        if np.linalg.norm(total) <= 10 * np.finfo(self.dtype).eps * self.gamma.norm_bound * squares:
            total[:] = 0  # nothing but rounding, which points nowhere
        return np.asarray((total / self.kernel.sigma**2).astype(self.dtype))

    @cached_property
    def _classes(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct rows of F (g, r), and which of them each sample has (n,)."""
        if isinstance(self.gamma, ClassGamma):
            return self.gamma.table, self.gamma.codes
        first, codes = distinct_rows(self.gamma.F)
        return self.gamma.F[first], codes

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """F by class (g, r), and s (r,), in double precision."""
        return self._classes[0].astype(float), self.gamma.s.astype(float)

    @cached_property
    def _rows(self) -> ArrayRows | DaskRows:
        """The rows of all samples, which can be visited."""
        if self.rows is not None:
            return self.rows
        return ArrayRows(self.X, self._classes[1], len(self._table[0]), self.n_jobs)

    @cached_property
    def _frequencies(self) -> dict[int, np.ndarray]:
        return {}

    def frequencies(self, q: int) -> np.ndarray:
        """Return the frequencies for a projection to some dimension.

        Parameters
        ----------
        q : int
            The dimension.

        Returns
        -------
        array of shape (q, m)
            Divided by the bandwidth.
        """
        if q not in self._frequencies:
            self._frequencies[q] = even_frequencies(q, self.features, self._seed)
        return self._frequencies[q] / self.kernel.sigma

    @cached_property
    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @cached_property
    def _leading(self) -> np.ndarray:
        """Eigenvectors of Phi_0, the largest eigenvalue first; generic ones of its null space.

        Columns of W that Phi_0 does not determine would else come to be orthogonal to theirs,
        where the nearest frame jumps.
        """
        values, vectors = eigh(self.phi_0().astype(float))
        sure = fixed_signs(vectors[:, values > 1e-6 * np.abs(values).max()][:, ::-1])
        generic = np.random.default_rng(0).standard_normal((self.d, self.d - sure.shape[1]))
        return np.hstack([sure, np.linalg.qr(project_out(generic, sure))[0]])

    def _frame(self, q: int) -> np.ndarray:
        """F (d, q): what the frame of W is turned towards."""
        return self._leading[:, :q] if self.anchor is None else self.anchor.astype(float)

    def _aligned(self, W: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """The frame of span(W) nearest to the leading q columns F, and what its turning costs.

        J is then a function of the subspace. The second value maps the skew part T of W'G to
        the gradient that comes from the turning of the frame: -F M, with M S + S M = T and S
        the symmetric polar factor of W'F.
        """
        F = self._frame(W.shape[1])
        left, sizes, right = np.linalg.svd(W.T.astype(float) @ F)
        V, sums = right.T, np.maximum(sizes[:, None] + sizes, 1e-3)
        turning = lambda T: -F @ (V @ ((V.T @ T @ V) / sums) @ V.T)
        return W @ (left @ right).astype(W.dtype), turning

    def _visit(self, function: Visitor, *arguments: object) -> Sums:
        self.count.passes += 1
        return self._rows.visit(function, *arguments)

    def _evaluate(
        self, W: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """J, half its gradient G (d, q) in the aligned frame, and all they were made of.

        The moments (k, d, 2m) are None where the classes are too many for one visit.
        """
        W, turning = self._aligned(np.asarray(W, self.X.dtype))
        omega, m = self.frequencies(W.shape[1]).astype(W.dtype), self.features
        F, s = self._table
        if len(F) * self.d * 2 * m <= MOST_MOMENTS:
            sums, moments = self._visit(_sums, W @ omega)
        else:
            (sums,), moments = self._visit(_class_sums, W @ omega), None
        projected = F.T @ sums  # (r, 2m)
        value = float(np.sum(projected**2 * s[:, None])) / m
        u = (F * s) @ projected / m  # by class: half of dJ / d(feature)
        if moments is None:
            (along,) = self._visit(_along, W @ omega, u)
        else:
            u_cos, u_sin = u[:, None, :m], u[:, None, m:]
            along = (moments[:, :, :m] * u_sin - moments[:, :, m:] * u_cos).sum(axis=0)
        G = along @ omega.T.astype(float)
        extra = turning(W.T @ G - G.T @ W)
        G = G + project_out(extra, W)
        symmetric = W.T @ G  # its skew part turns the frame, which the subspace does not see
        G = G - W @ (symmetric - symmetric.T) / 2
        return value, G, W, omega, u, moments

    def objective(self, W: np.ndarray) -> float:
        """Return the approximate objective, in one visit of the samples.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        float
            J(W).
        """
        return self._evaluate(W)[0]

    def objective_and_gradient(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the approximate objective and half of its gradient.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        gradient : array of shape (d, q)
            Half of the Euclidean gradient.
        """
        value, G, aligned, *_ = self._evaluate(W)
        return value, G @ (aligned.T @ W)

    def objective_and_phi(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the approximate objective, and a matrix that takes the place of Phi.

        Parameters
        ----------
        W : array of shape (d, q)
            The projection.

        Returns
        -------
        J : float
            The objective.
        phi : array of shape (d, d)
            A symmetric matrix.
        """
        value, G, W, omega, u, moments = self._evaluate(W)
        if moments is None:
            most = max(1, MOST_MOMENTS // (2 * self.d * len(self._table[0])))
            some = [(W @ omega)[:, part] for part in gen_batches(self.features, most)]
            pairs = sum(self._pairs(self._visit(_sums, waves_of)[1]) for waves_of in some)
        else:
            pairs = self._pairs(moments)
        degrees = self._visit(_degrees, W @ omega, u)[0]
        phi = (pairs / self.features - degrees) / self.kernel.sigma**2
        error = G - phi @ W  # put the gradient right
        phi = phi + error @ W.T + W @ error.T - W @ (W.T @ error) @ W.T
        return value, ((phi + phi.T) / 2).astype(self.X.dtype)

    def _pairs(self, moments: np.ndarray) -> np.ndarray:
        """The part of Phi (d, d) that comes from pairs of rows, for some frequencies."""
        F, s = self._table
        by_column = (F.T @ moments.reshape(len(F), -1)).reshape(len(s), *moments.shape[1:])
        side = by_column.transpose(1, 0, 2).reshape(self.d, -1)  # (d, r 2m)
        return np.asarray((side * np.repeat(s, moments.shape[2])) @ side.T)


def even_frequencies(q: int, m: int, seed: Any) -> np.ndarray:
    """Draw normal frequencies that fill their space evenly, by a scrambled Sobol sequence.

    Parameters
    ----------
    q : int
        The dimension.
    m : int
        How many; powers of two are the most even.
    seed : int
        Of the scrambling.

    Returns
    -------
    array of shape (q, m)
        The frequencies, of standard normal distribution.
    """
    draws = MultivariateNormalQMC(np.zeros(q), seed=seed)
    normals = draws.random(2 ** (m - 1).bit_length())[:m]  # it warns of other than powers of two
    return np.asarray(normals.T)


def waves(rows: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Return the cosines and sines of rows at some frequencies.

    Inner products of two of these rows, divided by m, are close to the Gaussian kernel.

    Parameters
    ----------
    rows : array of shape (n, q)
        Projected samples.
    frequencies : array of shape (q, m)
        The frequencies.

    Returns
    -------
    array of shape (n, 2m)
        The cosines, then the sines.
    """
    angles = rows @ frequencies
    n, m = angles.shape
    features = np.empty((n, 2 * m), angles.dtype)
    if angles.dtype == np.float32:
        np.cos(angles, out=features[:, :m])
        np.sin(angles, out=features[:, m:])
        return features
    angles *= 0.5  # in double precision one tangent costs half of a cosine and a sine
    half = np.tan(angles, out=angles)
    scale = 1 / (1 + half * half)
    np.multiply(2 * half, scale, out=features[:, m:])
    np.subtract(2 * scale, 1, out=features[:, :m])
    return features


def _sums(x: np.ndarray, codes: np.ndarray, k: int, frequencies: np.ndarray) -> Sums:
    """Sums of the features by class (k, 2m), and of x times the features (k, d, 2m)."""
    order = np.argsort(codes, kind="stable")
    x, ends = x[order], np.searchsorted(codes[order], np.arange(k + 1))
    Z = waves(x, frequencies)
    sums, moments = np.zeros((k, Z.shape[1])), np.zeros((k, x.shape[1], Z.shape[1]))
    for g in np.flatnonzero(np.diff(ends)):
        members = slice(ends[g], ends[g + 1])
        sums[g] = Z[members].sum(axis=0, dtype=float)
        moments[g] = x[members].T @ Z[members]
    return sums, moments


def _class_sums(x: np.ndarray, codes: np.ndarray, k: int, frequencies: np.ndarray) -> Sums:
    """Sums of the features by class (k, 2m)."""
    return (by_class(codes, k) @ waves(x, frequencies),)


def _along(
    x: np.ndarray, codes: np.ndarray, k: int, frequencies: np.ndarray, u: np.ndarray
) -> Sums:
    """X' times half of dJ / d(angle) of each row (d, m), u (k, 2m) being that by feature."""
    Z, m, weights = waves(x, frequencies), u.shape[1] // 2, u.astype(x.dtype)[codes]
    return ((x.T @ (Z[:, :m] * weights[:, m:] - Z[:, m:] * weights[:, :m])).astype(float),)


def _degrees(
    x: np.ndarray, codes: np.ndarray, k: int, frequencies: np.ndarray, u: np.ndarray
) -> Sums:
    """X' D X of some rows, D the row sums of Gamma o K."""
    degrees = np.einsum("ij,ij->i", waves(x, frequencies), u.astype(x.dtype)[codes])
    return ((x.T @ (degrees[:, None] * x)).astype(float),)
