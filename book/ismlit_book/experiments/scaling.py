"""Run times: Figure 5.2 (against n), Figure 3.4 (against d), and the modes of the library.

Times depend on the machine; slopes and ratios within one run do so less.
"""

import warnings
from functools import partial
from time import perf_counter

import numpy as np
from ismlit import Gaussian, Polynomial, Problem, ism, label_gamma, median_distance
from ismlit.datasets import make_four_gaussians
from ismlit.objectives.pairs import add_both_ways
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh, lobpcg

from ismlit_book.experiments import SEED, clocked
from ismlit_book.experiments.table_5_4 import METHODS
from ismlit_book.methods.measures import alternative_gamma


def make_classes(n, d, k, dtype=float):
    """k classes on a sphere in the first columns of d, unit noise; standardised X (n, d), y."""
    rng = np.random.default_rng(SEED)
    y = np.arange(n) % k
    centres = rng.standard_normal((k, min(d, k)))
    X = rng.standard_normal((n, d)).astype(dtype)
    X[:, : centres.shape[1]] += 1.5 * centres[y]
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X, y


def coordinate_power(A, *, share=0.1, tol=1e-6, max_iter=10_000):
    """Largest eigenvalue of symmetric A (d, d) by the coordinate-wise power method.

    Lei, Zhong and Dhillon (2016): each step moves only the coordinates that a power step
    would change most. Returns the eigenvalue and its vector.
    """
    d = len(A)
    k = max(1, int(share * d))
    x = np.random.default_rng(SEED).standard_normal(d)
    x /= np.linalg.norm(x)
    z = A @ x
    for _ in range(max_iter):
        value = x @ z
        gap = z / value - x
        if np.linalg.norm(gap) <= tol:
            break
        chosen = np.argpartition(-np.abs(gap), k - 1)[:k]
        step = z[chosen] / value - x[chosen]
        x[chosen] += step
        z += A[:, chosen] @ step
        size = np.linalg.norm(x)
        x, z = x / size, z / size
    return x @ z, x


def phi_operator(problem, W, cache_bytes=2**28):
    """Phi(W) as a LinearOperator on blocks of vectors: the d x d matrix is never formed.

    The tiles of Psi are kept if they fit in `cache_bytes`, else recomputed for each product. For d
    much larger than q.
    """
    pairs = problem.pairs

    def row(r, views, sides, kept):
        """The share of block row r in Psi times the sides."""
        totals = pairs.shares(r, *(V.shape[1] for V in sides))
        tiles = problem._tiles(r, views, 1, keep=kept is not None)
        for rows, columns, parts in pairs.kept_tiles(kept, r, tiles):
            for k, ((number, psi),) in enumerate(parts):
                problem._off_diagonal(k, rows, columns, psi)
                add_both_ways(totals[k], rows, columns, number, psi, sides[k])
        return totals

    def product(views, V, kept):
        images = pairs.project(V)
        shares = pairs.sweep(row, views, problem._sides(images, 1), kept)
        return problem._assembled(pairs.spread(shares), images, 1)

    return pairs.operator(problem.d, product, W, cache_bytes)


def matrix_free_eigenvectors(problem, W, q, *, start=None, tol=1e-8, max_iter=200):
    """Top q eigenvalues of Phi(W), falling, and their vectors, without forming the matrix.

    LOBPCG on `phi_operator`: O(n^2 q) a product with the tiles of Psi kept, and
    O(d q) memory instead of O(d^2). For d much larger than q; `start` (d, q) warm-starts it.

    Raises
    ------
    RuntimeError
        If LOBPCG does not reach `tol` (relative to the largest eigenvalue) in `max_iter` steps.
    """
    if 5 * q > problem.d:
        raise ValueError(f"matrix-free needs d >= 5 q, got d = {problem.d}, q = {q}: use phi(W)")
    operator = phi_operator(problem, W)
    block = np.random.default_rng(0).standard_normal((problem.d, q + 2))
    block[:, :q] += 0 if start is None else 100 * start
    # whether it converged is tested below
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        block = np.linalg.qr(block)[0].astype(problem.dtype)
        scale = np.linalg.norm(operator @ block[:, 0])
        values, vectors = lobpcg(operator, block, tol=tol * scale, maxiter=max_iter)
    values, vectors = values[:q], vectors[:, :q]
    error = np.linalg.norm(operator @ vectors - vectors * values) / np.abs(values).max()
    if not error <= 100 * tol:
        raise RuntimeError(f"LOBPCG did not converge in {max_iter} steps: residual {error:.1e}")
    return values, vectors


def timed(what, size, runs, turns=3, told=lambda found: {}):
    """A row for each method: the best of some turns, since noise of the machine only adds.

    Parameters
    ----------
    runs : dict
        {method: what is called}.
    told : callable
        What the row has of the last result, beside the time.
    """
    for method, run in runs.items():
        best = np.inf
        for _ in range(turns):
            found, seconds = clocked(perf_counter, run)
            best = min(best, seconds)
        yield dict(what=what, method=method, size=int(size), seconds=best, **told(found))


