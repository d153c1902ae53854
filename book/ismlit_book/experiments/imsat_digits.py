"""IMSAT on digits, where its authors report a number: is ours theirs?

The test part of MNIST alone, a seventh of the images that they train on, and so a seventh of the
steps in their 50 epochs. The share (percent) of images whose cluster is that of their digit, under
the best pairing of clusters and digits.
"""

from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix

from ismlit_book import loaders
from ismlit_book.experiments import over_runs
from ismlit_book.experiments.deep_peers import IMSAT

SEEDS = 2
PUBLISHED = 98.4, 0.4
"""Hu et al. (2017), all of MNIST: percent of the images, mean and deviation."""


def accuracy(y, labels):
    """Percent of samples in the right cluster, under the best pairing with the classes."""
    counts = confusion_matrix(y, labels)
    return 100 * counts[linear_sum_assignment(counts, maximize=True)].sum() / len(y)


def one(seed):
    """One run, pixels between -1 and 1 as in their program."""
    digits = loaders.load_mnist()
    model = IMSAT(10, seed).fit(digits.data / 128 - 1)
    return {"accuracy": round(accuracy(digits.target, model.labels_), 2)}


def rows(only="", folds=10, jobs=1):
    """The one row."""
    if "MNIST".startswith(only):
        yield {"set": "MNIST", "method": "IMSAT"} | over_runs(
            [one(seed) for seed in range(min(SEEDS, folds))]
        )
