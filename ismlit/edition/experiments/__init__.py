"""The thesis's experiments, a module a table: ``python -m ismlit.edition.experiments``."""

from __future__ import annotations

from sklearn.preprocessing import scale

from ismlit import datasets

SEED = 0
SETS = {
    "Wine": datasets.load_wine,
    "Cancer": datasets.load_cancer,
    "Face": datasets.load_face,
    "MNIST": datasets.load_mnist,
}


def prepared(name):
    """X (n, d) standardised and y (n,) of a set of chapter 5; constant columns are dropped.

    MNIST comes in single precision, which halves its time.
    """
    bunch = SETS[name]()
    X = bunch.data[:, bunch.data.std(axis=0) > 0]
    return scale(X).astype("float32" if name == "MNIST" else float), bunch.target


def over_runs(found):
    """One dict of lists from the dicts of several runs."""
    return {key: [f[key] for f in found] for key in found[0]}
