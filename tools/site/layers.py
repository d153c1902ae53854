"""A graph drawn in columns, from what rests on nothing to what rests on most: Sugiyama's way.

Every link goes from the right side of a box to the left side of one in a later column, and passes
the columns between in a lane of its own, so that no line crosses a box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

HEIGHT, GAP = 24.0, 7.0
"""Of a box, and between two boxes of a column, in pixels."""
LANE = 6.0  # height of a line that passes a column, in pixels
BETWEEN = 46.0  # width of the space between two columns, where lines bend
LETTER, MARGIN = 7.4, 24.0  # width of a letter, and of the space around a label


@dataclass(frozen=True)
class Drawing:
    """Boxes {name: (left, top, width)}, lines {(from, to): path}, and the size of the whole."""

    boxes: dict
    lines: dict
    width: float
    height: float


def draw(labels, uses):
    """Draw a graph.

    Parameters
    ----------
    labels : dict
        {name: what stands in its box}, in reading order.
    uses : dict
        {name: names of what it rests on}; no cycles. Links that follow from others are left out.

    Returns
    -------
    Drawing

    Examples
    --------
    >>> from tools.site.layers import draw
    >>> drawing = draw({"a": "A", "b": "B", "c": "C"}, {"b": ["a"], "c": ["a", "b"]})
    >>> sorted(drawing.lines), drawing.boxes["a"][0] < drawing.boxes["b"][0]
    ([('a', 'b'), ('b', 'c')], True)
    """
    uses = reduced({name: [u for u in uses.get(name, ()) if u in labels] for name in labels})
    column = columns(uses)
    chains = {  # {(source, target): the lanes it passes, each in its column, and the target}
        (a, b): [*((a, at) for at in range(column[a] + 1, column[b])), b]
        for b, used in uses.items()
        for a in used
    }
    at = {name: column[name] for name in labels}
    at |= {lane: lane[1] for chain in chains.values() for lane in chain[:-1]}
    beside = {item: set() for item in at}
    for (source, _), chain in chains.items():
        for a, b in zip([source, *chain], chain):
            beside[a].add(b)
            beside[b].add(a)
    order = _ordered(at, beside)
    size = lambda item: HEIGHT if item in labels else LANE
    middle = _heights(order, beside, size)
    width = {name: LETTER * len(label) + MARGIN for name, label in labels.items()}
    widest = [max([width[item] for item in items if item in labels]) for items in order]
    left = np.cumsum([0, *(w + BETWEEN for w in widest)]).tolist()
    boxes = {n: (left[at[n]], middle[n] - HEIGHT / 2, width[n]) for n in labels}
    lines = {}
    for (source, target), chain in chains.items():
        start = boxes[source][0] + boxes[source][2]
        edge = left[at[source]] + widest[at[source]]
        path = [f"M{start:.0f} {middle[source]:.0f}H{edge:.0f}"]
        before = middle[source]
        for item in chain:
            x, here = left[at[item]], middle[item]
            bend = x - BETWEEN / 2
            path.append(f"C{bend:.0f} {before:.0f} {bend:.0f} {here:.0f} {x:.0f} {here:.0f}")
            if item not in labels:
                path.append(f"H{x + widest[at[item]]:.0f}")
            before = here
        lines[source, target] = "".join(path)
    bottom = max(middle.values(), default=0) + HEIGHT
    return Drawing(boxes, lines, left[-1] - BETWEEN, bottom)


def reduced(uses):
    """The links that do not follow from others: {name: names of what it rests on}."""
    below = {}
    for name in _upwards(uses):
        below[name] = set(uses[name]).union(*(below[used] for used in uses[name]))
    return {
        name: [u for u in dict.fromkeys(used) if not any(u in below[other] for other in used)]
        for name, used in uses.items()
    }


def _upwards(uses):
    from graphlib import TopologicalSorter

    return list(TopologicalSorter(uses).static_order())


def columns(uses):
    """{name: its column}: behind all that it rests on; what rests on nothing, near its users."""
    column = {}
    for name in _upwards(uses):
        column[name] = 1 + max((column[used] for used in uses[name]), default=-1)
    users = {name: [] for name in uses}
    for name, used in uses.items():
        for other in used:
            users[other].append(name)
    for name in reversed(_upwards(uses)):
        if not uses[name] and users[name]:
            column[name] = min(column[user] for user in users[name]) - 1
    first = min(column.values(), default=0)
    return {name: at - first for name, at in column.items()}


def _ordered(column, beside):
    """The items of each column, ordered so that few lines cross: by their neighbours' mean."""
    order = [[] for _ in range(1 + max(column.values(), default=-1))]
    for item, at in column.items():
        order[at].append(item)
    for sweep in range(12):
        place = {item: i / len(items) for items in order for i, item in enumerate(items)}
        step = 1 if sweep % 2 == 0 else -1
        for at in range(len(order))[::step]:
            mean = {}
            for item in order[at]:
                seen = [place[b] for b in beside[item] if column[b] == at - step]
                mean[item] = sum(sorted(seen)) / len(seen) if seen else place[item]
            order[at].sort(key=mean.__getitem__)
            place |= {item: i / len(order[at]) for i, item in enumerate(order[at])}
    return order


def _heights(order, beside, size):
    """The middle of each item: near its neighbours, in its order, and nothing on another."""
    middle, away = {}, {}  # the second: of each item from the first of its column, at least
    for items in order:
        at = 0.0
        for before, item in zip([None, *items], items):
            at += (size(before) + size(item)) / 2 + GAP if before is not None else 0.0
            away[item] = middle[item] = at
    for _ in range(30):
        for items in order:
            wished = [
                np.mean(sorted(middle[b] for b in beside[i])) if beside[i] else middle[i]
                for i in items
            ]
            free = isotonic_regression(np.array(wished) - [away[i] for i in items])
            middle |= {item: at + away[item] for item, at in zip(items, free.x.tolist())}
    top = min(middle.values(), default=0) - HEIGHT
    return {item: at - top for item, at in middle.items()}
