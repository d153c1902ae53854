"""One pass over the pairs, and one Hessian product, against what no dense method can do without."""

import numpy as np

from ismlit.gamma import label_gamma
from ismlit.geometry.frames import extreme_eigenvectors
from ismlit.geometry.second_order import SecondOrder
from ismlit.kernels import Gaussian
from ismlit.objectives.plain import Problem
from tools.bench.rows import Row, take_turns

SIZES = [(n, d) for n in (2000, 8000) for d in (20, 100, 784)]
Q = 10


def example(n, d, dtype):
    """A problem with ten classes, and an orthonormal W."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)).astype(dtype)
    W = np.linalg.qr(rng.standard_normal((d, Q)))[0].astype(dtype)
    sigma = np.dtype(dtype).type(np.sqrt(2 * Q))
    return Problem(X, label_gamma(np.arange(n) % 10), Gaussian(sigma)), W


def floor(X, B):
    """What no pass over the pairs can do without: half of n² exponentials, half of GX, and X'GX.

    By tiles as large as B, each of which stays in the cache.
    """
    n, tile = len(X), len(B)
    product, scratch = np.zeros_like(X), np.empty_like(B)
    for a in range(0, n, tile):
        for b in range(a, n, tile):
            rows, columns = X[a : a + tile], X[b : b + tile]
            E = np.exp(B[: len(rows), : len(columns)], out=scratch[: len(rows), : len(columns)])
            product[a : a + tile] += E @ columns
    return X.T @ product


def rows(quick):
    """Ratios for both precisions and all sizes; many classes; many features."""
    for dtype in ("float64", "float32"):
        for n, d in SIZES[: 3 if quick else None]:
            problem, W = example(n, d, dtype)
            B = -np.abs(np.random.default_rng(1).standard_normal((256, 256), dtype=dtype))
            Z = np.random.default_rng(2).standard_normal(W.shape).astype(dtype)
            runs = {
                "floor": lambda p=problem, B=B: floor(p.X, B),
                "pass": lambda p=problem, W=W: p.objective_and_phi(W),
                "product": lambda p=problem, W=W, Z=Z: p.gradient_derivative(W, Z),
            }
            best = take_turns(runs, 20 if n == 2000 else 5, f"{dtype}, n = {n}, d = {d}")
            size = f"n = {n}, d = {d}, {dtype}"
            most = 1.5 if d >= 100 else 2.0
            yield Row(f"one pass / floor, {size}", best["pass"] / best["floor"], most)
            yield Row(f"Hessian product / pass, {size}", best["product"] / best["pass"], 2)
    yield from class_rows()
    if not quick:
        yield from wide_rows()


def class_rows(n=3000, d=50, q=3):
    """Gamma's tiles from a table of pairs of classes: their number hardly matters."""
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((n, d)), np.linalg.qr(rng.standard_normal((d, q)))[0]
    of = {k: Problem(X, label_gamma(np.arange(n) % k), Gaussian(2.0)) for k in (2, 1000)}
    for kind in ("objective_and_phi", "objective_and_gradient"):
        runs = {k: lambda p=p, kind=kind: getattr(p, kind)(W) for k, p in of.items()}
        best = take_turns(runs, 10, kind)
        work = f"1000 classes / 2 classes, {kind}, n = {n}"
        yield Row(work, best[1000] / best[2], 1.3)


def wide_rows(n=2000, d=2000, q=5):
    """What is left to do with Phi, where it is large: a step, and a test of the second order."""
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((n, d)), np.linalg.qr(rng.standard_normal((d, q)))[0]
    problem = Problem(X, label_gamma(np.arange(n) % 4), Gaussian(np.sqrt(2 * q)))
    phi = problem.phi(W)
    runs = {
        "pass": lambda: problem.objective_and_phi(W),
        "vectors": lambda: extreme_eigenvectors(phi, q, "LA"),
        "second": lambda: SecondOrder(problem, W, phi)._preconditioner(),
    }
    best = take_turns(runs, 2, "wide")
    size = f"n = {n}, d = {d}"
    yield Row(f"eigenvectors of Phi / pass, {size}", best["vectors"] / best["pass"], 2)
    yield Row(f"second order made ready / pass, {size}", best["second"] / best["pass"], 2)
