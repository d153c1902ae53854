"""How far the kernel dependence network scales: exact, and with random features."""

import resource
from time import perf_counter

from ismlit.datasets import make_spiral
from ismlit.estimators.network.classifier import KernelDependenceNetwork
from sklearn.preprocessing import StandardScaler

from ismlit_book.experiments import SEED, clocked

METHODS = {"exact": {}, "256 random features": dict(random_features=128, random_state=SEED)}
SIZES = {
    "exact": (300, 600, 1200, 2400),
    "256 random features": (300, 600, 1200, 2400, 12000, 36000, 108000),
}


def one(method, size):
    """Seconds, layers, HSIC, accuracy on new samples, and peak memory so far in GB."""
    X, y = make_spiral(size, random_state=SEED)
    fresh, labels = make_spiral(3000, random_state=SEED + 1)
    scaler = StandardScaler().fit(X)
    options = dict(early_stopping=False, bandwidth="normalized_hsic")
    network = KernelDependenceNetwork(**options, **METHODS[method])
    _, seconds = clocked(perf_counter, network.fit, scaler.transform(X), y)
    return {
        "seconds": seconds,
        "L": len(network.layers_),
        "H": float(network.history_["agreement"][-1]),
        "test": network.score(scaler.transform(fresh), labels),
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def rows(only="", folds=10, jobs=1):
    """Row by row, by rising size; `only` is the start of the method's name."""
    for method, sizes in SIZES.items():
        for size in sizes if folds > 2 else sizes[:2]:
            if method.startswith(only):
                yield {"method": method, "size": size} | one(method, size)