def solvers_by_n(quick):
    """Figure 5.2: polynomial kernel, q = 20, all solvers from one start."""
    told = lambda f: dict(passes=f.n_passes - f.n_test_passes, objective=f.objective)
    for n in (100, 200, 400) if quick else (100, 200, 400, 800, 1600):
        X, y = make_classes(n, 50, 20)
        task = X, label_gamma(y), Polynomial(3), 20
        runs = {name: partial(METHODS[name], *task) for name in ("ISM, published", "ISM")}
        for name in ("DG", "SM", "GM"):
            runs[name] = partial(METHODS[name], *task, max_passes=5000)
        yield from timed("solvers by n", n, runs, 1, told)


def eigensolvers_by_d(quick):
    """Figure 3.4: the q = 1 leading eigenvector of Phi, chapter 3's data, d doubling."""
    for d in 2 ** np.arange(2, 8 if quick else 12):
        X, first, second = make_four_gaussians(200, d, random_state=SEED)
        gamma = alternative_gamma(np.eye(2)[first] / 10, second, 1.0)
        problem = Problem(X, gamma, Gaussian(median_distance(X)))
        A = problem.phi(np.eye(d, 1))
        A = A - min(np.linalg.eigvalsh(A)[0], 0) * np.eye(d)  # power methods want it PSD
        start, last = np.ones(d) / np.sqrt(d), (d - 1, d - 1)
        runs = {
            "all eigenvectors (LAPACK)": lambda A=A: np.linalg.eigh(A)[0][-1],
            "one eigenvector (LAPACK)": lambda A=A, k=last: eigh(A, subset_by_index=k)[0][0],
            "Lanczos (ARPACK)": lambda A=A, v=start: eigsh(A, 1, which="LA", v0=v)[0][0],
            "coordinate-wise power": lambda A=A: coordinate_power(A)[0],
        }
        exact = np.linalg.eigvalsh(A)[-1]
        told = lambda value, exact=exact: {"error": abs(value - exact) / exact}
        yield from timed("eigensolvers by d", d, runs, told=told)


def modes_by_n(quick):
    """Exact in both precisions, on two threads, and with random features: d = 50, q = 3."""
    told = lambda found: dict(passes=found.n_passes, objective=found.objective)
    for n in (1000, 2000) if quick else (1000, 2000, 4000, 8000, 16_000, 64_000, 256_000, 10**6):
        X, y = make_classes(n, 50, 4)
        single, task = X.astype("float32"), (label_gamma(y), Gaussian(median_distance(X)), 3)
        exact = dict(tol=1e-4, escape=False)
        runs = {"exact, float64": partial(ism, X, *task, **exact)} if n <= 8000 else {}
        if n <= 16_000:
            runs["exact, float32"] = partial(ism, single, *task, **exact)
            runs["exact, float32, n_jobs=2"] = partial(ism, single, *task, n_jobs=2, **exact)
        features = dict(random_features=128, random_state=SEED, tol=1e-4)
        runs["128 random features, float32"] = partial(ism, single, *task, **features)
        yield from timed("modes by n", n, runs, 1, told)


def passes_by_d(quick):
    """One pass with eigenvectors at n = 2000, q = 5: Phi formed, or matrix-free."""
    for d in (32, 128) if quick else (32, 64, 128, 256, 512, 1024, 2048):
        problem, W = _frame_of(d, 6, 5)
        last = (d - 5, d - 1)
        runs = {
            "Phi formed, dense eigenvectors": lambda p=problem, W=W, k=last: eigh(
                p.phi(W), subset_by_index=k
            ),
            "gradient only": partial(problem.objective_and_gradient, W),
        }
        if d >= 64:
            free = partial(matrix_free_eigenvectors, problem, W, 5, start=W, tol=1e-4)
            runs["matrix-free eigenvectors, warm start"] = free
        yield from timed("passes by d", d, runs)


def passes_by_q(quick):
    """One pass at n = 2000, d = 256, as q grows."""
    for q in (1, 4) if quick else (1, 2, 4, 8, 16, 32, 64):
        problem, W = _frame_of(256, 10, q)
        yield from timed("passes by q", q, {"Phi formed": partial(problem.objective_and_phi, W)})


def _frame_of(d, classes, q):
    """A problem of 2000 samples, and a random W (d, q)."""
    X, y = make_classes(2000, d, classes)
    W = np.linalg.qr(np.random.default_rng(SEED).standard_normal((d, q)))[0]
    return Problem(X, label_gamma(y), Gaussian(median_distance(X))), W


PARTS = (solvers_by_n, eigensolvers_by_d, modes_by_n, passes_by_d, passes_by_q)


def rows(only="", folds=10, jobs=1):
    """All parts, or those whose name starts with `only`; fewer than ten folds means quick."""
    for part in PARTS:
        if part.__name__.startswith(only):
            yield from part(folds < 10)


def slopes(rows, what, upper=True):
    """{method: slope of log seconds against log size}, over the upper half of the sizes or all."""
    found = {}
    for method in dict.fromkeys(r["method"] for r in rows if r["what"] == what):
        points = [
            (r["size"], r["seconds"]) for r in rows if (r["what"], r["method"]) == (what, method)
        ]
        x, y = np.log(np.array(sorted(points))).T
        half = len(x) // 2 if upper and len(x) > 3 else 0
        found[method] = float(np.polyfit(x[half:], y[half:], 1)[0])
    return found
