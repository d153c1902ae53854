"""Figures the book repeats: each takes arrays and an axis, draws, and returns the axis.

Colours are Okabe and Ito's, which stay apart for colour-blind readers; line style or marker
repeats what colour says.
"""

import matplotlib.pyplot as plt
import numpy as np
from ismlit.plot import COLOURS, look, named
from ismlit.plot import plot_projection as plot_projection
from matplotlib.colors import ListedColormap
from sklearn.utils import _safe_indexing

LINES = ("-", "--", ":", "-.")


def _line(k):
    return look(k) | dict(linestyle=LINES[k % len(LINES)])


def _scatter(ax, Z, y, names=None, size=14, alpha=0.7):
    """Points Z (n, 2), or (n, 1) against a jitter, class by class, each with its look."""
    Z, y = np.asarray(Z), np.asarray(y)
    names = named(np.unique(y), names)
    second = Z[:, 1] if Z.shape[1] > 1 else np.random.default_rng(0).uniform(-1, 1, len(Z))
    for k, (label, name) in enumerate(names.items()):
        here = y == label
        ax.scatter(Z[here, 0], second[here], size, alpha=alpha, label=name, **look(k))
    return ax


def _leading(Z, count):
    """Scores of Z (n, q) on its leading principal components (n, count)."""
    Z = Z - Z.mean(axis=0)
    return Z @ np.linalg.svd(Z, full_matrices=False)[2][:count].T


def _curves(ax, curves, size=3, font="small", **labels):
    """Lines, {label: (x, y)}, each with its look, and a legend."""
    ax.set(**labels)
    for k, (label, points) in enumerate(curves.items()):
        ax.plot(*points, markersize=size, label=label, **_line(k))
    ax.legend(fontsize=font)
    return ax


def _axis(ax, size=(5, 3.2)):
    return ax if ax is not None else plt.subplots(figsize=size, layout="constrained")[1]


def plot_history(results, key="objective", ax=None, log=False):
    """How `key` of the history develops; `results` maps a label to an ISMResult.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import SupervisedIKDR
    >>> from ismlit_book.figures.plots import plot_history
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_history({f"q = {q}": SupervisedIKDR(q).fit(X, y).result_ for q in (1, 2)})
    >>> ax.get_ylabel(), ax.get_legend_handles_labels()[1]
    ('objective', ['q = 1', 'q = 2'])
    >>> plt.close()
    """
    values = {label: result.history[key] for label, result in results.items()}
    curves = {label: (np.arange(len(each)), each) for label, each in values.items()}
    scale = "log" if log else "linear"
    return _curves(_axis(ax), curves, xlabel="step", ylabel=key.replace("_", " "), yscale=scale)


def plot_gap(results, ax=None, floor=1e-13):
    """Share by which J is below the best of all, against passes; `results`: label to ISMResult.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import SupervisedIKDR
    >>> from ismlit_book.figures.plots import plot_gap
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_gap({s: SupervisedIKDR(2, init=s).fit(X, y).result_ for s in ("taylor", "pca")})
    >>> ax.get_yscale(), ax.get_legend_handles_labels()[1]
    ('log', ['taylor', 'pca'])
    >>> plt.close()
    """
    best, curves = max(result.objective for result in results.values()), {}
    for label, result in results.items():
        reached = np.maximum.accumulate(result.history["objective"])
        curves[label] = result.history["passes"], np.maximum(1 - reached / best, floor)
    words = dict(xlabel="passes over all pairs", ylabel="share below the best J")
    return _curves(_axis(ax), curves, xscale="log", yscale="log", **words)


