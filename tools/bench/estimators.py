"""The estimators against the plain method that a user would try first."""

from dataclasses import replace
from functools import partial

import numpy as np
from ismlit_book.experiments.scaling import make_classes
from ismlit_book.methods.knet import KNetClustering
from sklearn import datasets as sets
from sklearn.cluster import SpectralClustering
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from ismlit.datasets import make_two_views
from ismlit.estimators.kdac import KDAC
from ismlit.estimators.network.classifier import KernelDependenceNetwork
from ismlit.estimators.supervised import SupervisedIKDR
from ismlit.estimators.unsupervised import UnsupervisedIKDR
from tools.bench.rows import Row, compared, take_turns
from tools.bench.ways import quiet

LABELLED = {
    "wine": lambda: sets.load_wine(return_X_y=True),
    "cancer, 30": lambda: sets.load_breast_cancer(return_X_y=True),
    "digits": lambda: sets.load_digits(return_X_y=True),
    "10 000 x 20": lambda: sets.make_classification(
        10_000, 20, n_informative=8, n_redundant=4, n_classes=3, random_state=0
    ),
}


def network_rows(name):
    """Accuracy and time of the network beside a support vector machine, over folds."""
    X, y = LABELLED[name]()
    score, seconds = {"machine": [], "network": []}, {"machine": [], "network": []}
    split = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    for train, test in split:
        scaler = StandardScaler().fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        wide = dict(random_features=1000, random_state=0) if len(X) > 5000 else {}
        models = {"machine": SVC(), "network": KernelDependenceNetwork(**wide)}
        fits = {kind: partial(model.fit, A, y[train]) for kind, model in models.items()}
        best = take_turns(fits, 3 if len(X) < 5000 else 1, name)
        for kind, model in models.items():
            seconds[kind].append(best[kind])
            score[kind].append(model.score(B, y[test]))
    ratio = np.sum(seconds["network"]) / np.sum(seconds["machine"])
    yield Row(f"network fit / support vector machine, {name}", ratio, 60)
    behind = 100 * (np.mean(score["machine"]) - np.mean(score["network"]))
    note = f"{100 * np.mean(score['network']):.1f} %"
    yield Row(f"accuracy behind the machine, points, {name}", behind, 1.0, note=note)


def knet_rows():
    """Deep kernel clustering beside spectral clustering, on moons."""
    X, y = sets.make_moons(600, noise=0.08, random_state=0)
    X, model = scale(X), KNetClustering(2, random_state=0)
    plain = SpectralClustering(2, gamma=20, random_state=0)
    work = "KNet fit / spectral clustering, 600 moons"
    row = compared(work, 2, lambda: model.fit(X), lambda: plain.fit(X), most=45)
    nmi = normalized_mutual_info_score(y, model.labels_)
    yield replace(row, note=f"NMI {nmi:.2f}")


def kdac_rows():
    """Where KDAC's time goes: the search for a bandwidth."""
    X, known, _ = make_two_views(200, random_state=0)
    fit = lambda **bandwidth: KDAC(2, random_state=0, **bandwidth).fit(scale(X), known)
    work = "KDAC, bandwidth searched / given, 200 x 4"
    given = partial(fit, bandwidth="median")
    yield compared(work, 3, fit, given, note="ten short alternations")


def default_rows():
    """A fit with all defaults over one from the Taylor start with the bandwidth given."""
    for name, (X, y, more) in {
        "iris, 150 x 4": (*sets.load_iris(return_X_y=True), {}),
        "2000 x 50": (*make_classes(2000, 50, 4), {}),
        "10 000 x 50, 300 features": (
            *make_classes(10_000, 50, 4, "float32"),
            dict(random_features=300, random_state=0),
        ),
    }.items():
        X = scale(X).astype(X.dtype)
        sigma = SupervisedIKDR(2, max_iter=1, **more).fit(X, y).kernel_.sigma
        default = SupervisedIKDR(2, **more)
        given = SupervisedIKDR(2, init="taylor", bandwidth=sigma, **more)
        work = f"SupervisedIKDR by default / Taylor start and bandwidth given, {name}"
        yield compared(work, 3, partial(default.fit, X, y), partial(given.fit, X, y), most=2)


def certificate_rows():
    """What a certificate adds to a fit."""
    for name in ("wine", "cancer, 30", "digits"):
        X, y = LABELLED[name]()
        X = scale(X[:, X.std(axis=0) > 0])
        fit = partial(SupervisedIKDR(2).fit, X, y)
        best = take_turns({"fit": fit, "certified": lambda fit=fit: fit().certificate()}, 3, name)
        more = max(best["certified"] / best["fit"] - 1, 0.0)
        yield Row(f"certificate after the fit / fit, {name}", more, 0.5)


def clustering_rows():
    """Dependence without labels beside spectral clustering."""
    X, _ = make_classes(3000, 50, 4)
    plain = SpectralClustering(4, gamma=1 / 50, random_state=0)
    ours = UnsupervisedIKDR(4, random_state=0)
    work = "UnsupervisedIKDR fit / spectral clustering, 3000 x 50"
    yield compared(work, 1, lambda: ours.fit(X), lambda: plain.fit(X), most=10)


def rows(quick):
    """Those of all."""
    with quiet():
        yield from default_rows()
        yield from certificate_rows()
        if not quick:
            yield from clustering_rows()
        for name in list(LABELLED)[: 3 if quick else None]:
            yield from network_rows(name)
        yield from knet_rows()
        yield from kdac_rows()
