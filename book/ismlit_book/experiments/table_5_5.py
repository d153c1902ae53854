"""Table 5.5: linear, squared, multiquadratic, and Gaussian + polynomial by centred alignment.

With the printed sign the squared and multiquadratic formulas are distances; both signs are run.
"""

from functools import partial

from ismlit import Gaussian, Kernel, Linear, Polynomial, median_distance

from ismlit_book.experiments import SETS, named, prepared, readings, several
from ismlit_book.experiments.table_5_4 import PARADIGMS, clustered, fold, splits
from ismlit_book.methods.measures import aligned_sum
from ismlit_book.methods.published import published_ism

FORMULAS = {
    "squared": lambda sign: Kernel(lambda beta, xp: sign * beta, name="squared"),
    "multiquadratic": lambda sign: Kernel(
        lambda beta, xp: sign * xp.sqrt(beta + 1), name="multiquadratic"
    ),
}
PUBLISHED = partial(published_ism, tol=0.01, max_iter=50)


def made(kernel, X, y=None):
    """The kernel of a row, for training data X (n, d) and labels y (n,)."""
    name, _, sign = kernel.partition(", ")
    if name == "linear":
        return Linear()
    if name == "gaussian + polynomial":
        return aligned_sum([Gaussian(median_distance(X)), Polynomial(3)], X, y)
    return FORMULAS[name](1 if sign == "printed sign" else -1)


def supervised_row(name, kernel, *, folds=10):
    """What `fold` gives, as lists over the folds."""
    X, y = prepared(name)
    kernel_of = partial(made, kernel)
    return several(partial(fold, X, y, kernel_of, PUBLISHED), splits(name, X, folds))


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (set/paradigm/kernel) starts with `only`."""
    signs = [f"{k}, {sign}" for k in FORMULAS for sign in ("printed sign", "similarity")]
    kernels = ["linear", *signs, "gaussian + polynomial"]
    for name, paradigm, kernel in named(only, SETS, PARADIGMS, kernels):
        if paradigm == "supervised":
            numbers = supervised_row(name, kernel, folds=folds)
        elif kernel == "gaussian + polynomial":
            continue  # alignment needs labels
        else:
            X, y = prepared(name)
            numbers = clustered(X, y, made(kernel, X), PUBLISHED)
        yield dict(set=name, paradigm=paradigm, kernel=kernel, **numbers)
    yield from readings.rows("table-5.5", only, folds)
