"""The thesis's experiments, a module a table: ``python -m ismlit_book.experiments``."""

import warnings
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_wine
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler, scale

from ismlit_book import loaders
from ismlit_book.methods.baselines import cayley

SEED = 0
SETS = {
    "Wine": load_wine,
    "Cancer": loaders.load_cancer,
    "Face": loaders.load_face,
    "MNIST": loaders.load_mnist,
}


def prepared(name):
    """X (n, d) standardised and y (n,) of a set of chapter 5; constant columns are dropped.

    MNIST comes in single precision, which halves its time.
    """
    bunch = SETS[name]()
    X = bunch.data[:, bunch.data.std(axis=0) > 0]
    return scale(X).astype("float32" if name == "MNIST" else float), bunch.target


def cayley_search(W, G, longest, at, serves):
    """The first point of the Cayley curve from W along G that `serves`, or the last one tried.

    Its lengths are `longest` and thirteen more, each a fifth of the one before: so the authors'
    programs look for a step. `ismlit_book.methods.baselines.stiefel_descent` looks as its paper
    does, by tenths from a length that the last step suggests, which no power of a fifth is.

    Parameters
    ----------
    W, G : arrays of shape (d, q)
    longest : float
    at : callable
        What is to be known of a point, such as the objective and its gradient.
    serves : callable
        Whether what is known of a point will do.

    Returns
    -------
    point : array of shape (d, q)
    found : what `at` says of it
    """
    for length in longest * 0.2 ** np.arange(14):
        point = cayley(W, G, length)
        found = at(point)
        if serves(found):
            break
    return point, found


def median(X):
    """The median of all n² distances, the zeros among them."""
    return float(np.median(pairwise_distances(X)))


def named(only, *parts):
    """The combinations of names that begin so, as tuples; slashes stand between the names."""
    return [names for names in product(*parts) if "/".join(names).startswith(only)]


def scaled_folds(X, y):
    """Training and test rows of five stratified folds, scaled by the former, and their classes."""
    for a, b in StratifiedKFold(5, shuffle=True, random_state=SEED).split(X, y):
        scaler = StandardScaler().fit(X[a])
        yield scaler.transform(X[a]), scaler.transform(X[b]), y[a], y[b]


def clocked(clock, run, *given, **options):
    """What a call returns, and its seconds by a clock of `time`.

    Its warnings are ignored: what does not converge is a result here.
    """
    began = clock()
    with warnings.catch_warnings(action="ignore"):
        found = run(*given, **options)
    return found, clock() - began


def several(run, calls, jobs=1):
    """`over_runs` of what `run` gives of the arguments of each call, so many at once."""
    return over_runs(Parallel(jobs)(delayed(run)(*call) for call in calls))


def over_runs(found):
    """One dict of lists from the dicts of several runs."""
    return {key: [f[key] for f in found] for key in found[0]}


def shortened(value):
    """Numbers to six digits, in lists and dicts."""
    if isinstance(value, dict):
        return {key: shortened(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(v) for v in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
