"""Beyond the thesis: tests of independence beside those of hyppo and dcor.

HSIC of hyppo has the same bandwidth, a median distance of either side; its statistic is the
normalised HSIC, biased as its root. dcor's is the covariance of distances, which is HSIC of the
kernel -|x - x'|. All permute 199 times, but for the split and for hyppo's approximation by
chi-squared, its default. ``pip install hyppo dcor`` first.
"""

import warnings
from time import process_time

import numpy as np
from ismlit import Gaussian, dependence_test, gram, hsic, median_distance, normalized_hsic
from sklearn.metrics import pairwise_distances

from ismlit_book.experiments import SEED, clocked, named
from ismlit_book.files import optional

N_PERMUTATIONS = 199
LEVEL = 0.05
DRAWS = {"null": 1000, "power": 200, "slow": 200}
VALUES = "dependence_test", "hyppo", "hyppo, unbiased", "dcor", "dcor, unbiased"
SIZES = 200, 500, 1000


def independent(rng):
    """Nothing: five columns of a normal distribution, and one with heavy tails."""
    return rng.standard_normal((40, 5)), rng.standard_t(3, (40, 1))


def linear(rng):
    """A line in noise."""
    x = rng.standard_normal((60, 1))
    return x, 0.35 * x + rng.standard_normal((60, 1))


def circle(rng):
    """A circle in noise: no correlation."""
    angle = rng.uniform(0, 2 * np.pi, (100, 1))
    return tuple(f(angle) + 0.25 * rng.standard_normal((100, 1)) for f in (np.cos, np.sin))


def sine(rng):
    """Two periods of a wave."""
    x = rng.uniform(-1, 1, (80, 1))
    return x, np.sin(2 * np.pi * x) + rng.standard_normal((80, 1))


def exclusive_or(rng):
    """The sign of a product of two columns, of which neither alone says anything."""
    X = rng.standard_normal((60, 2))
    return X, np.sign(X.prod(axis=1, keepdims=True)) + rng.standard_normal((60, 1))


def heavy_tails(rng):
    """A line, and noise without a variance."""
    x = rng.standard_t(1.5, (60, 1))
    return x, 0.3 * x + rng.standard_t(1.5, (60, 1))


RELATIONS = {
    make.__name__.replace("_", " "): make
    for make in (linear, circle, sine, exclusive_or, heavy_tails)
}


def by_hyppo(X, Y, auto=False):
    """The p-value of HSIC with a bandwidth of one median distance."""
    X, Y = X / median_distance(X), Y / median_distance(Y)
    test = optional("hyppo.independence").Hsic(bias=not auto, gamma=0.5)
    return test.test(X, Y, reps=N_PERMUTATIONS, auto=auto)[1]


def by_dcor(X, Y, seed=SEED):
    """The p-value of the distance covariance."""
    test = optional("dcor").independence.distance_covariance_test
    return test(X, Y, num_resamples=N_PERMUTATIONS, random_state=seed).pvalue


METHODS = {
    "dependence_test": lambda X, Y: dependence_test(X, Y, bandwidth="median").p_value,
    "split": lambda X, Y: dependence_test(X, Y, method="split").p_value,
    "hyppo": by_hyppo,
    "hyppo, chi-squared": lambda X, Y: by_hyppo(X, Y, auto=True),
    "dcor": by_dcor,
}


def values(relation, seed):
    """The same statistics by this library and by the two others, on one draw of a relation."""
    hyppo, dcor = optional("hyppo.independence").Hsic, optional("dcor")
    sides = RELATIONS[relation](np.random.default_rng(seed))
    X, Y = (side / median_distance(side) for side in sides)
    K, L = (gram(Gaussian(1.0), side) for side in (X, Y))
    D, E = (-pairwise_distances(side) for side in (X, Y))
    unbiased = dict(estimator="unbiased")
    return {
        "dependence_test": (
            dependence_test(X, Y, bandwidth="median", n_permutations=1).value,
            hsic(K, L),
        ),
        "hyppo": (normalized_hsic(K, L), hyppo(bias=True, gamma=0.5).statistic(X, Y) ** 2),
        "hyppo, unbiased": (normalized_hsic(K, L, **unbiased), hyppo(gamma=0.5).statistic(X, Y)),
        "dcor": (normalized_hsic(D, E), dcor.distance_correlation_sqr(X, Y)),
        "dcor, unbiased": (
            normalized_hsic(D, E, **unbiased),
            dcor.u_distance_correlation_sqr(X, Y),
        ),
    }


def differences(statistic):
    """The largest relative difference of two libraries' values, over the relations, rounded."""
    pairs = np.array([values(relation, SEED)[statistic] for relation in RELATIONS])
    ours, theirs = pairs.T
    return round(float(np.max(np.abs(ours / theirs - 1))), 9)


def rejected(make, method, draws):
    """The share of so many draws in which independence is rejected at the level of 5 %."""
    p = [METHODS[method](*make(np.random.default_rng(seed))) for seed in range(draws)]
    return float(np.mean(np.array(p) <= LEVEL))


def seconds(method, n):
    """The median of three runs of one test on n rows of three columns and one, after a first."""
    rng = np.random.default_rng(SEED)
    X, Y = rng.standard_normal((n, 3)), rng.standard_normal((n, 1))
    METHODS[method](X[:30], Y[:30])  # what is compiled is compiled here
    taken = [clocked(process_time, METHODS[method], X, Y)[1] for _ in range(3 if n < 1000 else 1)]
    return float(np.median(taken))


def rows(only="", folds=10, jobs=1):
    """Row by row, those whose name (part/...) starts with `only`; what is not installed fails."""
    with warnings.catch_warnings(action="ignore"):  # hyppo warns of fewer than 1000 permutations
        for part, statistic in named(only, ["value"], VALUES):
            yield dict(part=part, method=statistic, difference=differences(statistic))
        for part, method in named(only, ["null"], METHODS):
            draws = DRAWS["slow" if method == "hyppo" else "null"]
            share = rejected(independent, method, draws)
            yield dict(part=part, method=method, draws=draws, rejected=share)
        for part, relation, method in named(only, ["power"], RELATIONS, METHODS):
            if method != "hyppo":  # its approximation is the default, and a tenth of the time
                found = rejected(RELATIONS[relation], method, DRAWS["power"])
                size = dict(n=len(RELATIONS[relation](np.random.default_rng(0))[0]))
                of = dict(draws=DRAWS["power"], rejected=found)
                yield dict(part=part, relation=relation, method=method) | size | of
        for part, n, method in named(only, ["seconds"], map(str, SIZES), METHODS):
            yield dict(part=part, rows=n, method=method, seconds=seconds(method, int(n)))
