"""J and its gradient over blocks of rows that are made, used and forgotten."""

import numpy as np

from ismlit.objectives.features import even_frequencies, waves

BLOCK = 1_000_000


def block(number, rows, d, classes):
    """Rows of one block (n, d) and their classes; the classes differ in the first two columns."""
    rng = np.random.default_rng(number)
    y = rng.integers(0, classes, rows)
    X = rng.standard_normal((rows, d), dtype=np.float32)
    X[:, 0] += 2 * np.cos(2 * np.pi * y / classes).astype(np.float32)
    X[:, 1] += 2 * np.sin(2 * np.pi * y / classes).astype(np.float32)
    return X, y


def sums_of_block(X, y, W, omega, classes):
    """Sums of the features by class (k, 2m), and of x times the features (k, d, 2m)."""
    sums = np.zeros((classes, 2 * omega.shape[1]))
    moments = np.zeros((classes, X.shape[1], 2 * omega.shape[1]))
    for k in range(classes):
        own = X[y == k]
        for start in range(0, len(own), 8192):
            rows = own[start : start + 8192]
            R = waves(rows @ W, omega)
            sums[k] += R.sum(axis=0, dtype=float)
            moments[k] += rows.T @ R
    return sums, moments


def objective_of_blocks(n, d, classes, features, sigma=3.0, q=2):
    """J with centred indicators for labels and half its gradient at the first q axes."""
    W = np.eye(d, q, dtype=np.float32)
    omega = (even_frequencies(q, features, 0) / sigma).astype(np.float32)
    total = np.zeros((classes, 2 * features)), np.zeros((classes, d, 2 * features))
    counts = np.zeros(classes)
    for number in range(max(n // BLOCK, 1)):
        X, y = block(number, min(n, BLOCK), d, classes)
        counts += np.bincount(y, minlength=classes)
        for whole, part in zip(total, sums_of_block(X, y, W, omega, classes), strict=True):
            whole += part
    sums, moments = total
    F = np.eye(classes) - counts / counts.sum()  # rows of centred indicators, by class
    projected = F.T @ sums
    value = np.sum(projected**2) / features
    u = F @ projected / features
    u_cos, u_sin = u[:, None, :features], u[:, None, features:]
    along = moments[:, :, :features] * u_sin - moments[:, :, features:] * u_cos
    return float(value), along.sum(axis=0) @ omega.T
