"""Break the library on purpose, one fault at a time, and see that the tests notice.

``python tests/faults.py [--only NAME] [--jobs N]`` copies the library and its tests into a
temporary folder, sees that the copy passes as it is, and then for each fault edits one file of
the copy, runs the tests that should notice, and undoes the edit. The exit status is 1 when a fault
survives. A fault names text that must occur exactly once, so that the list cannot rot.
"""

import argparse
import ast
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 400  # seconds for one run; the slowest sound one takes a quarter of it

CHECK = "tests/test_claims.py::test_check_raises_unless_the_outcome_is_the_verdict"
BOOL = "tests/test_claims.py::test_check_wants_a_known_claim_and_a_bool"
SAME = "tests/test_symbolic.py::test_same_tells_identities_from_near_misses"
NAMES = (
    "kernels gamma phi ism optimality symbolic reduction datasets baselines features spectral "
    "alternative experiments network construction perceptron deep claims pages live"
)
(
    KERNELS,
    GAMMA,
    PHI,
    ISM,
    OPTIMALITY,
    SYMBOLIC,
    REDUCTION,
    DATASETS,
    BASELINES,
    FEATURES,
    SPECTRAL,
    ALTERNATIVE,
    EXPERIMENTS,
    NETWORK,
    CONSTRUCTION,
    PERCEPTRON,
    DEEP,
    CLAIMS,
    PAGES,
    LIVE,
) = (f"tests/test_{name}.py" for name in NAMES.split())


