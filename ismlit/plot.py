"""Pictures of what was found: projections, importances, bandwidths of a search.

Every function takes axes of matplotlib, or makes some, and returns them: ``ax.set_title``,
``ax.figure.savefig`` go on from there. They need the extra ``ismlit[plot]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = "#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000 #332288 #999933 #882255".split()
"""Those of Okabe and Ito, and three more: they stay apart for colour-blind readers."""
MARKERS = "os^DvPX<>*"
MOST_ABOVE = 12  # With more classes the legend stands beside the picture, in columns.
ROWS_OF_LEGEND = 20
MOST_NUMBERS = 20  # Numbers with more distinct values are drawn by a colour bar.


def look(k: int) -> dict[str, Any]:
    """Colour and marker of the k-th class: no two of 100 are alike, no two colours of ten.

    Parameters
    ----------
    k : int

    Returns
    -------
    dict
        With ``color`` and ``marker``.

    Examples
    --------
    >>> from ismlit.plot import look
    >>> len({tuple(look(k).values()) for k in range(100)})
    100
    """
    return dict(color=COLOURS[k % 10], marker=MARKERS[(k + k // 10) % 10])


def plot_projection(
    Z: ArrayLike,
    y: ArrayLike | None = None,
    names: Sequence[str] | Mapping[Any, str] | None = None,
    ax: Axes | None = None,
    *,
    held_out: tuple[ArrayLike, ArrayLike] | None = None,
) -> Axes:
    """Draw projected rows, by class or by the value of a response.

    Parameters
    ----------
    Z : array of shape (n, 2) or (n, 1)
        What `transform` gives; one column is drawn against a random height.
    y : array of shape (n,), optional
        Classes, each with its colour and marker; or numbers, with a colour bar: fractions, and
        whole ones with more than 20 distinct values. Where it is None, NaN or NA, a row is grey.
    names : sequence or dict, optional
        Of the classes, for the legend: in their sorted order, or from class to name.
    ax : matplotlib axes, optional
    held_out : (Z, y), optional
        Rows that were not fitted, laid over the others, with a black edge.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        If Z has more than two columns, y another length, or a class no name.

    See Also
    --------
    plot_importances : which columns of X made the axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import SupervisedIKDR
    >>> from ismlit.plot import plot_projection
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SupervisedIKDR(2).fit(X[::2], y[::2])
    >>> new = model.transform(X[1::2]), y[1::2]
    >>> ax = plot_projection(model.transform(X[::2]), y[::2], held_out=new)
    >>> ax.get_legend_handles_labels()[1]
    ['0', '1', '2', 'held out']
    >>> plt.close()
    """
    ax = _axes(ax)
    parts: list[Any] = [(*_checked(Z, y, "Z"), {})]
    if held_out is not None:
        edge = dict(edgecolors="black", linewidths=0.9, zorder=3)
        parts.append((*_checked(*held_out, "held_out"), edge))
    targets = np.concatenate([target for _, target, _ in parts])  # numbers beside words are words
    known = np.array([not _is_gap(value) for value in targets], dtype=bool)
    values = targets[known]
    if values.dtype == object:
        values = np.array(values.tolist())
    labels, codes = np.unique(values, return_inverse=True)
    continuous = values.dtype.kind in "iuf" and (
        bool((values % 1).any()) or len(labels) > MOST_NUMBERS
    )
    words = [] if continuous else named(labels, names).values()
    drawn_by = np.zeros(len(targets))
    drawn_by[known] = values if continuous else codes
    first = [len(parts[0][0])]
    for (points, _, style), hue, sure in zip(
        parts, np.split(drawn_by, first), np.split(known, first)
    ):
        if continuous:
            limits: Any = dict(vmin=values.min(), vmax=values.max(), cmap="viridis")
            drawn = ax.scatter(
                points[sure, 0], points[sure, 1], 14, hue[sure], alpha=0.8, **limits, **style
            )
        for k, name in enumerate(words):
            label = None if style or y is None else _shown(name)
            here = sure & (hue == k)
            ax.scatter(
                points[here, 0], points[here, 1], 14, alpha=0.7, label=label, **look(k), **style
            )
        if not known.all():
            label = None if style else "unknown"
            ax.scatter(
                points[~sure, 0], points[~sure, 1], 14, color="0.7", alpha=0.7, label=label, **style
            )
    if continuous:
        ax.figure.colorbar(drawn, ax=ax)
    if held_out is not None:
        ax.scatter([], [], 14, color="white", label="held out", edgecolors="black")
    second = "component 2" if np.shape(Z)[1] == 2 else "(jitter)"
    ax.set(xlabel="component 1", ylabel=second)
    return _legend(ax)


def plot_importances(
    model: Any,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    *,
    errors: Any = None,
    top: int = 15,
) -> Axes:
    """Draw the columns of X that count most, as bars, the largest on top.

    Parameters
    ----------
    model : fitted estimator, Pipeline, or array of shape (n_features,)
        With ``feature_importances_``, which the last step of a pipeline has; or what is to be
        drawn.
    names : sequence of str, optional
        Of the columns; by default those of the table that was fitted, or their numbers.
    ax : matplotlib axes, optional
    errors : Bunch or array of shape (n_features,), optional
        What `ismlit.bootstrap_importances` gives, or standard errors: drawn as bars of one.
    top : int, default=15
        Most columns drawn.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    TypeError
        If an estimator has no ``feature_importances_``.
    ValueError
        If names or errors are not one for each column, or top is below 1.

    See Also
    --------
    ismlit.bootstrap_importances : where the errors come from.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit import SupervisedIKDR
    >>> from ismlit.plot import plot_importances
    >>> wine = load_wine()
    >>> model = SupervisedIKDR(2).fit(scale(wine.data), wine.target)
    >>> ax = plot_importances(model, wine.feature_names, top=5)
    >>> [label.get_text() for label in ax.get_yticklabels()][::-1][:2]
    ['flavanoids', 'proline']
    >>> plt.close()
    """
    if top < 1:
        raise ValueError(f"top must be at least 1, the number of columns drawn, got {top!r}")
    pipeline: Any = None
    if isinstance(model, Pipeline):
        pipeline, model = model, model[-1]
    if hasattr(model, "fit"):
        check_is_fitted(model)
    try:
        values = np.asarray(getattr(model, "feature_importances_", model), dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{type(model).__name__} has no feature_importances_: pass an estimator that has them, "
            "or an array with one number for each column"
        ) from error
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None and hasattr(pipeline, "feature_names_in_"):
        with suppress(AttributeError):  # a step that gives its columns no names
            names = pipeline[:-1].get_feature_names_out()
    if names is None:
        names = [f"column {j}" for j in range(len(values))]
    errors = getattr(errors, "importances_std", errors)
    for word, given in (("names", names), ("errors", errors)):
        if given is not None and len(given) != len(values):
            raise ValueError(
                f"{word} must be one for each of {len(values)} columns, got {len(given)}"
            )
    order = np.argsort(values, kind="stable")[-top:]
    ax = _axes(ax, (5.2, 1 + 0.25 * len(order)))
    bars = None if errors is None else np.asarray(errors)[order]
    ax.barh(range(len(order)), values[order], xerr=bars, color=COLOURS[0], ecolor="0.3", capsize=2)
    ax.set_yticks(range(len(order)), [str(names[j]) for j in order], fontsize="small")
    ax.set_xlabel("importance")
    return ax


def named(labels, names=None):
    """Return a name for each label, and refuse a list that cannot be one of names.

    Parameters
    ----------
    labels : array of shape (k,)
        The labels, sorted.
    names : sequence or mapping, optional
        Their names in the same order, or by label; the labels themselves when None.

    Returns
    -------
    dict
        A name for each label.

    Examples
    --------
    >>> import numpy as np
    >>> from ismlit.plot import named
    >>> named(np.array([0, 1]), ["no", "yes"])
    {np.int64(0): 'no', np.int64(1): 'yes'}
    """
    if isinstance(names, Mapping):
        nameless = [str(label) for label in labels if label not in names]
        if nameless:
            raise ValueError(
                f"names must have one for each label, and has none for {', '.join(nameless)}, but "
                f"for {[*names]}"
            )
        return {label: names[label] for label in labels}
    shown, classes = (
        list(map(str, words)) for words in (labels if names is None else names, labels)
    )
    if len(shown) != len(classes) or (shown != classes and sorted(shown) == sorted(classes)):
        raise ValueError(
            f"names must be one for each label, in their sorted order, {classes}, got {shown}: "
            "leave them out, or give a dict from label to name"
        )
    return dict(zip(labels, shown))


def _is_gap(value):
    """Whether a label is None, NaN, NaT or NA: what pandas calls NA is equal to nothing."""
    return type(value).__name__ in ("NoneType", "NAType") or bool(value != value)


def _shown(name):
    """A name as a legend shows it: matplotlib leaves out those that begin with an underscore."""
    return f" {name}" if name[:1] in ("", "_") else name


def _checked(Z, y, name):
    """Points (n, 2), one column of them random where there is one, and what colours them (n,)."""
    Z = np.asarray(Z)
    if Z.ndim != 2 or not 1 <= Z.shape[1] <= 2:
        raise ValueError(
            f"{name} must have one or two columns to be drawn, got shape {Z.shape}: choose two, as "
            "in Z[:, :2], the two that carry the most dependence"
        )
    y = np.zeros(len(Z), dtype=int) if y is None else np.asarray(y)
    if y.shape != (len(Z),):
        raise ValueError(f"y must have one entry for each of {len(Z)} rows, got shape {y.shape}")
    if Z.shape[1] == 1:
        Z = np.column_stack([Z, np.random.default_rng(0).uniform(-1, 1, len(Z))])
    return Z, y


def _legend(ax):
    """The legend in a strip of its own above the points; of many classes beside them."""
    words = ax.get_legend_handles_labels()[1]
    room = dict(fontsize="small", frameon=False, columnspacing=1, handletextpad=0.2)
    if len(words) > MOST_ABOVE:
        columns = -(-len(words) // ROWS_OF_LEGEND)
        ax.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), ncols=columns, **room)
    elif words:
        columns = max(1, min(len(words), 36 // (5 + max(map(len, words)))))
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.1 * -(-len(words) // columns) * (high - low))
        ax.legend(loc="upper center", ncols=columns, borderaxespad=0.2, **room)
    return ax


def _axes(ax, size=(5.0, 3.2)):
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("ismlit.plot draws by matplotlib: pip install 'ismlit[plot]'") from error
    return plt.subplots(figsize=size, layout="constrained")[1]
