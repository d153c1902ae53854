"""Figures 6.2, D.3 and D.4: the authors' simulation of Theorem 6.1, and a search for its numbers.

The program's layer sums the features of one class, so that its output is one number a sample. The
bandwidth that it reports is fixed, and only measures H; the one that the features have is the
first of a falling grid with which H rises, and the grid ends at 0. The text has neither, so a
beam search looks for class-sum networks (`ismlit_book.methods.construction`) with its bandwidths.
"""

import numpy as np
from ismlit.gamma import label_gamma
from scipy.spatial.distance import cdist
from sklearn.preprocessing import scale
from tqdm import tqdm

from ismlit_book.experiments import SEED, shortened
from ismlit_book.experiments.table_6_1 import data_of
from ismlit_book.methods.construction import class_sum_images
from ismlit_book.methods.measures import ideal_hsic

SETS = ("random", "adver")
MEASURING, SMALLEST = 0.15, 1e-10
GRIDS = np.linspace(np.sqrt(2), SMALLEST, 20), np.linspace(MEASURING, SMALLEST, 15)
"""Widths of the features that are tried: in the first layer, and in the others."""
LAYERS, FEATURES, SEEDS = 14, 10_000, 3
ENOUGH = 1 - 1e-4
"""Of the largest H, after which further layers change no digit of the figures."""
LEAST = {"random": 0.15, "adver": 0.03}
"""The smallest bandwidths that section 6.5 tells."""
BEAM, GRID, SHARE, DEEPEST = 16, 24, 0.999, 12


def gaussian(Z, sigma):
    """The Gram matrix of images Z (n, q)."""
    return np.exp(-cdist(Z, Z, "sqeuclidean") / (2 * sigma**2))


# ---------------------------------------------------------------- the program


def weights_of(y):
    """HYY' without its diagonal: what H sums K over; and its largest sum, of K = YY'."""
    same = (y[:, None] == y).astype(float)
    weights = same - same.mean(axis=0)
    np.fill_diagonal(weights, 0)
    return weights, float(np.sum(weights * same))


def feature_gram(Z, width, rng=None, features=FEATURES):
    """Inner products of the features of Z: of random cosines, or exact without `rng`."""
    if rng is None:
        return gaussian(Z, width)
    angles = Z @ (rng.standard_normal((Z.shape[1], features)) / width)
    F = np.cos(angles + rng.uniform(0, 2 * np.pi, features))
    return 2 / features * F @ F.T


def class_sum(K, own):
    """Images (n, 1) under the sum of the features of one class, scaled to length 1."""
    return (K[:, own].sum(axis=1) / np.sqrt(K[np.ix_(own, own)].sum()))[:, None]


def simulated(X, y, rng=None, layers=LAYERS):
    """(width of the features, H) layer by layer, and the images of each."""
    weights, largest = weights_of(y)
    H_of = lambda Z: float(np.sum(weights * gaussian(Z, MEASURING)))
    Z, last, found, images = X, -np.inf, [], []
    while len(found) < layers and not last > ENOUGH * largest:
        least, tried = max(H_of(Z), last), []
        for width in GRIDS[len(found) > 0]:
            own = class_sum(feature_gram(Z, width, rng), y == 0)
            tried.append((H_of(own), width, own))
            if tried[-1][0] > least:
                break
        else:
            tried = [max(tried, key=lambda step: step[0])]
        last, width, Z = tried[-1]
        found.append((float(width), last))
        images.append(Z[:, 0].tolist())
    return found, images


# ---------------------------------------------------------------- the search


def searched(X, y, least, layers=DEEPEST, beam=BEAM):
    """Bandwidths (at least `least`) of a class-sum network whose H rises to `SHARE`; or None.

    Of all continuations of a layer's networks those are kept from which one further layer comes
    highest, one of each height (to a hundredth); bandwidths are tried to three digits.
    """
    F, ideal = label_gamma(y).F, ideal_hsic(y)
    share = lambda K: float(np.sum(F * (K @ F))) / ideal
    grid = np.unique(np.round(np.geomspace(least, 0.6, GRID), 3))
    kept = [(0.0, [], X)]
    for _ in tqdm(range(layers), desc="search", unit="layer", leave=False):
        grown = []
        for before, sigmas, Z in kept:
            for sigma in grid:
                K = gaussian(Z, sigma)
                value = share(K)
                if value <= before:
                    continue
                if value >= SHARE and min([*sigmas, sigma]) == least:
                    return [*sigmas, float(sigma)]
                try:
                    ahead = class_sum_images(K, y)
                except ValueError:  # dependent class sums
                    continue
                squares = cdist(ahead, ahead, "sqeuclidean")
                reach = max(share(np.exp(-squares / (2 * s**2))) for s in grid)
                if reach > value:
                    grown.append((reach, value, [*sigmas, float(sigma)], ahead))
        grown.sort(key=lambda found: found[0])
        distinct = {round(found[1], 2): found[1:] for found in grown}  # the highest of each
        kept = list(distinct.values())[-beam:]
    return None


# ---------------------------------------------------------------- rows


def rows(only="", folds=SEEDS, jobs=1):
    """Row by row, those whose name (set/reading) starts with `only`."""
    for name in SETS:
        X, y = data_of(name)
        readings = {"exact": None} | {f"seed {k}": k for k in range(min(folds, SEEDS))}
        for reading, k in readings.items():
            if f"{name}/{reading}".startswith(only):
                rng = None if k is None else np.random.default_rng([SEED, k])
                found, images = simulated(X, y, rng)
                widths, H = map(list, zip(*found))
                row = {"set": name, "reading": reading, "widths": widths, "H": H}
                yield shortened(row | ({"images": images} if k == 1 else {}))
        if f"{name}/search".startswith(only):
            sigmas = searched(scale(X), y, LEAST[name]) or []
            yield {"set": name, "reading": "search", "sigmas": sigmas}
