"""The conditional covariance in time linear in the rows, by landmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import cho_solve
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

from ismlit.gamma import Gamma
from ismlit.kernels import Kernel
from ismlit.objectives.blocks import DaskRows
from ismlit.objectives.class_sums import ArrayRows, ClassGamma, Sums, by_class
from ismlit.objectives.conditional import (
    ALL,
    Conditional,
    ConditionalProblem,
    Regression,
    Table,
    total,
)
from ismlit.objectives.features import FeatureProblem, VisitedSamples

EXACT_ROWS = 300  # Of more rows landmarks are taken.
MOST_LANDMARKS = 200  # Seen through few columns of W, K has no more eigenvalues that count.
LANDMARK_ROWS = 2000  # Landmarks are chosen among so many rows.
LANDMARK_ERROR = 1e-8  # No more are chosen once K is known to this share of its diagonal.
ROW_CHUNK = 8192  # Rows whose kernel with the landmarks is held at once.


def conditional_problem(
    X: np.ndarray,
    gamma: Gamma,
    kernel: Kernel,
    ridge: float,
    sample_weight: np.ndarray | None = None,
) -> ConditionalProblem | LandmarkProblem:
    """Return the exact problem of few rows, and that of landmarks for more than 300.

    Parameters
    ----------
    X, gamma, kernel, ridge, sample_weight
        As for `ConditionalProblem`.

    Returns
    -------
    ConditionalProblem or LandmarkProblem
        The problem.
    """
    kind = ConditionalProblem if len(X) <= EXACT_ROWS else LandmarkProblem
    return kind(X, gamma, kernel, ridge, sample_weight)


@dataclass(frozen=True, eq=False)
class LandmarkProblem(Conditional):
    """The `ConditionalProblem` of a K that landmarks span: time and memory linear in the rows.

    ``K = C M^-1 C'`` with the kernel C between all rows and the landmarks, and M among these. The
    second order is that of the exact problem on some of the rows.

    Parameters
    ----------
    X, gamma, kernel, ridge, sample_weight, count
        As for `ConditionalProblem`.
    landmarks : array of int, optional
        Which rows they are; `near` chooses them for a start.

    See Also
    --------
    ismlit.objectives.conditional.ConditionalProblem : The exact one.
    VisitedLandmarks : The same for rows in a file or in blocks.

    Notes
    -----
    `near` takes the row whose kernel those before it explain least, again and again: a Cholesky
    factorisation with pivots, among at most 2000 rows, until 1e-8 of the diagonal is left or 200
    rows are taken. With 2000 rows and two columns of W this gives J to 1e-6, and 200 rows drawn at
    random to 1e-4.

    References
    ----------
    Williams and Seeger 2001, Using the Nystroem method to speed up kernel machines.
    Fine and Scheinberg 2001, Efficient SVM training using low-rank kernel representations.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, label_gamma
    >>> from ismlit.objectives.conditional import ConditionalProblem
    >>> from ismlit.objectives.landmarks import LandmarkProblem
    >>> X = np.random.default_rng(0).standard_normal((400, 3))
    >>> given, W = (X, label_gamma(X[:, 0] > 0), Gaussian(1.0)), np.eye(3)[:, :1]
    >>> few = LandmarkProblem(*given).near(W)
    >>> round(few.objective(W) / ConditionalProblem(*given).objective(W), 4)
    1.0
    """

    landmarks: np.ndarray | None = None

    def near(self, W: np.ndarray) -> Self:
        """Return the problem with landmarks that are chosen for a climb from W.

        Parameters
        ----------
        W : array of shape (d, q)
            The start.

        Returns
        -------
        LandmarkProblem
            With landmarks.
        """
        super().near(W)
        drawn = np.random.default_rng(0).permutation(len(self.X))[:LANDMARK_ROWS]
        column = lambda k: self._kernel_of(W, drawn, drawn[k : k + 1])[:, 0]
        diagonal = self._diagonal(W, drawn)
        return replace(self, landmarks=drawn[_pivots(column, diagonal)])

    def _diagonal(self, W: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The kernel of each row with itself (n,)."""
        total = np.zeros(len(rows))
        for weight, part, X, u in self._terms:
            z = X[rows] @ W
            beta = np.sum(z * z, axis=1) if part.pairs == "inner" else np.zeros(len(rows))
            total += weight * part.f(beta if u is None else beta * u[rows, 0] ** 2)
        return total

    def _kernel_of(
        self, W: np.ndarray, rows: slice | np.ndarray, columns: np.ndarray
    ) -> np.ndarray:
        return total(self._tables(np.asarray(W, dtype=float), rows, columns, 0), 0)

    def _chunks(self) -> Iterator[slice]:
        yield from gen_batches(self.n, ROW_CHUNK)

    def _sums(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """C'C (m, m), C'1 (m,) and C'F (m, r) of all rows, with the roots of their weights."""
        m = len(self._chosen)
        products, along, target = np.zeros((m, m)), np.zeros(m), np.zeros((m, self._F.shape[1]))
        for rows in self._chunks():
            C = self._root[rows] * self._kernel_of(W, rows, self._chosen)
            products += C.T @ C
            along += C.T @ self._root[rows, 0]
            target += C.T @ self._F[rows]
        return products, along, target

    def _pulls(self, W: np.ndarray, V: np.ndarray) -> np.ndarray:
        """The part of Phi(W) V (d, k) that comes from the pairs of a row and a landmark."""
        at, image = self._at(W), np.zeros((self.d, V.shape[1]))
        for rows in self._chunks():
            root, tables = self._root[rows], self._tables(W, rows, self._chosen, 0, 1)
            C = root * (total(tables, 0) - at.rest)
            left = root * (self._F[rows] - C @ at.B)
            gamma = (left * (2 * self._c * self._s)) @ at.B.T
            for table in tables:
                number, slope = table.derivatives[1]
                image += number * table.sum(gamma * slope, V)
        return image

    @property
    def _chosen(self) -> np.ndarray:
        if self.landmarks is None:
            raise ValueError("there are no landmarks yet: near(W) chooses them")
        return self.landmarks

    def _regression(self, W: np.ndarray) -> Regression:
        """``B = F - C a`` with ``(c M + C'C) a = C'F``, C centred: the coefficients a."""
        products, along, target = self._sums(W)
        products = products - np.outer(along, along) / self._mass
        tables = self._tables(W, self._chosen, self._chosen, 0, 1)
        A = products + self._c * total(tables, 0)
        A[np.diag_indices(len(A))] += 1e-12 * np.trace(A)
        a = cho_solve(self._factor(A), target, check_finite=False)
        value = self._c * float(np.sum(self._s * np.sum(target * a, axis=0)))
        return Regression(value, a, along / self._mass, tables)

    def _slope(self, W: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Phi(W) V (d, k): of ``2 Tr[B s P' dC'] - Tr[P s P' dM]`` with P = c a."""
        W, at = np.asarray(W, dtype=float), self._at(W)
        P, image = self._c * at.B, self._pulls(W, V)
        for table in at.tables:
            number, slope = table.derivatives[1]
            image -= number * table.sum(((P * self._s) @ P.T) * slope, V)
        return image.astype(self.dtype)


@dataclass(frozen=True, eq=False)
class VisitedLandmarks(VisitedSamples, LandmarkProblem):
    """The `LandmarkProblem` of labels whose rows lie in a file or in blocks.

    Two visits of all rows give J and its gradient; X and gamma are a sample, from which the
    landmarks come.

    Parameters
    ----------
    X, gamma, kernel, ridge, sample_weight, count, landmarks
        As for `LandmarkProblem`, of the sample: a ClassGamma, a Gaussian kernel, no weights.
    rows : ArrayRows or DaskRows
        All rows, less their mean.

    See Also
    --------
    LandmarkProblem : The same in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit import Gaussian, label_gamma
    >>> from ismlit.objectives.features import FeatureProblem
    >>> from ismlit.objectives.landmarks import LandmarkProblem, visited_landmarks
    >>> X = np.random.default_rng(0).standard_normal((400, 3))
    >>> given = X, label_gamma(X[:, 0] > 0), Gaussian(1.0)
    >>> visited, W = visited_landmarks(FeatureProblem(*given), 0.01), np.eye(3)[:, :1]
    >>> ratio = visited.near(W).objective(W) / LandmarkProblem(*given).near(W).objective(W)
    >>> round(ratio, 6)
    1.0
    """

    gamma: ClassGamma
    rows: ArrayRows | DaskRows | None = None

    @property
    def _all(self) -> ArrayRows | DaskRows:
        assert self.rows is not None  # `visited_landmarks` gives them
        return self.rows

    @property
    def _mass(self) -> float:  # type: ignore[override]
        return float(self.n)

    def _sums(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        products, by_class = self._all.visit(_products, self.kernel, self.X[self._chosen], W)
        return products, by_class.sum(axis=0), by_class.T @ self.gamma.table

    def _pulls(self, W: np.ndarray, V: np.ndarray) -> np.ndarray:
        at, P = self._at(W), 2 * self._c * self._at(W).B
        arguments = self.kernel, self.X[self._chosen], W, V, self.gamma.table, at.rest, at.B, P
        return self._all.visit(_pulls, *arguments)[0]


def visited_landmarks(
    problem: FeatureProblem, ridge: float, sample: slice | np.ndarray = ALL
) -> VisitedLandmarks:
    """Return the conditional covariance of the rows that random features would visit.

    Parameters
    ----------
    problem : FeatureProblem
        Of labels.
    ridge : float
        The regularisation, a share of n.
    sample : slice, or array of int
        From which of the rows of ``problem.X`` the landmarks come.

    Returns
    -------
    VisitedLandmarks
        The objective.
    """
    (F, s), rows = problem._table, problem._rows
    mean = rows.mean if isinstance(rows, ArrayRows) else 0.0  # else the sample is centred
    gamma = ClassGamma(F * np.sqrt(s), problem._classes[1][sample], np.asarray(rows.sizes))
    X = problem.X[sample] - mean
    return VisitedLandmarks(X, gamma, problem.kernel, ridge, rows=rows)


def _products(
    x: np.ndarray, codes: np.ndarray, k: int, kernel: Kernel, Z: np.ndarray, W: np.ndarray
) -> Sums:
    """Of the kernels C (n, m) of some rows with the landmarks Z: C'C, and sums by class (k, m)."""
    ((number, C),) = kernel.f_and_derivatives(_argument(x, kernel, Z, W), (0,))
    C = number * C
    return C.T @ C, by_class(codes, k) @ C


def _pulls(
    x: np.ndarray,
    codes: np.ndarray,
    k: int,
    kernel: Kernel,
    Z: np.ndarray,
    W: np.ndarray,
    V: np.ndarray,
    F: np.ndarray,
    means: np.ndarray,
    a: np.ndarray,
    P: np.ndarray,
) -> Sums:
    """`LandmarkProblem._pulls` of some rows."""
    (number, C), (tilt, slope) = kernel.f_and_derivatives(_argument(x, kernel, Z, W), (0, 1))
    left = F[codes] - (number * C - means) @ a
    return (tilt * Table("difference", x, Z, []).sum((left @ P.T) * slope, V),)


def _argument(x: np.ndarray, kernel: Kernel, Z: np.ndarray, W: np.ndarray) -> np.ndarray:
    return np.asarray(kernel.argument * cdist(x @ W, Z @ W, "sqeuclidean"))


def _pivots(column: Callable[[int], np.ndarray], diagonal: np.ndarray) -> list[int]:
    """The rows that a Cholesky factorisation with pivots takes; `column` gives columns of K."""
    left, least = diagonal.copy(), LANDMARK_ERROR * diagonal.max()
    factors = np.zeros((min(MOST_LANDMARKS, len(left)), len(left)))
    taken: list[int] = []
    while len(taken) < len(factors) and left.max() > least:
        k, pivot = len(taken), int(left.argmax())
        known = column(pivot) - factors[:k, pivot] @ factors[:k]
        factors[k] = known / np.sqrt(left[pivot])
        taken.append(pivot)
        left -= factors[k] ** 2
        left[taken] = 0
    return taken
