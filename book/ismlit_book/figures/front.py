"""Pictures that are files: those of the front page's cards, and by which the project is shared.

``python -m ismlit_book.figures.front`` draws the three of the cards, the one that other sites show
with a link to this one, the one that moves, and the README's.
"""

import io

from ismlit_book.files import is_checkout, pages


def drawing(step, size=(12.0, 6.3)):
    """The front page's samples, both lines and the objective after `step` steps: a figure."""
    import matplotlib.pyplot as plt
    import numpy as np
    from ismlit.objectives.plain import Problem

    from ismlit_book.figures.live import (
        direction,
        example,
        published_path,
        safeguarded_path,
    )
    from ismlit_book.figures.plots import LINES, look

    X, y, gamma, kernel = example()
    problem = Problem(X, gamma, kernel)
    start = np.linalg.eigh(problem.phi_0())[1][:, -1:]
    figure, (left, right) = plt.subplots(1, 2, figsize=size, layout="constrained")
    for k in range(2):
        left.plot(*X[y == k].T, ls="", alpha=0.7, **(look(k + 2) | {"ms": 9}))
    grid = np.arange(0, 181, 2)
    height = np.array([problem.objective(direction(angle)) for angle in grid])
    right.plot(grid, 100 * height / height.max(), color="gray")
    paths = {"published": published_path, "with the level shift": safeguarded_path}
    for k, (name, path) in enumerate(paths.items()):
        angles = path(problem, start, step)
        colour = ("#D55E00", "#0072B2")[k]
        way = direction(angles[-1])[:, 0]
        left.axline((0, 0), way, color=colour, ls=LINES[1 - k], lw=4)
        share = [100 * problem.objective(direction(a)) / height.max() for a in angles]
        right.plot(angles, share, "o", color=colour, alpha=0.4)
        right.plot(angles[-1:], share[-1:], "o", color=colour, ms=16, label=name)
    left.set(xticks=[], yticks=[], aspect="equal")
    right.set(xlabel="angle of the line", ylabel="objective, percent", xticks=(0, 90, 180))
    right.legend(loc="upper right", fontsize="large")
    return figure


def compared():
    """Two rings among eight columns of noise by LDA, NCA and `SupervisedIKDR`: a figure."""
    import matplotlib.pyplot as plt
    import numpy as np
    from ismlit import SupervisedIKDR
    from ismlit.datasets import make_rings
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import scale
    from sklearn.svm import SVC

    from ismlit_book.figures.plots import look

    X, y, _ = make_rings(300, 10, random_state=0)
    X = scale(X)
    methods = {
        "LDA (one direction)": LinearDiscriminantAnalysis(),
        "NCA": NeighborhoodComponentsAnalysis(2, random_state=0),
        "SupervisedIKDR": SupervisedIKDR(2),
    }
    on_all = {"boosted trees": HistGradientBoostingClassifier(random_state=0), "an SVM": SVC()}
    right = lambda model: f"{100 * cross_val_score(model, X, y, cv=5).mean():.0f} %"
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
    words = " and ".join(f"{name} {right(model)}" for name, model in on_all.items())
    figure.supxlabel(f"on all ten columns {words}", fontsize="medium")
    for ax, (name, method) in zip(axes, methods.items()):
        Z = method.fit(X, y).transform(X)
        if Z.shape[1] == 1:
            Z = np.c_[Z, np.random.default_rng(0).uniform(size=len(Z))]
        for k in range(2):
            ax.plot(*Z[y == k].T, ls="", alpha=0.7, **(look(k) | {"ms": 4}))
        near = make_pipeline(method, KNeighborsClassifier(5))
        ax.set(xticks=[], yticks=[], title=f"{name}: {right(near)}")
    return figure


def cards():
    """The pictures of the front page's cards, {name: figure}: to learn, to use, to check."""
    import matplotlib.pyplot as plt
    import numpy as np
    from ismlit import Gaussian, SupervisedIKDR, gram
    from ismlit.datasets import make_rings
    from matplotlib.colors import ListedColormap

    from ismlit_book.figures.plots import look
    from ismlit_book.figures.verdict_bar import COLOURS
    from ismlit_book.record.ledger import VERDICTS, ledger

    size = dict(figsize=(3, 1.5), layout="constrained")
    X, y, _ = make_rings(120, 6, random_state=0)
    Z = SupervisedIKDR(2).fit_transform(X, y)
    order = np.lexsort((np.arctan2(*Z.T), y))  # around each ring
    learn, (left, right) = plt.subplots(1, 2, **size)
    left.imshow(gram(Gaussian(1.0), Z[order[::2]]), cmap="Blues")
    right.imshow(np.equal.outer(y[order[::2]], y[order[::2]]), cmap="Blues", vmax=1.4)
    use, (before, after) = plt.subplots(1, 2, **size)
    for ax, seen in ((before, X[:, -2:]), (after, Z)):
        for k in range(2):
            ax.plot(*seen[y == k].T, ls="", **(look(k) | {"ms": 2.5}))
        ax.set_box_aspect(1)
    check, ax = plt.subplots(**size)
    verdicts = [VERDICTS.index(claim.verdict) for claim in ledger().values()]
    across = 45
    wanted = across * -(-len(verdicts) // across)
    filled = np.array(verdicts + [np.nan] * (wanted - len(verdicts))).reshape(-1, across)
    palette = ListedColormap([COLOURS[verdict] for verdict in VERDICTS])
    ax.imshow(filled, cmap=palette, vmin=-0.5, vmax=len(VERDICTS) - 0.5)
    for figure in (learn, use, check):
        for ax in figure.axes:
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
    return {"learn": learn, "use": use, "check": check}


def picture(figure, dpi):
    """A figure as PNG of 64 colours, in bytes; it is closed."""
    import matplotlib.pyplot as plt
    from PIL import Image

    large, small = io.BytesIO(), io.BytesIO()
    figure.savefig(large, format="png", dpi=dpi)
    plt.close(figure)
    opaque = Image.open(large).convert("RGB")
    opaque.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(small, "png")
    return small.getvalue()


def draw(steps=9):
    """Write the cards' drawings, ``social.png``, ``turning.gif`` and ``three-methods.png``."""
    from PIL import Image

    from ismlit_book.figures.display import drawing as drawing_for_both

    if not is_checkout():
        raise SystemExit("no book here: run this in a clone of the repository")
    for name, figure in cards().items():
        path = pages() / "static" / f"card-{name}.svg"
        path.write_text(drawing_for_both(figure) + "\n", encoding="utf8")
    frames = []
    for step in range(steps + 1):
        figure = drawing(step)
        if step == 5:
            figure.savefig(pages() / "static" / "social.png", dpi=100)
        frames.append(Image.open(io.BytesIO(picture(figure, dpi=64))))
    (pages() / "static" / "three-methods.png").write_bytes(picture(compared(), dpi=100))
    first, *others = frames
    options = {"save_all": True, "append_images": others, "duration": 900, "loop": 0}
    first.save(pages() / "static" / "turning.gif", **options)


if __name__ == "__main__":
    draw()
