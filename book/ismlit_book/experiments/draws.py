"""Sentences of the course on fifty draws each: what one draw shows, how often it is so.

"narrow": plain ISM at half the median bandwidth on 160 of the wines. "labels": Wine with twelve
columns of noise, a quarter of the labels. "columns": the unsupervised turns with three columns of U
and with two. "rises" on six kinds of data: the network with the thesis's stopping, sigma by H and
by the agreement. "depth" on four sets: that network and the one by rows held out, on random halves.
"bands": two curved bands beside known clouds and three columns of noise, by the means taken out and
by KDAC. "faces": a second clustering of all photographs, or of three quarters. "light": accuracy
on digits in changing light, by projections learnt from views alone. "turns": whether a half-turn
of KDAC lowers its objective, degrees frozen or moving. "arms": three ways to extend a clustering of
300 points of a spiral to 30 000 others. "defaults": KDAC as it comes on the three made sets of
chapter 3. "shortcut" on two winding sets: KNet with degrees that follow the images, and held.
"""

import warnings
from functools import partial

import numpy as np
from ismlit import (
    KDAC,
    Gaussian,
    KernelDependenceNetwork,
    Problem,
    SemiSupervisedIKDR,
    SupervisedIKDR,
    gram,
    ism,
    label_gamma,
    one_hot,
)
from ismlit.bandwidth import median_distance
from ismlit.datasets import make_four_gaussians, make_spiral, make_two_views
from ismlit.gamma import Gamma, centre, guidance_gamma
from ismlit.objectives.joint import JointProblem
from ismlit.solvers.alternate import alternate
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler, scale

from ismlit_book.experiments import named, several
from ismlit_book.experiments.alternatives import without_means
from ismlit_book.loaders import load_face
from ismlit_book.methods.knet import KNetClustering
from ismlit_book.methods.knet.training import embedding_affinity
from ismlit_book.methods.networks import KNetVariant
from ismlit_book.methods.published import published_ism

DRAWS = 50


def narrow(seed):
    """Whether the rule was met in sixty steps, and by which share J is below the best found."""
    wine = load_wine()
    rows = np.random.default_rng(seed).permutation(len(wine.target))[:160]
    X, gamma = scale(wine.data[rows]), label_gamma(wine.target[rows])
    problem = Problem(X, gamma, Gaussian(median_distance(X) / 2))
    best = ism(problem, q=1, init="several", random_state=0).objective
    found = published_ism(X, gamma, problem.kernel, 1, tol=0.01, max_iter=60)
    return {"met": bool(found.converged), "below": round(float(1 - found.objective / best), 4)}


