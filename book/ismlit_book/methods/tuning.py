"""Which bandwidth, penalty and q for KDAC: a grid of fits, and the rules of section 3.5."""

import warnings
from dataclasses import dataclass, field

import numpy as np
from ismlit import ConstantKernelError, gram, median_distance, normalized_hsic
from ismlit.estimators.clusters import embedding_silhouette
from ismlit.estimators.kdac import KDAC, clusterings, to_differ_from
from ismlit.estimators.linear import FLOATS
from ismlit.objectives.joint import JointProblem
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_array

from ismlit_book.methods.bounds import bound_310


@dataclass(frozen=True, eq=False)
class Search:
    """What `search` tried.

    Attributes
    ----------
    rows : list of dict
        One per pair: ``sigma``, ``penalty``, ``quality``, ``known_nmi``, ``silhouette`` (of the
        labels in the embedding; -1 where a cluster is tiny), ``alignment``, ``bound``
        (the left side of (3.10) over its right side: met from 1 on; negative where W is not the
        dominant eigenspace of Phi), ``q by gap`` (the q at which the eigengap (3.11) of Phi is
        widest, among its positive eigenvalues: directions that do harm are not to be kept),
        ``labels``.
    best : int
        The row chosen.
    model : KDAC
        Fitted with it.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.datasets import make_four_gaussians
    >>> from ismlit_book.methods.tuning import search
    >>> X, known, _ = make_four_gaussians(100, random_state=0)
    >>> found = search(scale(X), known, sigmas=[0.5, 1.0], penalties=[2.0], random_state=0)
    >>> found.chosen["sigma"], [round(float(row["silhouette"]), 2) for row in found.rows]
    (0.5, [0.93, 0.86])
    """

    rows: list = field(repr=False)
    best: int
    model: KDAC

    @property
    def chosen(self):
        """The row chosen, without its labels."""
        return {key: v for key, v in self.rows[self.best].items() if key != "labels"}


CRITERIA = ("silhouette", "alignment", "thesis")
PENALTIES = (0.5, 2.0, 8.0)


def search(
    X,
    y,
    n_clusters=2,
    *,
    sigmas=None,
    penalties=PENALTIES,
    rule="silhouette",
    n_jobs=None,
    **options,
):
    """Fit `ismlit.KDAC` with a Gaussian kernel over a grid of bandwidths and penalties, and choose.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,) or (n, m)
        What is known.
    n_clusters, **options
        As for `ismlit.KDAC`, which takes its other parameters from here.
    sigmas : sequence of float, optional
        In units of X; by default the median distance times 2, 1, 1/2, ..., 1/32.
    penalties : sequence of float, default=(0.5, 2, 8)
    rule : {"silhouette", "alignment", "thesis"}
        "silhouette": the labels that stand apart best in the embedding U, as `KDAC` itself chooses.
        "alignment": the largest normalised HSIC (eq-6.14) of the kernel with the
        labels found, minus that with the known ones; it misses curved clusters. "thesis": among the
        pairs that satisfy (3.10) the highest quality; if there are none, the pair closest to
        it, fitted again with the q of the widest eigengap (sec. 3.5).
    n_jobs : int, optional
        Fits run at once.

    Returns
    -------
    Search

    Raises
    ------
    ValueError
        If no pair could be fitted, or an argument makes no sense.

    Notes
    -----
    Claims: txt-3.5-tuning, eq-3.10, eq-3.11. No rule that sees no labels is always right: look
    at ``rows``.

    Examples
    --------
    >>> from sklearn.metrics import normalized_mutual_info_score
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.datasets import make_four_gaussians
    >>> from ismlit_book.methods.tuning import search
    >>> X, known, other = make_four_gaussians(100, random_state=0)
    >>> found = search(scale(X), known, sigmas=[0.5, 1.0], random_state=0)
    >>> round(float(normalized_mutual_info_score(other, found.model.labels_)), 2)
    1.0
    """
    if rule not in CRITERIA:
        raise ValueError(f"rule must be one of {CRITERIA}, got {rule!r}")
    if y is None or n_clusters < 2:
        raise ValueError("search needs a known clustering y, and at least 2 clusters to look for")
    X = check_array(X, dtype=FLOATS, ensure_min_samples=2, ensure_min_features=2)
    known = clusterings(y, len(X))
    sigmas = median_distance(X) * 2.0 ** np.arange(1, -6, -1) if sigmas is None else sigmas
    sigmas, penalties = np.atleast_1d(sigmas), np.atleast_1d(penalties)
    if not (sigmas.size and penalties.size):
        raise ValueError("sigmas and penalties must hold at least one number each")
    calls = (
        delayed(_tried)(KDAC(n_clusters, bandwidth=float(s), penalty=w, **options), X, known)
        for s in sigmas
        for w in penalties
    )
    found = [pair for pair in Parallel(n_jobs)(calls) if pair is not None]
    if not found:
        raise ValueError(
            "no pair could be fitted: every bandwidth tried is far too small or far too large"
        )
    rows = [row for _, row in found]
    best = max(range(len(rows)), key=lambda i: _preference(rows[i], rule))
    model, row = found[best]
    if rule == "thesis" and row["bound"] < 1 and row["q by gap"] != model.W_.shape[1]:
        model = clone(model).set_params(n_components=row["q by gap"]).fit(X, known)
    return Search(rows, best, model)


def _preference(row, rule):
    if rule != "thesis":
        return (row[rule],)
    met = row["bound"] >= 1
    return met, row["quality"] if met else row["bound"]


def _tried(model, X, known):
    """The model fitted, and its row; None where the kernel is constant on the data."""
    with warnings.catch_warnings(action="ignore"):  # some corners of a grid need not converge
        try:
            return model, _row(model.fit(X, known), X, known)
        except ConstantKernelError:
            return None


def _row(model, X, known):
    """What `Search` reports of a fitted model."""
    W, centred = model.W_, X - model.mean_
    guide = to_differ_from(known, model.penalty)
    problem = JointProblem(centred, model.kernel_, "centred", guide).given(model.embedding_)
    frozen = problem.frozen(W)
    phi = frozen.phi(W)
    eigenvalues = np.linalg.eigvalsh(phi)[::-1]
    useful = max(int((eigenvalues > 0).sum()), 1)
    bound = bound_310(frozen, W)
    root = np.sqrt(problem.degrees(W))
    K = gram(model.kernel_, centred, W) / np.outer(root, root)
    agreement = [normalized_hsic(K, column) for column in (model.labels_, *known.T)]
    return {
        "sigma": model.kernel_.sigma,
        "penalty": float(model.penalty),
        "quality": float(model.quality_),
        "known_nmi": float(model.known_nmi_),
        "silhouette": float(embedding_silhouette(model.embedding_, model.labels_)),
        "alignment": float(agreement[0] - max(agreement[1:])),
        "bound": float(bound.left / bound.right),
        "q by gap": int(np.argmax(-np.diff(eigenvalues)[:useful])) + 1,
        "labels": model.labels_,
    }
