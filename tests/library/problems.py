"""Small problems the tests share: the family of kernels, and data that breaks every symmetry."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale

from ismlit import datasets
from ismlit.bandwidth import median_distance, neighbour_distance
from ismlit.estimators.network.classifier import KernelDependenceNetwork
from ismlit.estimators.network.layers import LayerSolver, Recipe
from ismlit.kernels import (
    Gaussian,
    Kernel,
    Linear,
    Multiquadratic,
    Polynomial,
    RelativeGaussian,
    Squared,
)
from ismlit.objectives.plain import Problem

unsettled = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
"""Marks a test of what does not converge, and is not meant to."""


def inverse(beta, xp):
    """A user's own kernel, the inverse multiquadric's cousin."""
    return 1 / (1 + beta)


FAMILY = {
    "linear": Linear(),
    "squared": Squared(),
    "polynomial": Polynomial(3, 0.7),
    "gaussian": Gaussian(1.3),
    "multiquadratic": Multiquadratic(0.8),
    "user": Kernel(f=inverse, pairs="difference"),
    "user inner": Kernel(f=lambda beta, xp: xp.exp(beta / 9), pairs="inner"),
    "product": Gaussian(1.6) * Kernel(f=inverse, name="inverse"),
    "product inner": Polynomial(2, 0.7) * Linear(),
    "sum": 2 * Gaussian(1.0) + 0.1 * Polynomial(2),
    "relative": "relative",
}


def kernel_for(name, X):
    """The kernel of this name; the relative one needs a bandwidth per row of X."""
    if FAMILY[name] == "relative":
        return RelativeGaussian(neighbour_distance(X, k=2))
    return FAMILY[name]


def random_problem(name, rng, n=13, d=4, tile=5):
    """Data off centre, an asymmetric draw made symmetric, and tiles that do not divide n."""
    X = rng.standard_normal((n, d)) + rng.uniform(-1, 1, d)
    gamma = rng.standard_normal((n, n))
    return Problem(X, gamma + gamma.T, kernel_for(name, X), tile=tile)


def orthonormal(d, q, rng):
    """A random orthonormal (d, q)."""
    return np.linalg.qr(rng.standard_normal((d, q)))[0]


def layer_solver(y, **recipe):
    """Of layers for these labels, with numbers that are the same every time."""
    return LayerSolver(np.asarray(y), Recipe(**recipe), np.random.RandomState(0))


def brute_force(problem, W, order=0):
    """sum_ij Gamma_ij f^(order)(beta_ij) by two loops, pair by pair."""
    X, gamma = problem.X, problem.gamma.to_dense()
    total = 0.0
    for weight, part in problem.kernel.terms():
        u = part.scale(len(X))
        for i in range(len(X)):
            for j in range(len(X)):
                a, b = (X[i], X[j]) if part.pairs == "inner" else (X[i] - X[j], X[i] - X[j])
                scale = 1.0 if u is None else u[i] * u[j]
                value = (part.f, part.df, part.d2f)[order](np.float64(scale * (a @ W) @ (W.T @ b)))
                total += weight * gamma[i, j] * scale**order * value
    return total


def keep_the_contract(estimator, check):
    """One of scikit-learn's checks; what these estimators do not promise is skipped."""
    if "check_class_weight" in str(check):
        pytest.skip("cosines differ by more than the factor that the check gives")
    check(estimator)


def slopes(f, X, h=1e-5):
    """Central differences of f at X, entry by entry; of a smooth f their error is of order h²."""
    found = np.empty(X.shape)
    for place in np.ndindex(X.shape):
        step = np.zeros(X.shape)
        step[place] = h
        found[place] = (f(X + step) - f(X - step)) / (2 * h)
    return found


def correlation(column, labels):
    """How well the sign of a centred column tells two labels apart, in [0, 1]."""
    return abs(np.mean(np.sign(column - column.mean()) * (2 * labels - 1)))


def dense(Z, sigma):
    """L, K and D, straight from (4.2), (4.3) and (4.6)."""
    n = len(Z)
    K = np.exp(-np.sum((Z[:, None] - Z) ** 2, axis=2) / (2 * sigma**2))
    D, H = K.sum(axis=1), np.eye(n) - 1 / n
    return H @ (K / np.sqrt(np.outer(D, D))) @ H, K, D


def tenth(X):
    """A tenth of the median distance, for thin clusters."""
    return 0.1 * median_distance(X)


def told_to_stop(model, call, *given):
    """The model fitted with a callback that returns True once, and what that has been shown."""
    told = []
    return model.set_params(callback=lambda at: told.append(at) or len(told) == call).fit(
        *given
    ), told


grown_by_training = partial(KernelDependenceNetwork, early_stopping=False)
GROWN_ON = {
    "wine": lambda: (scale(load_wine().data), load_wine().target),
    "spiral": lambda: datasets.make_spiral(300, random_state=0),
    "adversarial": lambda: datasets.make_adversarial(random_state=0),
    "noise": lambda: datasets.make_random_labels(random_state=0),
    "cancer": lambda: (scale(load_breast_cancer().data), load_breast_cancer().target),
}
"""What networks are grown on, by name."""


def exclusive_or(n, seed, d=20):
    """X (n, d), classes by the sign of a product of two turned features, their plane (d, 2)."""
    rng = np.random.default_rng(seed)
    plane = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    X = rng.standard_normal((n, d))
    return X, (np.prod(X @ plane, axis=1) > 0).astype(int), plane


def share(W, plane):
    """The share of a plane that the span of W holds, from 0 to 1."""
    return np.mean(np.cos(subspace_angles(W, plane)) ** 2)