@dataclass(frozen=True)
class Fault:
    """One deliberate fault: in `file` (below ismlit/) the text `old` becomes `new`.

    `tests` are what should notice, the likeliest first; `notebooks` a pattern of file names below
    book/ whose re-execution should notice too (no match: only the tests are run); `data` a real
    data set without which the tests would be skipped.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple
    notebooks: str = ""
    data: str = ""


PHI_PRODUCT = "product = degrees[:, None] * data - 2 * product"
TOP = "eigh(matrix, subset_by_index=(max(d - q - 1, 0), d - 1))\n"
TOP += "    return values[::-1], vectors[:, ::-1][:, :q]"
BOTTOM = "eigh(matrix, subset_by_index=(0, min(q, d - 1)))\n    return values, vectors[:, :q]"
TAYLOR = "W = vectors[:, keep][:, ::-1][:, :q]"
DIIS = " or first_order_residual(phi, W) > 0.7 * self.residual:"
UNBIASED = "k.sum() * m.sum() / ((n - 1) * (n - 2))"

FAULTS = [
    # ---------------------------------------------------------------- kernels
    Fault(
        "Gaussian: sigma not squared",
        "kernels.py",
        "return xp.exp(-beta / (2 * self.sigma**2))",
        "return xp.exp(-beta / (2 * self.sigma))",
        (KERNELS,),
        "*rkhs*",
    ),
    Fault(
        "Gaussian: sigma^2 for sigma^4 in the second derivative",
        "kernels.py",
        "(4 * self.sigma**4)",
        "(4 * self.sigma**2)",
        (KERNELS, SYMBOLIC),
    ),
    Fault(
        "Polynomial: the factor p of the derivative lost",
        "kernels.py",
        "return self.degree * _power(beta + self.c, self.degree - 1)",
        "return _power(beta + self.c, self.degree - 1)",
        (KERNELS,),
    ),
    Fault(
        "Squared: the printed sign, a distance for a similarity",
        "kernels.py",
        "return -beta\n",
        "return 1 * beta\n",
        (KERNELS, SYMBOLIC),
    ),
    Fault(
        "Sum: only the outer terms take a weight",
        "kernels.py",
        "(weight * w, kernel) for w, kernel",
        "(weight, kernel) for w, kernel",
        (KERNELS,),
    ),
    Fault(
        "median distance: distinct pairs for all, and the reverse",
        "kernels.py",
        'pairs = distances if over == "all" else',
        'pairs = distances if over == "distinct" else',
        (KERNELS,),
    ),
    Fault(
        "max_separation: the sign of the loss",
        "kernels.py",
        "float(K[same].mean() - K[~same].mean())",
        "float(K[~same].mean() - K[same].mean())",
        (KERNELS,),
    ),
    Fault(
        "nearest neighbours: the sample itself counted as the first",
        "kernels.py",
        "np.sort(_distances(X), axis=1)[:, k]",
        "np.sort(_distances(X), axis=1)[:, k - 1]",
        (KERNELS, PHI),
    ),
    # ---------------------------------------------------------------- gamma
    Fault(
        "Gamma: labels not centred",
        "gamma.py",
        "F = centre(Y / np.sqrt(Y.sum(axis=0)) if balanced else Y)",
        "F = Y / np.sqrt(Y.sum(axis=0)) if balanced else Y",
        (GAMMA, PHI),
        "*hsic*",
    ),
    Fault(
        "KDAC: known labels rewarded instead of penalised",
        "gamma.py",
        "one_hot(y), -weight, degrees",
        "one_hot(y), weight, degrees",
        (GAMMA,),
    ),
    Fault(
        "guidance: the weight of the labels lost",
        "gamma.py",
        "np.full(F.shape[1], float(weight))",
        "np.full(F.shape[1], 1.0)",
        (GAMMA,),
    ),
    Fault(
        "degrees: D^-1 for D^-1/2",
        "gamma.py",
        "F = F / np.sqrt(degrees)[:, None]",
        "F = F / degrees[:, None]",
        (GAMMA,),
    ),
    Fault(
        "HSIC: divided by n^2 for (n-1)^2",
        "gamma.py",
        "_double_centre(K) * L) / (n - 1) ** 2",
        "_double_centre(K) * L) / n**2",
        (GAMMA,),
        "*hsic*",
    ),
    Fault(
        "unbiased HSIC: n-1 for n-2",
        "gamma.py",
        UNBIASED,
        UNBIASED.replace("n - 2", "n - 1"),
        (GAMMA,),
    ),
    Fault(
        "normalised HSIC: the square root lost",
        "gamma.py",
        "hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L))",
        "hsic(K, L) / (hsic(K, K) * hsic(L, L))",
        (GAMMA,),
    ),
    # ---------------------------------------------------------------- phi
    Fault(
        "Phi: sign of the difference part lost",
        "phi.py",
        PHI_PRODUCT,
        "product = 2 * product - degrees[:, None] * data",
        (PHI,),
        "*phi*",
    ),
    Fault(
        "Phi: factor 2 of the differences lost",
        "phi.py",
        PHI_PRODUCT,
        "product = 0.5 * degrees[:, None] * data - product",
        (PHI, SYMBOLIC),
        "*phi*",
    ),
    Fault(
        "Phi: 2 half instead of half + half'",
        "phi.py",
        "return value, half + half.T",
        "return value, 2 * half",
        (PHI,),
    ),
    Fault(
        "Phi: pairs of the diagonal tiles counted twice",
        "phi.py",
        "gamma = 0.5 * gamma",
        "gamma = 1.0 * gamma",
        (PHI,),
    ),
    Fault(
        "Phi: degrees not accumulated from the columns",
        "phi.py",
        "            degrees[columns] += psi.sum(0)\n",
        "",
        (PHI,),
    ),
    Fault(
        "Phi: weight of a sum of kernels dropped",
        "phi.py",
        "value *= weight",
        "value *= 1 if order else weight",
        (PHI,),
        "*sums*",
    ),
    Fault(
        "Phi: relative bandwidths applied once, whatever the order of the derivative",
        "phi.py",
        "value *= scale**order",
        "value *= scale",
        (PHI,),
    ),
    Fault(
        "Phi(W) V: factor 2 of the differences lost",
        "phi.py",
        "return 2 * (X[rows].T @ forth + X[columns].T @ back)",
        "return X[rows].T @ forth + X[columns].T @ back",
        (PHI,),
    ),
    Fault(
        "M: factor of the differences lost",
        "phi.py",
        "own[columns] - 2 * slope",
        "own[columns] - slope",
        (PHI, OPTIMALITY),
    ),
    Fault(
        "passes: a product with kept tiles counted as one",
        "phi.py",
        "self.count.passes -= bool(tiles)  # tiles at hand",
        "self.count.passes -= 0  # tiles at hand",
        (PHI,),
    ),
    Fault(
        "float32: J accumulated in float32",
        "phi.py",
        "float(weighted.sum(dtype=np.float64))\n        product[pairs]",
        "float(weighted.sum())\n        product[pairs]",
        (PHI, ISM),
    ),
    Fault(
        "float32 becomes float64",
        "phi.py",
        "X = check_array(self.X, dtype=(np.float64, np.float32), ensure_min_samples=2)",
        "X = check_array(self.X, dtype=np.float64, ensure_min_samples=2)",
        (PHI, ISM),
    ),
    Fault(
        "the caller's X is centred in place",
        "phi.py",
        '"difference": self.X - self.X.mean(axis=0)}',
        '"difference": np.subtract(self.X, self.X.mean(axis=0), out=self.X)}',
        (PHI, REDUCTION),
    ),
    Fault(
        "the pass keeps all its tiles: n^2 memory",
        "phi.py",
        "for rows, row in zip(self._blocks, self._sweep(_phi_row, W), strict=True):",
        "kept = [list(self._tiles(r, {k: self._data[k] @ W for k in products}, 1))\n"
        "                for r in range(len(self._blocks))]\n"
        "        for rows, row, _ in zip(self._blocks, self._sweep(_phi_row, W), kept):",
        ("tests/test_phi.py::test_memory_is_of_the_order_of_a_tile",),
    ),
    # ---------------------------------------------------------------- the second-order form
    Fault(
        "Kd: other minus chosen eigenvalues",
        "grassmann.py",
        "self.chosen[None, :] - self.others[:, None]",
        "self.others[:, None] - self.chosen[None, :]",
        (OPTIMALITY,),
        "*second*order*",
    ),
    Fault(
        "M: doubled when made symmetric",
        "grassmann.py",
        "return (M + M.T) / 2",
        "return M + M.T",
        (OPTIMALITY,),
    ),
    Fault(
        "distance of projectors without sqrt(2)",
        "grassmann.py",
        "return float(np.sqrt(2) * np.linalg.norm(outside(W2, W1)))",
        "return float(np.linalg.norm(outside(W2, W1)))",
        (OPTIMALITY,),
    ),
    Fault(
        "certificate: first order with >=",
        "optimality.py",
        "is_stationary=residual <= tol",
        "is_stationary=residual >= tol",
        (OPTIMALITY, REDUCTION),
    ),
    Fault(
        "certificate: any curvature passes the second order",
        "optimality.py",
        "is_second_order=curvature - error >= -tol * np.linalg.norm(phi)",
        "is_second_order=abs(curvature) >= -tol * np.linalg.norm(phi)",
        (OPTIMALITY,),
    ),
    Fault(
        "(3.10): the gap without the 2",
        "optimality.py",
        "Bound(sigma**2 * 2 * eigengap",
        "Bound(sigma**2 * eigengap",
        (OPTIMALITY,),
    ),
    Fault(
        "(C.73): the smallest eigenvalue of M for the largest",
        "optimality.py",
        "np.linalg.eigvalsh(second.m_dense())[-1]",
        "np.linalg.eigvalsh(second.m_dense())[0]",
        (OPTIMALITY,),
    ),
    # ---------------------------------------------------------------- the solver
    Fault(
        "ISM: smallest instead of largest eigenvalues",
        "ism.py",
        TOP,
        BOTTOM,
        (ISM,),
        "*ism*",
    ),
    Fault(
        "Taylor start: the bottom of the positive spectrum",
        "ism.py",
        TAYLOR,
        TAYLOR.replace("[:, ::-1]", ""),
        (ISM, REDUCTION),
        "*taylor*",
    ),
    Fault(
        "Taylor start: negative eigenvalues kept",
        "ism.py",
        "keep = values > rounding",
        "keep = values < -rounding",
        (ISM, REDUCTION),
    ),
    Fault(
        "Taylor start: ties left to the eigensolver",
        "ism.py",
        "tied @ top_eigenvectors(spread.T @ spread, missing)[1]",
        "tied[:, :missing]",
        (ISM,),
    ),
    Fault(
        "PCA start: directions of least variance",
        "ism.py",
        "top_eigenvectors(np.cov(problem.X.T).reshape(d, d), q)",
        "top_eigenvectors(-np.cov(problem.X.T).reshape(d, d), q)",
        (ISM,),
    ),
    Fault(
        "safeguard: the shift is never raised",
        "ism.py",
        "shift = max(4 * shift, floor)",
        "return shift, False",
        (ISM,),
    ),
    Fault(
        "safeguard: every step accepted",
        "ism.py",
        "passed = J - self.J >= promised / 4",
        "passed = True",
        (ISM,),
        "*converge*",
    ),
    Fault(
        "safeguard: steps that lose a little accepted",
        "ism.py",
        "passed = J - self.J >= promised / 4",
        "passed = J - self.J >= -promised / 4",
        (ISM,),
    ),
    Fault(
        "escape from saddles disabled",
        "ism.py",
        "saddle = self.upward_curve() if escape else None",
        "saddle = None",
        (ISM,),
        "*converge*",
    ),
    Fault(
        "escape: the direction left in the rotated frame",
        "grassmann.py",
        "b.reshape(self.shape) @ self.rotation.T",
        "b.reshape(self.shape)",
        (OPTIMALITY,),
    ),
    Fault(
        "Newton: the step of a descent",
        "grassmann.py",
        "        return self.tangent(b)\n",
        "        return -self.tangent(b)\n",
        (OPTIMALITY,),
    ),
    Fault(
        "float32: a tolerance below its rounding",
        "ism.py",
        "return max(tol, 200 * float(np.finfo(dtype).eps))",
        "return max(tol, 0 * float(np.finfo(dtype).eps))",
        (ISM, REDUCTION),
    ),
    Fault(
        "residual without the projection",
        "grassmann.py",
        "return outside(phi @ W, W)",
        "return phi @ W - W",
        (ISM,),
    ),
    Fault(
        "DIIS: one of its two tests is enough, so J may fall",
        "ism.py",
        DIIS,
        DIIS.replace(" or ", " and "),
        (ISM, REDUCTION),
    ),
    Fault(
        "published ISM: the printed loop condition, which stops while the eigenvalues move",
        "ism.py",
        "if change < self.tol:",
        "if change > self.tol:",
        (ISM,),
    ),
    Fault(
        "result: the sign convention of W dropped",
        "ism.py",
        "return values[::-1], fixed_signs((W @ rotation)[:, ::-1])",
        "return values[::-1], (W @ rotation)[:, ::-1]",
        (ISM,),
    ),
    Fault(
        "result: eigenvalues in rising order",
        "ism.py",
        "return values[::-1], fixed_signs((W @ rotation)[:, ::-1])",
        "return values, fixed_signs((W @ rotation)[:, ::-1])",
        (ISM,),
    ),
    Fault(
        "history: eigengap with the wrong sign",
        "ism.py",
        "[0] - outside[0])",
        "[0] + outside[0])",
        (ISM, OPTIMALITY),
    ),
    Fault(
        "trust region: Hessian without the derivative of Phi",
        "phi.py",
        "second = second * _slope(rows, columns, pairs, Z[pairs], u[pairs])",
        "second = 0 * second",
        (PHI, BASELINES),
    ),
    # ---------------------------------------------------------------- estimators and data
    Fault(
        "estimator: data not centred before fitting",
        "reduction.py",
        "centred = X - self.mean_",
        "centred = X + 0 * self.mean_",
        (REDUCTION,),
    ),
    Fault(
        "estimator: new data not centred",
        "reduction.py",
        "return ((X - self.mean_) @ self.W_)",
        "return (X @ self.W_)",
        (REDUCTION,),
    ),
    Fault(
        "estimator: the training data kept",
        "reduction.py",
        "replace(result, problem=None)",
        "replace(result)",
        (REDUCTION,),
    ),
    Fault(
        "data: the checksum of a cached file not looked at",
        "datasets.py",
        'if path.exists() and pooch.file_hash(str(path)) == entry["sha256"]:',
        "if path.exists():",
        (DATASETS,),
        data="cancer",
    ),
    # ---------------------------------------------------------------- symbols and claims
    Fault(
        "symbolic twin: factor 2 of the differences lost",
        "symbolic.py",
        "return 2 * self.X.T * (self.degree(self.psi) - self.psi) * self.X",
        "return self.X.T * (self.degree(self.psi) - self.psi) * self.X",
        (SYMBOLIC,),
    ),
    Fault(
        "symbolic twin: every degree that of the first sample",
        "symbolic.py",
        "return sp.diag(*[sum(matrix.row(i)) for i in range(matrix.rows)])",
        "return sp.diag(*[sum(matrix.row(0)) for i in range(matrix.rows)])",
        (SYMBOLIC,),
    ),
    Fault(
        "check: broken variants not looked at",
        "claims.py",
        "if accepts_broken:",
        "if False:",
        (CHECK,),
    ),
    Fault(
        'check: any outcome accepted for "fails"',
        "claims.py",
        "if given != wanted:",
        'if verdict != "fails" and given != wanted:',
        (CHECK,),
    ),
    Fault(
        "check: a truthy array taken for a bool",
        "claims.py",
        "if not isinstance(value, bool | np.bool_):",
        'if not hasattr(value, "__bool__"):',
        (BOOL,),
    ),
    Fault(
        "same: a tolerance of 1",
        "claims.py",
        "def same(left, right, tol=1e-10):",
        "def same(left, right, tol=1.0):",
        (SAME,),
    ),
    Fault(
        "same: shapes not compared",
        "claims.py",
        "if left.shape != right.shape:",
        "if left.ndim < 0:",
        (SAME,),
    ),
    # ---------------------------------------------------------------- ledger, pages, live figure
    Fault(
        "ledger: rests on its own uses only",
        "claims.py",
        "waiting += ledger()[used].uses",
        "waiting += ()",
        (PAGES,),
    ),
    Fault(
        "claims --run: the cell itself is not run",
        "claims.py",
        "enumerate(sources[: last + 1])",
        "enumerate(sources[:last])",
        (CLAIMS,),
    ),
    Fault(
        "claims: the chapter is not looked at",
        "claims.py",
        "if options.chapter in (None, claim.chapter)",
        "if options.chapter != claim.id",
        (CLAIMS,),
    ),
    Fault(
        "pages: anchors keep their digits",
        "pages.py",
        'r"^[-0-9]+|-+$"',
        'r"^-+|-+$"',
        (PAGES,),
    ),
    Fault(
        "errata: what fails is left out",
        "pages.py",
        "wrong = [c for c in ledger().values() if c.verdict in WRONG]",
        "wrong = [c for c in ledger().values() if c.verdict == WRONG[0]]",
        (PAGES,),
    ),
    Fault(
        "report: agreement turned round",
        "experiments/report.py",
        'agrees="yes" if agrees else "no"',
        'agrees="no" if agrees else "yes"',
        (PAGES,),
    ),
    Fault(
        "report: the rows of a set under its neighbour",
        "experiments/report.py",
        "claim = f\"tab-6.1-{row['set']}-{row['method']}\"",
        "claim = f\"tab-6.1-{row['set']}-H\"",
        (PAGES,),
    ),
    Fault(
        "live: the least eigenvector",
        "live.py",
        "W = np.linalg.eigh(problem.phi(W))[1][:, -1:]",
        "W = np.linalg.eigh(problem.phi(W))[1][:, :1]",
        (LIVE,),
    ),
    Fault(
        "live: heights not over the maximum",
        "live.py",
        "round(100 * height(a) / best)",
        "round(100 * height(a) / curve[0])",
        (LIVE,),
    ),
    # ---------------------------------------------------------------- peers
    Fault(
        "Cayley: the curve runs downhill",
        "baselines.py",
        "Q, R = np.linalg.qr(W + step * U",
        "Q, R = np.linalg.qr(W - step * U",
        (BASELINES,),
    ),
    Fault(
        "Cayley: the frame's signs left to QR",
        "baselines.py",
        "return Q * np.sign(np.diag(R))",
        "return Q",
        (BASELINES,),
    ),
    Fault(
        "Dimension Growth: later columns not orthogonal to earlier ones",
        "baselines.py",
        "slope = _orthogonal(g[:, j], np.c_[W, w], normalise=False)",
        "slope = _orthogonal(g[:, j], w[:, None], normalise=False)",
        (BASELINES,),
    ),
    Fault(
        "peers: the budget of passes ignored",
        "baselines.py",
        "return self.problem.count.passes - self.before >= self.max_phi",
        "return False",
        (BASELINES,),
    ),
    # ---------------------------------------------------------------- features
    Fault(
        "features: the turning of the frame neglected",
        "features.py",
        "G = G + outside(extra, W)",
        "G = G + 0 * extra",
        (FEATURES,),
    ),
    Fault(
        "features: Phi not put right by the gradient",
        "features.py",
        "error = G - phi @ W",
        "error = 0 * (G - phi @ W)",
        (FEATURES,),
    ),
    Fault(
        "features: the degrees forgotten",
        "features.py",
        "phi = (pairs / self.features - own)",
        "phi = (pairs / self.features)",
        (FEATURES,),
    ),
    Fault(
        "features: random draws for the Sobol sequence",
        "features.py",
        "return MultivariateNormalQMC(np.zeros(q), seed=seed).random(m).T",
        "return np.random.default_rng(0).standard_normal((q, m))",
        (FEATURES,),
        "*scaling*",
    ),
    # ---------------------------------------------------------------- clusterings
    Fault(
        "degrees: frozen, as published",
        "spectral.py",
        "r = weighted.sum(axis=1) / degrees",
        "r = 0 * weighted.sum(axis=1) / degrees",
        (SPECTRAL,),
        "*turns*",
    ),
    Fault(
        "degrees: the inverse for the inverse root",
        "spectral.py",
        "F = self.gamma.F / np.sqrt(degrees)[:, None]\n        KF",
        "F = self.gamma.F / degrees[:, None]\n        KF",
        (SPECTRAL,),
    ),
    Fault(
        "embedding: the smallest eigenvectors",
        "spectral.py",
        "subset_by_index=(n - k, n - 1)",
        "subset_by_index=(0, k - 1)",
        (SPECTRAL,),
        "*turns*",
    ),
    Fault(
        "embedding: HSIC's affinity not centred",
        "spectral.py",
        "rest = (lambda A: A) if self.normalize is True else centre",
        "rest = lambda A: A",
        (SPECTRAL,),
    ),
    Fault(
        "alternation: the guidance forgotten",
        "spectral.py",
        "gamma = gamma if guide is None else gamma + guide",
        "gamma = gamma",
        (SPECTRAL,),
    ),
    Fault(
        "guidance: unknown samples counted as a class",
        "gamma.py",
        "known = y != -1",
        "known = y != -99",
        (GAMMA, REDUCTION),
    ),
    Fault(
        "alignment: kernels not centred",
        "gamma.py",
        "np.column_stack([_double_centre(gram(k, X)).ravel() for k in kernels])",
        "np.column_stack([gram(k, X).ravel() for k in kernels])",
        (GAMMA,),
    ),
    Fault(
        "Phi_0: differences without their factor 2",
        "phi.py",
        "product = 2 * (degrees * X - product)",
        "product = degrees * X - product",
        (PHI,),
    ),
    Fault(
        "passes: many directions counted as one",
        "phi.py",
        "self.count.passes += len(Z) - 1",
        "self.count.passes += 0",
        (PHI,),
    ),
    Fault(
        "Lanczos: its error understated",
        "grassmann.py",
        "lower *= diagonal.min() if lower >= 0 else diagonal.max()",
        "lower *= diagonal.max()",
        (OPTIMALITY,),
    ),
    # ---------------------------------------------------------------- edges of the new parts
    Fault(
        "more features than samples: their span without room for flat directions",
        "ism.py",
        "V = np.linalg.qr(np.hstack([problem.X.T, more]))[0]",
        "V = np.linalg.qr(problem.X.T[:, : n // 2])[0]",
        (ISM,),
    ),
    Fault(
        "several starts: the worst goes on",
        "ism.py",
        "return max((_two_steps(problem, W) for W in starts), key=lambda pair: pair[0])[1]",
        "return min((_two_steps(problem, W) for W in starts), key=lambda pair: pair[0])[1]",
        (ISM,),
    ),
    Fault(
        "degrees: the start that does not see them",
        "spectral.py",
        "return self._plain(self.objective_and_gamma(zero)[1]).phi_0()",
        "return Problem.phi_0(self)",
        (SPECTRAL,),
    ),
    Fault(
        "alternation: a fall taken for convergence",
        "spectral.py",
        "settled = bool(abs(gain) <= tol)",
        "settled = bool(gain <= tol)",
        (SPECTRAL,),
    ),
    Fault(
        "certificate of a problem whose second order is not derived",
        "optimality.py",
        "    if not problem.has_hessian:\n        raise ValueError(",
        "    if False:\n        raise ValueError(",
        (FEATURES,),
    ),
    Fault(
        "degrees: second derivative without the change of the degrees",
        "spectral.py",
        "image += change.objective_and_gradient(W)[1]",
        "image += 0 * change.objective_and_gradient(W)[1]",
        (SPECTRAL,),
    ),
    Fault(
        "degrees: Hessian product without the change of the degrees",
        "spectral.py",
        "return along + change.objective_and_gradient(W)[1]",
        "return along",
        (SPECTRAL,),
    ),
    Fault(
        "degrees: the change of r forgets that of the degrees",
        "spectral.py",
        "dr = (dt - at.r * d_degrees) / at.degrees",
        "dr = dt / at.degrees",
        (SPECTRAL,),
    ),
    Fault(
        "degrees: what is kept at the last W is taken for every W",
        "spectral.py",
        "if key not in self._memory:",
        "if not self._memory:",
        (SPECTRAL,),
    ),
    Fault(
        "alternation: a W step that did not converge is not told",
        "spectral.py",
        "done = settled and bool(result.converged)",
        "done = settled",
        (SPECTRAL,),
    ),
    Fault(
        "alternation: numpy's bools are taken for another affinity",
        "spectral.py",
        "return bool(normalize)",
        "return normalize",
        (SPECTRAL,),
    ),
    Fault(
        "alternation: the start is not looked at",
        "spectral.py",
        "if turn == 1 and start is not None:",
        "if False:",
        (SPECTRAL,),
    ),
    Fault(
        "alternation: every turn starts afresh",
        "spectral.py",
        "W = init = result.W",
        "W = result.W",
        (SPECTRAL,),
    ),
    Fault(
        "embedding: single precision lost",
        "spectral.py",
        "self.known = np.zeros((self.n, 0), self.dtype)",
        "self.known = np.zeros((self.n, 0))",
        (SPECTRAL,),
    ),
    Fault(
        "search: the widest gap among the directions that do harm",
        "alternative.py",
        "np.argmax(-np.diff(eigenvalues)[:useful])",
        "np.argmax(-np.diff(eigenvalues))",
        (ALTERNATIVE,),
    ),
    Fault(
        "search: the lowest quality where the bound is met",
        "alternative.py",
        'return met, row["quality"] if met else row["bound"]',
        'return met, -row["quality"] if met else row["bound"]',
        (ALTERNATIVE,),
    ),
    Fault(
        "KDAC: the solver asked for is not used",
        "alternative.py",
        "solver=SOLVERS[self.solver],",
        "solver=None,",
        (ALTERNATIVE,),
    ),
    Fault(
        "two views: their labels exchanged",
        "datasets.py",
        "return np.hstack([curves, groups, noise]), side, parabola",
        "return np.hstack([curves, groups, noise]), parabola, side",
        (DATASETS,),
    ),
    Fault(
        "alternation: a W that falls is followed",
        "spectral.py",
        "if turn > 1 and not frozen and found.objective < objectives[-1]:",
        "if False:",
        (SPECTRAL,),
    ),
    Fault(
        "embedding: the known directions are not projected out",
        "spectral.py",
        "V = rest(outside(V.reshape(self.n, -1), self.known))",
        "V = rest(V.reshape(self.n, -1))",
        (SPECTRAL,),
    ),
    Fault(
        "Gram derivative: half of the pairs forgotten",
        "phi.py",
        "total[columns] += change.T @ V[rows]",
        "pass",
        (PHI,),
    ),
    Fault(
        "Phi_0: rounding taken for a start",
        "phi.py",
        "total[:] = 0  # all terms cancel",
        "pass  # all terms cancel",
        (PHI,),
    ),
    Fault(
        "KDAC: the known clustering is sought",
        "alternative.py",
        "first, *others = (guidance(column, -weight) for column in known.T)",
        "first, *others = (guidance(column, weight) for column in known.T)",
        (ALTERNATIVE,),
    ),
    Fault(
        "KDAC: only the first of several known clusterings",
        "alternative.py",
        "return sum(others, start=first)",
        "return first",
        (ALTERNATIVE,),
    ),
    Fault(
        "KDAC: k columns for k clusters",
        "alternative.py",
        "columns=self.n_vectors or max(self.n_clusters - 1, 1),",
        "columns=self.n_vectors or self.n_clusters,",
        (ALTERNATIVE,),
    ),
    Fault(
        "KDAC: quality with the penalty left in",
        "alternative.py",
        "self.quality_ = problem.objective(found.W)",
        "self.quality_ = found.objective",
        (ALTERNATIVE,),
    ),
    Fault(
        "KDAC: the least of several agreements as novelty",
        "alternative.py",
        "return max(normalized_mutual_info_score",
        "return min(normalized_mutual_info_score",
        (ALTERNATIVE,),
    ),
    Fault(
        "search: the bound in the scale of chapter 5",
        "optimality.py",
        "return Bound(sigma**2 * 2 * eigengap, float(total / sigma**2))",
        "return Bound(sigma**2 * eigengap, float(total / sigma**2))",
        (ALTERNATIVE,),
    ),
    Fault(
        "search: alignment does not count what is known",
        "alternative.py",
        '"alignment": float(agreement[0] - max(agreement[1:])),',
        '"alignment": float(agreement[0]),',
        (ALTERNATIVE,),
    ),
    Fault(
        "estimators: fit_predict drops y",
        "reduction.py",
        "return self.fit(X, y).labels_",
        "return self.fit(X).labels_",
        (REDUCTION, ALTERNATIVE),
    ),
    Fault(
        "table 3.1: every cell agrees",
        "experiments/table_3_1.py",
        "return bool(abs(np.mean(values) - mean) <= allowed)",
        "return True",
        (EXPERIMENTS,),
    ),
    Fault(
        "features: the null space of Phi_0 as the eigensolver leaves it",
        "features.py",
        "return np.hstack([sure, np.linalg.qr(outside(generic, sure))[0]])",
        "return vectors[:, ::-1]",
        (FEATURES,),
    ),
    Fault(
        "guidance: rounding taken for scores",
        "gamma.py",
        "if size <= 1e-10 * np.linalg.norm(y.astype(float)):",
        "if size == 0:",
        (GAMMA,),
    ),
    Fault(
        "peers: out of passes taken for converged",
        "baselines.py",
        "done = done and not (run.spent() or lost)",
        "done = done and not lost",
        (BASELINES,),
    ),
    # ---------------------------------------------------------------- networks
    Fault(
        "balanced Gamma: classes divided by their size, not by its root",
        "gamma.py",
        "Y / np.sqrt(Y.sum(axis=0)) if",
        "Y / Y.sum(axis=0) if",
        (GAMMA,),
    ),
    Fault(
        "H*: each class once instead of its pairs",
        "gamma.py",
        "np.diag(table) @ sizes**2)",
        "np.diag(table) @ sizes)",
        (GAMMA, CONSTRUCTION),
    ),
    Fault(
        "best bandwidth: the search off by a few grid points",
        "kernels.py",
        "around = points[max(k - 1, 0)], points[min(k + 1, grid - 1)]",
        "around = points[max(k - 3, 0)], points[max(k - 2, 1)]",
        (KERNELS,),
    ),
    Fault(
        "class sums: not made orthonormal",
        "construction.py",
        "return sums @ (vectors / np.sqrt(values)) @ vectors.T",
        "return sums / np.sqrt(np.trace(inner))",
        (CONSTRUCTION,),
    ),
    Fault(
        "construction: no look at the next layer",
        "construction.py",
        "(target if last else STILL)",
        "(target if last else 0)",
        (CONSTRUCTION,),
    ),
    Fault(
        "construction: equal rows of different classes let through",
        "construction.py",
        "    if clash.any():",
        "    if False:",
        (CONSTRUCTION,),
    ),
    Fault(
        "network: a layer is kept though H does not rise",
        "network.py",
        "if not solver.gains(layer.hsic, layers[-1].hsic):",
        "if False:",
        (NETWORK,),
    ),
    Fault(
        "network: the first network grown is kept, whatever it reaches",
        "network.py",
        "if best[0][-1].hsic > self.threshold:",
        "if best:",
        (NETWORK,),
    ),
    Fault(
        "network: weights of Gram columns without the root of the eigenvalues",
        "network.py",
        "return GramColumns(Z, kernel), V * roots, V / roots",
        "return GramColumns(Z, kernel), V * roots, V / roots**2",
        (NETWORK,),
    ),
    Fault(
        "network: random features not divided by the root of their number",
        "network.py",
        "return waves(Z, self.frequencies) / np.sqrt(self.frequencies.shape[1])",
        "return waves(Z, self.frequencies)",
        (NETWORK,),
    ),
    Fault(
        "network: bandwidth of the random features forgotten",
        "network.py",
        "even_frequencies(Z.shape[1], m, seed) / kernel.sigma",
        "even_frequencies(Z.shape[1], m, seed)",
        (NETWORK,),
    ),
    Fault(
        "network: the ridge ignored",
        "network.py",
        "if np.isfinite(ridge):",
        "if False:",
        (NETWORK,),
    ),
    Fault(
        "network: class means not scaled to length 1 for the cosines",
        "network.py",
        "- np.log(np.bincount(index)) - sizes / 2",
        "- np.log(np.bincount(index))",
        (NETWORK,),
    ),
    Fault(
        "network: sums of the cosines instead of means",
        "network.py",
        "- np.log(np.bincount(index)) - sizes / 2",
        "- sizes / 2",
        (NETWORK,),
    ),
    Fault(
        "alignment: rows not centred",
        "network.py",
        "centred = np.sum(K * K) - 2 * np.sum(K.sum(axis=1) ** 2) / len(K)",
        "centred = np.sum(K * K)",
        (NETWORK,),
    ),
    Fault(
        "geometry: T upside down",
        "network.py",
        "squares[same].sum() / squares[~same].sum()),",
        "squares[~same].sum() / squares[same].sum()),",
        (NETWORK,),
    ),
    Fault(
        "geometry: C of pairs within classes over those between",
        "network.py",
        "K[~same].sum() / K[same].sum()",
        "K[same].sum() / K[~same].sum()",
        (NETWORK,),
    ),
    Fault(
        "network: separation with the wrong sign",
        "network.py",
        "return separation(K, index[:, None] == index)",
        "return -separation(K, index[:, None] == index)",
        (NETWORK,),
    ),
    Fault(
        "adversarial twins in one class",
        "datasets.py",
        "X + scale * rng.standard_normal(X.shape)]), np.arange(n) // (n // 2)",
        "X + scale * rng.standard_normal(X.shape)]), np.arange(n) % 2",
        (DATASETS,),
    ),
    Fault(
        "network: rounding of the distances taken for distances",
        "kernels.py",
        "squares[squares <= 1e-13 * (sizes[:, None] + sizes)] = 0",
        "pass",
        (NETWORK, CONSTRUCTION),
    ),
    Fault(
        "network: further columns of W not orthogonal to the first",
        "network.py",
        'rest = np.linalg.qr(W, mode="complete")[0][:, W.shape[1] :]',
        "rest = np.eye(len(W))",
        (NETWORK,),
    ),
    Fault(
        "network: rare classes by their share alone",
        "network.py",
        "max(-(-SAMPLE * len(c) // n), FEWEST)",
        "-(-SAMPLE * len(c) // n)",
        (NETWORK,),
    ),
    # ---------------------------------------------------------------- chapter 4
    Fault(
        "perceptron: a unit passes on where it is silent",
        "perceptron.py",
        "(below @ W.T) * (A > 0)",
        "(below @ W.T) * (A >= 0)",
        (PERCEPTRON,),
    ),
    Fault(
        "perceptron: the skip connection forgotten on the way back",
        "perceptron.py",
        "return gradient, below + G if self.skip else below",
        "return gradient, below",
        (PERCEPTRON,),
    ),
    Fault(
        "perceptron: biases summed over units",
        "perceptron.py",
        "below.sum(axis=0, out=gb)",
        "gb[:] = below.sum()",
        (PERCEPTRON,),
    ),
    Fault(
        "perceptron: first weights of another variance",
        "perceptron.py",
        "np.sqrt(6 / len(W))",
        "np.sqrt(3 / len(W))",
        (PERCEPTRON,),
    ),
    Fault(
        "Adam without its bias correction",
        "perceptron.py",
        "step = self.mean / (1 - 0.9**self.t)",
        "step = self.mean",
        (PERCEPTRON,),
    ),
    Fault(
        "batches always in one order",
        "perceptron.py",
        "order = rng.permutation(n)",
        "order = np.arange(n)",
        (PERCEPTRON,),
    ),
    Fault(
        "KNet: the moving degrees' part of the gradient with the wrong sign",
        "deep.py",
        "weights = weights - (r[:, None] + r) * K / 2",
        "weights = weights + (r[:, None] + r) * K / 2",
        (DEEP,),
        "ch4/objective.ipynb",
    ),
    Fault(
        "KNet: U not centred in Gamma",
        "deep.py",
        "return centre(U) / np.sqrt(degrees)[:, None]",
        "return U / np.sqrt(degrees)[:, None]",
        (DEEP,),
        "ch4/objective.ipynb",
    ),
    Fault(
        "KNet: pull half as strong",
        "deep.py",
        "return value, -2 / sigma**2 *",
        "return value, -1 / sigma**2 *",
        (DEEP,),
        "ch4/algorithm.ipynb",
    ),
    Fault(
        "KNet: Cayley steps downhill",
        "deep.py",
        "trial = cayley(U, G, step)",
        "trial = cayley(U, -G, step)",
        (DEEP,),
        "ch4/cayley.ipynb",
    ),
    Fault(
        "KNet: sma does not move U",
        "deep.py",
        "else climb(L, U)[0]",
        "else U",
        (DEEP,),
    ),
    Fault(
        "KNet: the worst network goes on",
        "deep.py",
        "run = first[int(np.argmax(values))]",
        "run = first[int(np.argmin(values))]",
        (DEEP,),
    ),
    Fault(
        "KNet: moving degrees held after all",
        "deep.py",
        'n, moving = len(X), self.degrees == "moving"',
        "n, moving = len(X), False",
        (DEEP,),
    ),
    Fault(
        "KNet: the penalty ten times as heavy",
        "deep.py",
        "error = 2 * penalty * (X - Y) / X.size",
        "error = 20 * penalty * (X - Y) / X.size",
        (DEEP,),
    ),
    Fault(
        "KNet: the decoder never trained",
        "deep.py",
        "self.optimisers[1].ascend(self.decoder.theta, decoder_gradient)",
        "pass",
        (DEEP,),
    ),
    Fault(
        "KNet: a given sigma not in the data's units",
        "deep.py",
        "sigma = self.sigma / self.scale_",
        "sigma = self.sigma",
        (DEEP,),
    ),
    Fault(
        "KNet: images without the mean",
        "deep.py",
        "return self.encoder_(self._scaled(X)) * self.scale_ + self.mean_",
        "return self.encoder_(self._scaled(X)) * self.scale_",
        (DEEP,),
    ),
    Fault(
        "KNet: always patient",
        "deep.py",
        "settled = not value - before > self.min_gain * abs(value)",
        "settled = not value - before > 3e-3 * abs(value)",
        (DEEP,),
    ),
    Fault(
        "KNet: the local start ignored",
        "deep.py",
        'L = affinity(X, local(X)) if self.init == "local" else L',
        "pass",
        (DEEP,),
    ),
    Fault(
        "KNet: the callback never called",
        "deep.py",
        "self.callback(Z * self.scale_ + self.mean_, value)",
        "pass",
        (DEEP,),
    ),
    Fault(
        "spectral: more columns than a centred affinity has",
        "spectral.py",
        "room = n - self.known.shape[1] - (self.normalize is not True)",
        "room = n",
        (SPECTRAL,),
    ),
]

# Loaded by every run: the same examples each time, and proof that the copy is what is tested.
PLUGIN = """
from pathlib import Path

