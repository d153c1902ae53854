"""Data, random draws and matrices to be decomposed, moved as two processors' arithmetic differs.

A notebook's kernel imports this, and nothing that takes time.
"""

import functools

import numpy as np

SIZE = 1e-13  # relative
DRAWS = ("standard_normal", "normal", "uniform", "random", "multivariate_normal", "beta", "gamma")


def moved(value):
    """The same value, each floating-point number moved a little; equal rows stay equal.

    >>> bool(0 < abs(moved(np.array([[1.0, 2.0]])) - [[1, 2]]).max() < 1e-12)
    True
    """
    if isinstance(value, tuple):
        return tuple(moved(each) for each in value)
    if isinstance(value, dict):  # a Bunch of scikit-learn
        return type(value)(**{name: moved(each) for name, each in value.items()})
    if isinstance(value, float | np.ndarray) and np.asarray(value).dtype == np.float64:
        column = np.arange(np.shape(value)[-1]) if np.ndim(value) > 1 else 0.0
        return value * (1 + SIZE * np.sin(1e4 * value + column))
    return value


def _after(function):
    return functools.wraps(function)(lambda *args, **options: moved(function(*args, **options)))


def _before(decompose):
    """A symmetric matrix is decomposed beside itself, by a few units of its rounding."""

    def near(A, *args, **options):
        A = np.asarray(A)
        if A.dtype == np.float64 and A.ndim == 2 and not args:
            noise = np.random.RandomState(len(A)).standard_normal(A.shape)
            A = A + np.finfo(float).eps * np.abs(A).max(initial=0.0) * (noise + noise.T)
        return decompose(A, *args, **options)

    return functools.wraps(decompose)(near)


class Draws(np.random.Generator):
    """A generator whose floating-point draws are moved."""


for name in DRAWS:
    setattr(Draws, name, _after(getattr(np.random.Generator, name)))


def move_inputs():
    """From here on this process reads, draws and decomposes what is moved."""
    import scipy.linalg
    import sklearn.datasets

    generator = np.random.default_rng

    def default_rng(seed=None):
        made = generator(seed)
        return made if isinstance(seed, np.random.Generator) else Draws(made.bit_generator)

    np.random.default_rng = default_rng
    np.linalg.eigh, scipy.linalg.eigh = _before(np.linalg.eigh), _before(scipy.linalg.eigh)
    import ismlit_book.loaders

    import ismlit.datasets

    for module in (sklearn.datasets, ismlit.datasets, ismlit_book.loaders):
        for name, function in list(vars(module).items()):
            if name.startswith(("load_", "make_")) and callable(function):
                setattr(module, name, _after(function))
