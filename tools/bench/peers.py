"""What other libraries take for the same number; ``pip install './book[peers]'``."""

from importlib.util import find_spec

import numpy as np

from ismlit.dependence import hsic
from ismlit.grams import gram
from tools.bench.passes import example
from tools.bench.rows import compared


def keops_pass(problem, W):
    """J and Phi of a Gaussian, the pairs reduced as they are formed by KeOps."""
    from pykeops.numpy import Vi, Vj

    sigma, X = float(problem.kernel.sigma), problem.X
    Z, F, s = X @ W, problem.gamma.F, problem.gamma.s
    K = (-Vi(Z).sqdist(Vj(Z)) / (2 * sigma**2)).exp() * (Vi(F * s) | Vj(F))
    sums = K @ np.hstack([np.ones((len(X), 1), X.dtype), X])
    degrees, product = sums[:, :1], sums[:, 1:]
    phi = X.T @ (product - degrees * X) * (2 / sigma**2)
    return float(degrees.sum()), phi


def hyppo_hsic(problem, W):
    """HSIC of X W and the classes' factor by hyppo, Gaussian kernels on both."""
    from hyppo.independence import Hsic

    gamma = 1 / (2 * float(problem.kernel.sigma) ** 2)
    return Hsic(bias=True, gamma=gamma).statistic(problem.X @ W, problem.gamma.F)


def our_hsic(problem, W):
    """The same by the library."""
    return hsic(*(gram(problem.kernel, Z) for Z in (problem.X @ W, problem.gamma.F)))


def rows(quick):
    """A pass beside KeOps, and a value beside hyppo; what is not installed is said."""
    for package, work, beside, ours in (
        ("pykeops", "KeOps / ism, J and Phi", keops_pass, lambda p, W: p.objective_and_phi(W)),
        ("hyppo", "hyppo / ism, HSIC", hyppo_hsic, our_hsic),
    ):
        if find_spec(package) is None:
            print(f"  {work}: skipped, {package} is not installed")
            continue
        for n in (1000, 4000)[: 1 if quick else None]:
            task = example(n, 20, float)
            runs = [lambda f=f, task=task: f(*task) for f in (beside, ours)]
            yield compared(f"{work}, n = {n}", 3, *runs, least=1.0)
