"""One pass over the pairs, and one Hessian product, against what no dense method can do without."""

import numpy as np

from ismlit.gamma import label_gamma
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
    """Ratios for both precisions and all sizes."""
    for dtype in ("float64", "float32"):
        for n, d in SIZES[: 3 if quick else None]:
            problem, W = example(n, d, dtype)
            B = -np.abs(np.random.default_rng(1).standard_normal((256, 256), dtype=dtype))
            Z = np.random.default_rng(2).standard_normal(W.shape).astype(dtype)
            runs = {
                "floor": lambda p=problem, B=B: floor(p.X, B),
                "pass": lambda p=problem, W=W: p.objective_and_phi(W),
                "product": lambda p=problem, W=W, Z=Z: p.phi_derivative(W, Z[None]),
            }
            best = take_turns(runs, 20 if n == 2000 else 5)
            size = f"n = {n}, d = {d}, {dtype}"
            most = 1.5 if d >= 100 else 2.0
            yield Row(f"one pass / floor, {size}", best["pass"] / best["floor"], most)
            yield Row(f"Hessian product / pass, {size}", best["product"] / best["pass"], 2)
