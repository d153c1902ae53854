"""One page on a table: how well a projection predicts, which columns count, and is it chance."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ismlit.estimators.importance import bootstrap_importances
from ismlit.solvers.certificate import Certificate
from ismlit.statistics import DependenceTest, dependence_test

MOST_SHOWN = 10
"""Columns in the text and the picture."""


@dataclass(frozen=True)
class Report:
    """What `SupervisedIKDR.report` and `ResponseIKDR.report` give.

    Attributes
    ----------
    model : object
        The estimator, fitted to all rows.
    names : list of str
        Of the columns of X.
    metric : str
        "accuracy", or "R²" of a response.
    scores : dict of arrays of shape (n_folds,)
        On held-out rows: of nearest neighbours in the projection, of a linear model of all columns,
        and of boosted trees.
    importances : dict
        What `ismlit.bootstrap_importances` gives.
    certificate : Certificate
        Of the fit to all rows.
    test : DependenceTest
        Of y and all columns of X.
    projection : array of shape (n_samples, n_components)
    target : array of shape (n_samples,)
        What is drawn.

    See Also
    --------
    ismlit.SupervisedIKDR.report : what the numbers are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ismlit import SupervisedIKDR
    >>> report = SupervisedIKDR(1, init="taylor").report(*load_iris(return_X_y=True), n_resamples=5)
    >>> [name for name, values in report.scores.items() if values.mean() > 0.9]
    ['5 neighbours after SupervisedIKDR', 'linear model', 'boosted trees']
    """

    model: Any
    names: list[str]
    metric: str
    scores: dict[str, np.ndarray]
    importances: Any
    certificate: Certificate
    test: DependenceTest
    projection: np.ndarray = field(repr=False)
    target: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        folds = len(next(iter(self.scores.values())))
        width = max(map(len, [*self.scores, *self.names]))
        lines = [f"{self.metric} on {folds} folds: mean, standard deviation"]
        for name, values in self.scores.items():
            lines.append(f"  {name:{width}} {values.mean():.2f}  {values.std(ddof=1):.2f}")
        importances, errors = self.model.feature_importances_, self.importances.importances_std
        lines.append("importances: share, standard error")
        for j in importances.argsort()[::-1][:MOST_SHOWN]:
            lines.append(f"  {self.names[j]:{width}} {importances[j]:.2f}  {errors[j]:.2f}")
        return "\n".join([*lines, str(self.test), str(self.certificate)])

    def plot(self) -> Any:
        """Draw the first two components, and the columns that count most with their errors.

        Returns
        -------
        matplotlib figure
        """
        from matplotlib.figure import Figure

        from ismlit.plot import plot_importances, plot_projection

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        plot_projection(self.projection[:, :2], self.target, ax=left)
        shown = dict(errors=self.importances, top=MOST_SHOWN)
        plot_importances(self.model, self.names, right, **shown)
        return figure

    def _repr_html_(self) -> str:
        picture = BytesIO()
        self.plot().savefig(picture, format="png")
        data = b64encode(picture.getvalue()).decode()
        return (
            f'<pre>{escape(str(self))}</pre><img alt="projection and importances" '
            f'src="data:image/png;base64,{data}">'
        )


def report(model, X, y, n_resamples, random_state):
    """The `Report` of an estimator that is fitted anew to X (n, d) and y (n,)."""
    fitted = clone(model).fit(X, y)
    names = getattr(fitted, "feature_names_in_", [f"column {j}" for j in range(len(fitted.W_))])
    judges = KNeighborsClassifier(5), LogisticRegression(max_iter=2000)
    trees, folds, metric = HistGradientBoostingClassifier, StratifiedKFold, "accuracy"
    if not hasattr(fitted, "classes_"):
        judges, trees = (KNeighborsRegressor(5), RidgeCV()), HistGradientBoostingRegressor
        folds, metric = KFold, "R²"
    rivals = {
        f"5 neighbours after {type(model).__name__}": (clone(model), judges[0]),
        "linear model": (StandardScaler(), judges[1]),
        "boosted trees": (trees(random_state=random_state),),
    }
    cut = folds(5, shuffle=True, random_state=random_state)
    scores = {
        name: cross_val_score(make_pipeline(*steps), X, y, cv=cut) for name, steps in rivals.items()
    }
    options = dict(n_resamples=n_resamples, random_state=random_state)
    return Report(
        model=fitted,
        names=[str(name) for name in names],
        metric=metric,
        scores=scores,
        importances=bootstrap_importances(fitted, X, y, **options),
        certificate=fitted.certificate(),
        test=dependence_test(X, y, random_state=random_state),
        projection=fitted.transform(X),
        target=np.asarray(y),
    )