def labels(seed):
    """NMI on the wines without a label: k-means, LDA, and the guided method for two weights."""
    wine, rng = load_wine(), np.random.default_rng(seed)
    X, y = scale(wine.data), wine.target
    X = np.hstack([X, 1.5 * rng.standard_normal((len(X), 12))])
    known, chosen = np.full(len(X), -1), rng.choice(len(X), len(X) // 4 + 1, replace=False)
    known[chosen] = y[chosen]
    rest = known == -1
    found = {"k-means": KMeans(3, n_init=10, random_state=0).fit(X).labels_}
    found["LDA"] = LinearDiscriminantAnalysis().fit(X[~rest], known[~rest]).predict(X)
    for weight in (0.0, 1.0):
        guided = SemiSupervisedIKDR(3, bandwidth="median", weight=weight, random_state=0)
        found[f"weight {weight:.0f}"] = guided.fit(X, known).labels_
    return _agreements({name: value[rest] for name, value in found.items()}, y[rest])


def columns(seed):
    """NMI after twelve turns from a random W, with so many columns of U."""
    wine, found = load_wine(), {}
    X, y = scale(wine.data), wine.target
    kernel = Gaussian(median_distance(X))
    for count in (3, 2):
        W = np.linalg.qr(np.random.default_rng(seed).standard_normal((13, 3)))[0]
        for _ in range(12):
            K = gram(kernel, X, W)
            U = np.linalg.eigh(centre(centre(K).T))[1][:, -count:]
            W = ism(X, Gamma(centre(U), np.ones(count)), kernel, 3, init=W).W
        found[f"{count} columns"] = KMeans(3, n_init=10, random_state=0).fit(U).labels_
    return _agreements(found, y)


def _agreements(found, y):
    return {name: _agreement(clusters, y) for name, clusters in found.items()}


def _agreement(clusters, y):
    return round(float(normalized_mutual_info_score(y, clusters)), 4)


def exclusive_or(n, random_state):
    """Normal columns, and whether the signs of the two agree."""
    X = np.random.default_rng(random_state).standard_normal((n, 2))
    return X, (X.prod(axis=1) > 0).astype(int)


def coin(n, random_state):
    """Normal columns and tosses of a coin."""
    rng = np.random.default_rng(random_state)
    return rng.standard_normal((n, 2)), rng.integers(0, 2, n)


KINDS = {
    "two moons": partial(make_moons, noise=0.2),
    "circles": partial(make_circles, noise=0.1, factor=0.5),
    "blobs": partial(make_blobs, centers=3, cluster_std=2.5),
    "spiral": make_spiral,
    "exclusive or": exclusive_or,
    "coin": coin,
}
SETS = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "spiral": partial(make_spiral, 300, random_state=0),
}


def rises(kind, seed):
    """Last value and lowest step of A and H / H* by layer, with each rule for sigma."""
    X, y = KINDS[kind](90, random_state=seed)
    found = {}
    for rule in ("hsic", "normalized_hsic"):
        network = KernelDependenceNetwork(early_stopping=False, bandwidth=rule)
        history = network.fit(scale(X), y).history_
        found[f"{rule}: layers"] = len(history["share"])
        for name in ("agreement", "share"):
            found[f"{rule}: {name}"] = round(float(history[name][-1]), 4)
            step = np.diff(history[name]).min(initial=0)
            found[f"{rule}: least step of {name}"] = round(float(step), 4)
    return found


def depth(name, seed):
    """Layers, and accuracy on the other half, of both ways to stop."""
    options = {} if name == "spiral" else {"return_X_y": True}
    X, y = SETS[name](**options)
    A, B, a, b = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    scaler, found = StandardScaler().fit(A), {}
    for way, early in (("grown to 0.99", False), ("by rows held out", True)):
        network = KernelDependenceNetwork(early_stopping=early).fit(scaler.transform(A), a)
        found[f"{way}: layers"] = len(network.layers_)
        found[f"{way}: accuracy"] = round(network.score(scaler.transform(B), b), 4)
    return found


def arms(seed):
    """How many of 30 000 new points are on the wrong arm, by three ways to extend a clustering."""
    X, y = make_spiral(30_300, random_state=seed)
    X = scale(X)
    few = np.zeros(len(X), dtype=bool)
    few[np.random.default_rng(seed).choice(len(X), 300, replace=False)] = True
    knet = KNetClustering(3, random_state=seed).fit(X[few])
    spectral, at_new = extended(X[few], X[~few])
    means = KMeans(3, n_init=10, random_state=0).fit(spectral)
    nearest = KNeighborsClassifier(1).fit(X[few], means.labels_)
    found = {
        "KNet": (knet.labels_, knet.predict(X[~few])),
        "Nyström": (means.labels_, means.predict(at_new)),
        "nearest neighbour": (means.labels_, nearest.predict(X[~few])),
    }
    return {name: _wrong(*pair, y[few], y[~few]) for name, pair in found.items()}


def extended(old, points):
    """Two leading eigenvectors of the normalised kernel, and Nyström's values at other points."""
    kernel = Gaussian(0.1 * median_distance(old))
    L = embedding_affinity(old, kernel)
    U, values = L.leading(2)
    K = gram(kernel, points, X2=old)
    normal = K / np.sqrt(np.outer(K.sum(axis=1) + 1e-12, L.degrees))
    return U, normal @ U / values