def plot_ratios(groups, ax=None):
    """Positive ratios on a logarithmic axis, one column of points a group (label to values).

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from ismlit_book.figures.plots import plot_ratios
    >>> ax = plot_ratios({"time": [2.0, 8.0, 4.0], "memory": [0.5, 1.0, 2.0]})
    >>> [label.get_text() for label in ax.get_xticklabels()], ax.get_yscale()
    (['time', 'memory'], 'log')
    >>> plt.close()
    """
    ax = _axis(ax, (5.6, 3.2))
    for k, values in enumerate(groups.values()):
        place = k + np.linspace(-0.15, 0.15, len(values))
        ax.plot(place, sorted(values), linestyle="", markersize=4, **look(k))
        ax.plot([k - 0.3, k + 0.3], [np.median(values)] * 2, color="0.5")
    ax.axhline(1, color="0.5", linewidth=0.8, linestyle=":")
    ax.set_xticks(range(len(groups)), list(groups), fontsize="x-small")
    ax.set(yscale="log", ylabel="ratio (bar: median)")
    return ax


def plot_bars(groups, names, ylabel, ax=None):
    """Grouped bars: `groups` maps a label to one value per name; the axis starts near the least.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from ismlit_book.figures.plots import plot_bars
    >>> accuracy = {"ISM": [97.2, 96.0], "PCA": [95.5, 91.3]}  # percent
    >>> ax = plot_bars(accuracy, ["wine", "iris"], "accuracy, %")
    >>> round(float(ax.get_ylim()[0]), 1)  # the least value, less ten
    81.3
    >>> plt.close()
    """
    ax = _axis(ax, (7.5, 3.6))
    width = 0.8 / len(groups)
    for k, (label, values) in enumerate(groups.items()):
        place = np.arange(len(names)) + (k - (len(groups) - 1) / 2) * width
        hatch = ("", "///", "...", "xxx")[k // len(COLOURS) + k % 2]
        ax.bar(place, values, width, color=look(k)["color"], hatch=hatch, label=label)
    low = min(np.nanmin(values) for values in groups.values())
    ax.set_ylim(bottom=max(0, low - 10))
    ax.set_xticks(range(len(names)), names)
    ax.set_ylabel(ylabel)
    ax.figure.legend(fontsize="small", ncols=4, loc="outside lower center")
    return ax


def plot_scaling(rows, xlabel, ax=None):
    """Seconds against size, one line a method; `rows` hold method, size, seconds.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from ismlit_book.figures.plots import plot_scaling
    >>> rows = [dict(method="ISM", size=n, seconds=1e-6 * n**2) for n in (100, 1000, 10000)]
    >>> ax = plot_scaling(rows, "samples n")
    >>> ax.get_xlabel(), ax.get_xscale(), ax.get_yscale()
    ('samples n', 'log', 'log')
    >>> plt.close()
    """
    curves = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        points = sorted((r["size"], r["seconds"]) for r in rows if r["method"] == method)
        curves[method] = zip(*points)
    words = dict(xlabel=xlabel, ylabel="seconds", xscale="log", yscale="log")
    return _curves(_axis(ax, (5.6, 3.4)), curves, 4, "x-small", **words)


def plot_loadings(W, feature_names, ax=None, order=None):
    """The weights of each feature in each component: W (d, q) as grouped horizontal bars.

    `order` lists the features from the bottom up; by default the largest weight is on top.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import SupervisedIKDR
    >>> from ismlit_book.figures.plots import plot_loadings
    >>> iris = load_iris()
    >>> ax = plot_loadings(SupervisedIKDR(1).fit(iris.data, iris.target).W_, iris.feature_names)
    >>> ax.get_yticklabels()[-1].get_text()  # the feature with the largest weight
    'petal width (cm)'
    >>> plt.close()
    """
    W = np.asarray(W)
    ax = _axis(ax, (5.5, 0.9 + 0.26 * len(W)))
    order = np.argsort(np.abs(W).max(axis=1)) if order is None else order
    height = 0.8 / W.shape[1]
    for k in range(W.shape[1]):
        place = np.arange(len(W)) + (W.shape[1] / 2 - k - 0.5) * height
        hatch = ("", "///", "...")[k % 3]
        style = dict(color=look(k)["color"], hatch=hatch, label=f"component {k + 1}")
        ax.barh(place, W[order, k], height, **style)
    ax.set_yticks(range(len(W)), [feature_names[i] for i in order], fontsize="small")
    ax.plot([0, 0], [-0.5, len(W) - 0.5], color="0.5", linewidth=0.8)  # not through the legend
    ax.set_xlabel("weight")
    columns = min(W.shape[1], 2)
    strip = 0.4 + 0.9 * -(-W.shape[1] // columns)  # for the legend, below the last bar
    ax.set_ylim(-strip, len(W) - 0.5)
    room = dict(borderaxespad=0.2, columnspacing=1, handlelength=1.5)
    ax.legend(fontsize="small", ncols=columns, loc="lower center", frameon=False, **room)
    return ax


def plot_views(X, labels, pairs, ax=None):
    """X (n, d) through pairs of features, one panel for each pair, coloured by labels (n,).

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from ismlit.datasets import make_two_views
    >>> from ismlit_book.figures.plots import plot_views
    >>> X, side, parabola = make_two_views(200, random_state=0)
    >>> axes = plot_views(X, parabola, [(0, 1), (2, 3)])
    >>> [(ax.get_xlabel(), ax.get_ylabel()) for ax in axes]
    [('feature 1', 'feature 2'), ('feature 3', 'feature 4')]
    >>> plt.close()
    """
    if ax is None:
        size = (3.1 * len(pairs), 3)
        _, ax = plt.subplots(1, len(pairs), figsize=size, layout="constrained")
    X = np.asarray(X)
    for panel, (a, b) in zip(np.atleast_1d(ax), pairs):
        _scatter(panel, X[:, [a, b]], labels, size=12)
        panel.set(xlabel=f"feature {a + 1}", ylabel=f"feature {b + 1}")
    return ax


def plot_layers(network, X, y):
    """Images (top) and sorted Gram matrix (bottom) of every layer of a fitted network.

    Images beyond two columns are shown by their two leading principal components. The title has
    the agreement A of the layer's output with the labels.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from ismlit import KernelDependenceNetwork
    >>> from ismlit.datasets import make_rings
    >>> from ismlit_book.figures.plots import plot_layers
    >>> X, y, _ = make_rings(100, 2, random_state=0)
    >>> axes = plot_layers(KernelDependenceNetwork().fit(X, y), X, y)
    >>> axes[0, -1].get_title()
    '2: A 1.00'
    >>> plt.close()
    """
    order, count = np.argsort(y, kind="stable"), len(network.layers_)
    ordered = _safe_indexing(X, order)
    side = min(2.3, 8.5 / count)
    size = (side * count + 0.3, 2 * side + 0.5)
    axes = plt.subplots(2, count, figsize=size, squeeze=False, layout="constrained")[1]
    for l, (top, bottom) in enumerate(axes.T, 1):
        _scatter(top, _leading(network.images(X, l), 2), y, size=8, alpha=0.6)
        top.set_title(f"{l}: A {network.history_['agreement'][l - 1]:.2f}", fontsize="medium")
        bottom.imshow(network.gram(ordered, layer=l), cmap="Blues", vmin=0, vmax=1)
        for ax in (top, bottom):
            ax.set(xticks=[], yticks=[])
    return axes


def plot_matrix(matrix, title=None, ax=None):
    """A signed matrix as an image on a scale symmetric about zero.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from ismlit import label_gamma
    >>> from ismlit_book.figures.plots import plot_matrix
    >>> ax = plot_matrix(label_gamma([0, 0, 0, 1]).to_dense(), "Gamma")
    >>> low, high = ax.images[0].get_clim()
    >>> ax.get_title(), low == -high
    ('Gamma', True)
    >>> plt.close()
    """
    ax = _axis(ax, (3.4, 3))
    limit = np.abs(matrix).max()
    image = ax.imshow(matrix, cmap="PuOr", vmin=-limit, vmax=limit)
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    ax.set(title=title, xticks=[], yticks=[])
    return ax


def plot_landscape(angles, values, path=(), ax=None):
    """J over the directions of the plane (d = 2, q = 1), and the points an iteration visited.

    `path` holds (angle, J) pairs in order; angles in radians, drawn in degrees.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from ismlit_book.figures.plots import plot_landscape
    >>> angles = np.linspace(0, np.pi, 181)
    >>> path = [(angle, np.cos(angle) ** 2) for angle in (1.2, 0.4, 0.0)]
    >>> ax = plot_landscape(angles, np.cos(angles) ** 2, path)
    >>> ax.get_legend_handles_labels()[1]
    ['J over all directions', 'visited']
    >>> plt.close()
    """
    ax = _axis(ax)
    ax.plot(np.degrees(angles), values, color=COLOURS[0], label="J over all directions")
    if len(path):
        x, y = np.array(path).T
        ax.plot(np.degrees(x), y, ":", color=COLOURS[1], marker="o", markersize=5, label="visited")
        for step, (a, b) in enumerate(zip(np.degrees(x)[:4], y[:4], strict=True)):
            ax.annotate(str(step), (a, b), (4, 4), textcoords="offset points", fontsize="small")
    ax.set(xlabel="angle of W in degrees", ylabel="objective J")
    ax.legend(fontsize="small")
    return ax


def plot_printed(names, printed, recomputed, ylabel, ax=None):
    """Printed and recomputed numbers side by side, each (m, 2): mean and standard deviation.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from ismlit_book.figures.plots import plot_printed
    >>> printed, recomputed = [(97.0, 1.5), (91.0, 3.0)], [(96.2, 1.9), (92.4, 2.2)]
    >>> ax = plot_printed(["wine", "cancer"], printed, recomputed, "accuracy, %")
    >>> ax.get_legend_handles_labels()[1]
    ['printed', 'recomputed']
    >>> plt.close()
    """
    ax = _axis(ax)
    for k, (label, values) in enumerate({"printed": printed, "recomputed": recomputed}.items()):
        mean, deviation = np.asarray(values, dtype=float).T
        place = np.arange(len(names)) + 0.16 * (2 * k - 1)
        ax.errorbar(place, mean, deviation, linestyle="", capsize=3, label=label, **look(k))
    ax.set_xticks(range(len(names)), names)
    ax.set_ylabel(ylabel)
    ax.legend(fontsize="small")
    return ax


def plot_segments(maps):
    """Integer images (h, w) side by side, one flat colour per label; `maps` is title to array.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from ismlit_book.figures.plots import plot_segments
    >>> halves = np.repeat([[0, 1]], 8, axis=0)
    >>> axes = plot_segments({"left and right": halves, "top and bottom": halves.T})
    >>> [ax.get_title() for ax in axes]
    ['left and right', 'top and bottom']
    >>> plt.close()
    """
    _, axes = plt.subplots(1, len(maps), figsize=(2.6 * len(maps), 3.4), layout="constrained")
    palette = ListedColormap(["#0072B2", "#F0E442", "#009E73", "#D55E00"])
    for ax, (title, labels) in zip(np.atleast_1d(axes), maps.items()):
        ax.imshow(labels, cmap=palette, vmin=0, vmax=3, interpolation="nearest")
        ax.set(title=title, xticks=[], yticks=[])
    return axes


def plot_images(images, titles, columns=4):
    """Grey images in rows of so many columns, each with its title.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_digits
    >>> from ismlit_book.figures.plots import plot_images
    >>> digits = load_digits()
    >>> axes = plot_images(digits.images[:8], digits.target[:8])
    >>> [ax.get_title() for ax in axes.flat]
    ['0', '1', '2', '3', '4', '5', '6', '7']
    >>> plt.close()
    """
    rows = -(-len(images) // columns)
    size = (1.5 * columns, 1.7 * rows)
    _, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    for ax, image, title in zip(axes.flat, images, titles):
        ax.imshow(image, cmap="gray")
        ax.set_title(title, fontsize="small")
        ax.set(xticks=[], yticks=[])
    return axes