import hypothesis
import ismlit

if Path(ismlit.__file__).resolve().parents[1] != Path(__file__).resolve().parent:
    raise SystemExit(f"not the copy: {ismlit.__file__}")
hypothesis.settings.register_profile("faults", derandomize=True, database=None)
hypothesis.settings.load_profile("faults")
"""


def edited(fault, root=ROOT):
    """The whole text of the fault's file before and after; ValueError if the fault has rotted."""
    before = (root / "ismlit" / fault.file).read_text(encoding="utf-8")
    if before.count(fault.old) != 1:
        raise ValueError(
            f"fault {fault.name!r}: its text occurs {before.count(fault.old)} times in "
            f"{fault.file} and must occur once: {fault.old!r}"
        )
    after = before.replace(fault.old, fault.new)
    if ast.dump(ast.parse(after)) == ast.dump(ast.parse(before)):
        raise ValueError(f"fault {fault.name!r} changes nothing")
    return before, after


def copy_to(folder):
    """What a run needs, in an own folder."""
    ignore = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "_build", ".hypothesis")
    for name in ("ismlit", "tests", "book"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "faults_plugin.py").write_text(PLUGIN, encoding="utf-8")


def run(copy, targets, notebooks=False):
    """Run pytest in a copy. Returns (exit status or None at a timeout, first failure, output)."""
    environment = dict(os.environ)
    environment |= dict(
        PYTHONPATH=str(copy),
        PYTHONDONTWRITEBYTECODE="1",  # an edit and its undoing may fall into one second
        PYTHONHASHSEED="0",
        OMP_NUM_THREADS="1",
        MPLBACKEND="agg",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "--tb=no", "--no-header"]
    command += ["-p", "no:cacheprovider", "-p", "faults_plugin", "--hypothesis-seed=0"]
    if notebooks:
        command += ["-p", "tests.conftest", "--nbval-lax", "--nbval-current-env"]
    try:
        done = subprocess.run(
            [*command, *map(str, targets)],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer in {TIMEOUT} s", ""
    first = re.search(r"^(?:FAILED|ERROR) (?:tests/)?(.+?)(?: - .*)?$", done.stdout, re.M)
    return done.returncode, first and first[1], done.stdout + done.stderr


def notebooks_for(fault, copy):
    """The notebooks of the copy that should notice, shortest name first."""
    if not fault.notebooks:
        return []
    found = sorted(copy.glob(f"book/**/{fault.notebooks}.ipynb"), key=lambda p: (len(p.name), p))
    return [path.relative_to(copy).as_posix() for path in found[:1]]


def attempt(fault, copies):
    """Apply one fault in a free copy and run what should notice it. Returns (what, seconds)."""
    copy, start = copies.get(), time.monotonic()
    file = copy / "ismlit" / fault.file
    before, after = edited(fault, copy)
    try:
        file.write_text(after, encoding="utf-8")
        caught = []
        if chosen := notebooks_for(fault, copy):
            status, first, output = run(copy, chosen, notebooks=True)
            caught.append(first if status in (1, None) else None)
            if status not in (0, 1, 5, None):
                raise RuntimeError(f"{fault.name}: pytest could not run\n{output}")
        if not any(caught):
            status, first, output = run(copy, fault.tests)
            if status not in (0, 1, None):
                raise RuntimeError(f"{fault.name}: pytest could not run\n{output}")
            missed = f" (not by {chosen[0]})" if chosen else ""
            caught.append(first + missed if status != 0 else None)
        return next((what for what in caught if what), None), time.monotonic() - start
    finally:
        file.write_text(before, encoding="utf-8")
        copies.put(copy)


def demand_sound(copy, faults):
    """The tests and notebooks that are to notice something must pass when nothing is wrong."""
    targets = dict.fromkeys(test for fault in faults for test in fault.tests)
    notebooks = dict.fromkeys(name for fault in faults for name in notebooks_for(fault, copy))
    for chosen, kind in ((targets, False), (notebooks, True)):
        if chosen:
            status, first, output = run(copy, chosen, kind)
            if status != 0:
                sys.exit(f"the library as it is does not pass: {first}\n{output}")


def available(name):
    """Whether a real data set is at hand."""
    from ismlit.datasets import is_available

    return is_available(name)


def main():
    from tqdm import tqdm

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME", help="only faults whose name contains NAME")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (default 2)")
    options = parser.parse_args()

    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names), "two faults have one name"
    for fault in FAULTS:
        edited(fault)
    faults = [f for f in FAULTS if (options.only or "").lower() in f.name.lower()]
    if not faults:
        sys.exit(f"no fault has {options.only!r} in its name; known are\n  " + "\n  ".join(names))
    skipped = [fault for fault in faults if fault.data and not available(fault.data)]
    faults = [fault for fault in faults if fault not in skipped]

    outcomes = {}
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copies = queue.Queue()
        for number in range(options.jobs):
            copy = Path(folder).resolve() / f"copy-{number}"
            copy_to(copy)
            copies.put(copy)
        print(f"the library as it is, on the tests of {len(faults)} faults", flush=True)
        demand_sound(copy, faults)
        with ThreadPoolExecutor(options.jobs) as pool:
            tasks = {pool.submit(attempt, fault, copies): fault for fault in faults}
            for task in tqdm(as_completed(tasks), total=len(tasks), unit="fault", disable=None):
                outcomes[tasks[task].name] = task.result()

    for number, fault in enumerate(faults, 1):
        what, seconds = outcomes[fault.name]
        verdict = f"caught by {what}" if what else "SURVIVES"
        print(f"{number:3} {fault.name}: {verdict} ({seconds:.0f} s)")
    for fault in skipped:
        print(f"  - {fault.name}: SKIPPED, the data set {fault.data!r} is not at hand")
    survivors = [fault.name for fault in faults if outcomes[fault.name][0] is None]
    print(f"{len(faults)} faults, {len(survivors)} survive, {len(skipped)} skipped")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
