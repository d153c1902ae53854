"""IMSAT on digits, where its authors report numbers: is ours theirs?

The test part of MNIST alone, a seventh of the images that they train on, and so a seventh of the
steps in their 50 epochs. The share (percent) of images whose cluster is that of their digit, under
the best pairing of clusters and digits, without and with the leak of running means.
"""

from __future__ import annotations

from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix

from ismlit import datasets
from ismlit.edition.experiments import over_runs
from ismlit.edition.experiments.deep_peers import IMSAT, LeakingIMSAT

SEEDS = 3
KINDS = {"IMSAT": IMSAT, "IMSAT, leaking": LeakingIMSAT}
PUBLISHED = 98.4, 0.4
"""Hu et al. (2017), MNIST: percent of images, mean and deviation."""


def accuracy(y, labels):
    """Percent of samples in the right cluster, under the best pairing with the classes."""
    counts = confusion_matrix(y, labels)
    return 100 * counts[linear_sum_assignment(counts, maximize=True)].sum() / len(y)


def one(kind, seed):
    """One run, pixels between -1 and 1 as in their program."""
    digits = datasets.load_mnist()
    model = KINDS[kind](10, seed).fit(digits.data / 128 - 1)
    return {"accuracy": round(accuracy(digits.target, model.labels_), 2)}


def rows(only="", folds=10, jobs=1):
    """One row a kind; two runs only when two folds are asked for."""
    for kind in (kind for kind in KINDS if kind.startswith(only)):
        found = [one(kind, seed) for seed in range(min(SEEDS, folds))]
        yield {"set": "MNIST", "method": kind} | over_runs(found)