def _wrong(labels, predicted, y, y_new):
    """How many are predicted wrongly, each cluster being named by its most frequent class."""
    names = np.array([np.bincount(y[labels == k]).argmax() for k in range(labels.max() + 1)])
    return int(np.sum(names[predicted] != y_new))


def bands(seed):
    """NMI with the bands; KDAC has two directions, its default, or as many as stand apart."""
    X, clouds, wanted = make_two_views(300, 3, random_state=seed)
    X = scale(X)
    graph = SpectralClustering(2, affinity="nearest_neighbors", random_state=0)
    found = {"means out, graph": graph.fit_predict(without_means(X, clouds))}
    fits = [KDAC(2, q, random_state=0).fit(X, clouds) for q in (2, 3, 4)]
    best = max(fits, key=lambda fit: fit.tried_["silhouette"].max())
    return _agreements(found | {"KDAC": fits[0].labels_, "KDAC, q chosen": best.labels_}, wanted)


ACROSS, DOWN = np.meshgrid(np.linspace(-1, 1, 8), np.linspace(-1, 1, 8))
LIGHT = np.stack([np.ones(64), ACROSS.ravel(), DOWN.ravel()])


def in_some_light(images, rng):
    """The same images of 8 x 8 pixels, each in a light of its own, and a little noise."""
    light = rng.standard_normal((len(images), 3)) @ LIGHT
    return images + light + 0.1 * rng.standard_normal(images.shape)


def light(seed):
    """Accuracy of five neighbours on new digits in new light, after each projection."""
    rng, (X, y) = np.random.default_rng(seed), load_digits(return_X_y=True)
    A, B, a, b = train_test_split(X / 16, y, train_size=600, random_state=seed, stratify=y)
    views = np.vstack([in_some_light(A[:150], rng) for _ in range(3)])
    identity = np.tile(np.arange(150), 3)
    lda = LinearDiscriminantAnalysis("eigen", shrinkage=1e-3, n_components=10)
    ism_ = SupervisedIKDR(10, tol=1e-3, random_state=0, ridge=np.inf)
    pca = PCA(13).fit(views)
    ways = {
        "pixels": np.asarray,
        "PCA": lambda Z: pca.transform(Z)[:, :10],
        "PCA, after the third": lambda Z: pca.transform(Z)[:, 3:],
        "ISM, identities": ism_.fit(views, identity).transform,
        "LDA, identities": lda.fit(views, identity).transform,
    }
    known, new = in_some_light(A, rng), in_some_light(B, rng)
    near = KNeighborsClassifier(5)
    return {
        name: round(float(near.fit(way(known), a).score(way(new), b)), 4)
        for name, way in ways.items()
    }


def faces(share, seed):
    """NMI of a second clustering of the faces with persons and directions, both fits drawn anew."""
    face = load_face()
    count = round(share * len(face.data))
    rows = np.random.default_rng(seed).choice(len(face.data), count, replace=False)
    X = PCA(20, whiten=True, svd_solver="full").fit_transform(face.data[rows])
    who = KDAC(20, bandwidth="median", tol=1e-4, random_state=seed).fit(X)
    options = dict(kernel=Gaussian(0.7 * median_distance(X)), n_vectors=4, tol=1e-4)
    way = KDAC(4, 8, **options, random_state=seed).fit(X, who.labels_)
    known = {"person": face.target[rows], "direction": face.pose[rows]}
    return {name: _agreement(way.labels_, labels) for name, labels in known.items()}


