"""Three hundred of Spiral1's points: which settings of KNet find the arms, draw after draw.

For every draw: NMI (percent) of the spectral start, of the clusters found, and of the clusters of
all 3000 points by the network.
"""

import warnings

import numpy as np
from ismlit.estimators.clusters import cluster_rows
from sklearn.neighbors import KNeighborsClassifier

from ismlit_book.experiments import several
from ismlit_book.experiments.table_4_2 import data_of, knet, nmi

DRAWS, SIZE = 60, 300
METHODS = {
    "Algorithm 3": {
        "n_vectors": 3,
        "identity": "pretrained",
        "batch_size": 5,
        "n_steps": SIZE // 5,  # an epoch
        "min_gain": np.inf,
        "n_init": 1,
        "max_blocks": 100,
    },
    "renewed at every block": {"min_gain": np.inf, "n_init": 1},
    "renewed when settled": {"n_init": 1},
    "best of four": {},
    "best of four, local start": {"init": "self_tuning"},
}


def one(options, draw):
    """One draw with one method."""
    X, y = data_of("Spiral1")
    part = np.random.default_rng(draw).choice(len(X), SIZE, replace=False)
    model = knet("Spiral1", 3, draw, X[part], **options)
    with warnings.catch_warnings(action="ignore"):  # what does not converge is a result here
        model.fit(X[part])
    nearest = KNeighborsClassifier(1).fit(X[part], model.labels_)
    return {
        "start": nmi(y[part], cluster_rows(model.start_, 3, 0)),
        "trained": nmi(y[part], model.labels_),
        "all": nmi(y, model.predict(X)),
        "all, nearest sample": nmi(y, nearest.predict(X)),
        "blocks": model.n_iter_,
    }


def rows(only="", folds=10, jobs=1):
    """One row a method; two draws only when two folds are asked for."""
    for method, options in METHODS.items():
        if method.startswith(only):
            draws = DRAWS if folds > 2 else folds
            yield {"method": method} | several(
                one, [(options, draw) for draw in range(draws)], jobs
            )
