"""HSIC, the conditional covariance, and which of the two held-out rows choose.

*models*: six regressions of two of ten columns that the literature on sufficient dimension
reduction uses, and classes that only two columns together tell apart: the error of the projector,
on fifty draws. *tables*: what nearest neighbours make of two components on the five folds of
`public`, `responses` and `unseen`, whose rules chose the tables before anything was fitted.
"""

import warnings
from time import process_time

import numpy as np
from ismlit import SAVE, GradientKDR, ResponseIKDR, SlicedInverseRegression, SupervisedIKDR
from sklearn.preprocessing import scale

from ismlit_book.experiments import SEED, clocked, named, public, responses, several, unseen
from ismlit_book.methods.slopes import refined_opg

DRAWS, ROWS = 50, 200
MODELS = {
    "ratio": lambda a, b, e: a / (0.5 + (b + 1.5) ** 2) + 0.2 * e,
    "cosines": lambda a, b, e: np.cos(2 * a) - np.cos(b) + 0.2 * e,
    "product": lambda a, b, e: a * (a + b + 1) + 0.2 * e,
    "sign": lambda a, b, e: np.sign(a) * np.log(np.abs(b + 5)) + 0.2 * e,
    "square": lambda a, b, e: a**2 + b + 0.2 * e,
    "scale": lambda a, b, e: a + 0.5 * np.exp(b / 2) * e,
}
CLASSES = {
    "xor in 20": (20, 300, lambda a, b: a * b > 0),
    "xor in 40": (40, 300, lambda a, b: a * b > 0),
    "rings in 40": (40, 300, lambda a, b: np.hypot(a, b) > np.sqrt(2 * np.log(2))),
}
RIDGES = {"HSIC": np.inf, "0.01": 0.01, "chosen": "auto"}
CLASSED = [name for name in (*public.SETS, *unseen.CLASSES) if name != "phoneme"]
NUMBERED = [
    name for name in (*responses.SETS, *unseen.RESPONSES) if name not in {"abalone", "white wine"}
]
"""Those of fewer than 4000 rows: with more an exact fit takes minutes."""


def drawn(name, seed):
    """X (n, d) standardised, y (n,) and the plane (d, 2) of a model on one draw.

    The columns of a regression are turned, so that no column stands for itself.
    """
    rng = np.random.default_rng([seed, 1])
    if name in CLASSES:
        d, n, rule = CLASSES[name]
        X = rng.standard_normal((n, d))
        return scale(X), rule(X[:, 0], X[:, 1]).astype(int), np.eye(d)[:, :2]
    latent = rng.standard_normal((ROWS, 10))
    y = MODELS[name](latent[:, 0], latent[:, 1], rng.standard_normal(ROWS))
    turned = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    X = latent @ turned.T
    return scale(X), y, np.linalg.qr(turned[:, :2] * X.std(axis=0)[:, None])[0]


def projector_error(W, plane):
    """The norm of the difference of two projectors, over 2: 0 for one plane, 1 if orthogonal."""
    return float(np.linalg.norm(W @ W.T - plane @ plane.T) / 2)


def on_a_draw(name, seed):
    """The error of each method, the ridge that was chosen, and the seconds of HSIC and of both."""
    X, y, plane = drawn(name, seed)
    kind = SupervisedIKDR if name in CLASSES else ResponseIKDR
    errors, seconds = {}, {}
    for method, ridge in RIDGES.items():
        model = kind(2, ridge=ridge, random_state=SEED)
        fitted, seconds[method] = clocked(process_time, model.fit, X, y)
        errors[method] = projector_error(fitted.W_, plane)
    others = {
        "SIR": SlicedInverseRegression(2),
        "SAVE": SAVE(2),
        "gradient KDR": GradientKDR(2),
        "gradient KDR, six turns": GradientKDR(2, n_turns=6),
    }
    if name in CLASSES:
        del others["SIR"]  # one direction of two classes
    for method, model in others.items():
        W = clocked(process_time, model.fit, X, y)[0].W_
        errors[method] = projector_error(np.linalg.qr(W)[0], plane)
    errors["refined OPG"] = projector_error(refined_opg(X, y.astype(float), 2), plane)
    return {method: round(error, 4) for method, error in errors.items()} | {
        "is conditional": bool(fitted.ridge_ < np.inf),
        "times one": round(seconds["chosen"] / seconds["HSIC"], 2),
    }


def on_folds(name, ridge):
    """Accuracies, or shares of the variance explained, of nearest neighbours on two components."""
    load = unseen.load if name in (*unseen.CLASSES, *unseen.RESPONSES) else None
    if name in CLASSED:
        make = lambda: public.ByNeighbours(SupervisedIKDR(2, ridge=ridge, random_state=SEED))
        found = public.by_folds(name, make, load or public.load)["accuracy"]
    else:
        reduce = lambda: responses.neighbours(ResponseIKDR(2, ridge=ridge, random_state=SEED))
        found = responses.explained(name, ridge, load, {ridge: reduce})["R2"]
    return [round(score, 4) for score in found]


def rows(only="", folds=10, jobs=1):
    """One row a model, of what each draw gave, and one a table, of what each fold gave."""
    seeds = range(DRAWS if folds > 2 else 2)
    for (name,) in named(only, MODELS | CLASSES):
        yield {"model": name} | several(on_a_draw, [(name, seed) for seed in seeds], jobs)
    for (name,) in named(only, [*CLASSED, *NUMBERED]):
        with warnings.catch_warnings(action="ignore"):  # a fit that stops short is a result
            on_all = {method: on_folds(name, at) for method, at in RIDGES.items()}
        yield {"table": name} | on_all