def turns(seed):
    """Whether a half-turn lowers the objective: as published, the same safeguarded, D moving."""
    X, clouds, _ = make_two_views(200, 2, random_state=seed)
    joint = JointProblem(scale(X), Gaussian(0.5), "centred", guidance_gamma(clouds, -2.0))
    published = partial(published_ism, tol=0.01, max_iter=3)
    ways = {
        "D frozen": dict(freeze=True, solver=published),
        "D frozen, safeguard": dict(freeze=True),
        "D moving": {},
    }
    found, Y = {}, one_hot(clouds)
    start = Y / np.linalg.norm(Y, axis=0)
    for name, options in ways.items():
        path = alternate(joint, 2, 2, start=start, max_turns=15, **options).history["objective"]
        found[name] = bool(np.diff(path).min() < -1e-4)
    return found


def defaults(seed):
    """NMI of KDAC with what is sought, on the three made sets."""
    X, clouds, parabolas = make_two_views(200, random_state=seed)
    four, first, second = make_four_gaussians(200, 4, random_state=seed)
    sets = {
        "parabolas sought": (X, clouds, parabolas),
        "clouds sought": (X, parabolas, clouds),
        "four Gaussians": (four, first, second),
    }
    fits = {n: KDAC(2, random_state=0).fit(scale(Z), known) for n, (Z, known, _) in sets.items()}
    return {n: _agreement(fit.labels_, sets[n][2]) for n, fit in fits.items()}


def shortcut(kind, seed):
    """NMI, spread within the clusters over that of the data, and whether F fell, by the degrees."""
    if kind == "arcs":
        X, y, k = make_two_views(156, random_state=seed)[0][:, :2], np.arange(156) // 78, 2
    else:
        (X, y), k = make_spiral(156, noise=0.1, random_state=seed), 3
    X = scale(X)
    sigma = 0.1 * median_distance(X)
    U = embedding_affinity(X, Gaussian(sigma)).leading(k - 1)[0]
    means = KMeans(k, n_init=10, random_state=0).fit(U)
    found = {"start: NMI": _agreement(means.labels_, y)}
    options = dict(bandwidth=sigma, init="spectral", learning_rate=3e-3)
    options |= dict(n_steps=60, batch_size=156, max_blocks=6, random_state=0)
    for way in ("moving", "frozen"):
        fit = KNetVariant(k, degrees=way, **options).fit(X)
        heights = fit.renewals_["objective"]
        shrunk = _spread(fit.transform(X), y) / _spread(X, y)
        found[f"{way}: NMI"] = _agreement(fit.labels_, y)
        found[f"{way}: fell"] = bool(heights[-1] < heights[0])
        found[f"{way}: spread"] = round(float(shrunk), 4)
    return found


def _spread(Z, labels):
    """The mean variance within a cluster over that of all rows."""
    inside = [Z[labels == k].var(axis=0).sum() for k in np.unique(labels)]
    return np.mean(inside) / Z.var(axis=0).sum()


EXPERIMENTS = {"narrow": narrow, "labels": labels, "columns": columns, "arms": arms}
EXPERIMENTS |= {"bands": bands, "light": light, "turns": turns, "defaults": defaults}
EXPERIMENTS |= {f"shortcut, {kind}": partial(shortcut, kind) for kind in ("arcs", "spiral")}
EXPERIMENTS |= {"faces": partial(faces, 1.0), "faces, three quarters": partial(faces, 0.75)}
EXPERIMENTS |= {f"rises, {kind}": partial(rises, kind) for kind in KINDS}
EXPERIMENTS |= {f"depth, {name}": partial(depth, name) for name in SETS}


def one(name, seed):
    """What an experiment finds on one draw."""
    with warnings.catch_warnings(action="ignore"):  # not converged is a result here
        return EXPERIMENTS[name](seed)


def rows(only="", folds=10, jobs=1):
    """One row an experiment."""
    seeds = range(DRAWS if folds > 2 else 2)
    for (name,) in named(only, EXPERIMENTS):
        yield {"experiment": name} | several(one, [(name, seed) for seed in seeds], jobs)
