"""One pass over the pairs, and one Hessian product, against what no dense method can do without."""

import numpy as np

from ismlit.gamma import label_gamma
from ismlit.kernels import Gaussian
from ismlit.problem import Problem
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


def floor(X, G, B):
    """One product X'GX, and n² exponentials."""
    return X.T @ (G @ X), np.exp(B)


def rows(quick):
    """Ratios for both precisions and all sizes."""
    for dtype in ("float64", "float32"):
        for n, d in SIZES[: 3 if quick else None]:
            problem, W = example(n, d, dtype)
            G = problem.gamma.to_dense()
            B = -np.abs(np.random.default_rng(1).standard_normal((n, n), dtype=dtype))
            Z = np.random.default_rng(2).standard_normal(W.shape).astype(dtype)
            runs = {
                "floor": lambda p=problem, G=G, B=B: floor(p.X, G, B),
                "pass": lambda p=problem, W=W: p.objective_and_phi(W),
                "product": lambda p=problem, W=W, Z=Z: p.gradient_derivative(W, Z),
            }
            best = take_turns(runs, 20 if n == 2000 else 5, f"{dtype}, n = {n}, d = {d}")
            most = 1.1 if dtype == "float64" else 1.6 if (n, d) == (2000, 20) else 1.3
            size = f"n = {n}, d = {d}, {dtype}"
            yield Row(f"one pass / floor, {size}", best["pass"] / best["floor"], most)
            yield Row(f"Hessian product / pass, {size}", best["product"] / best["pass"], 2)
            del G, B
