"""Networks of chapters 4 and 6 as the thesis describes them, beside the library's own."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from ismlit.kernels import Gaussian
from ismlit.network import KernelDependenceNetwork
from ismlit.pairs import squared_distances
from ismlit.solver import published_ism


@dataclass(eq=False, repr=False)
class PublishedNetwork(KernelDependenceNetwork):
    """Algorithm 5 with the bandwidth of a layer from its input, as Appendix D.11 has it.

    Every layer is kept, as wide as `LayerSolver.wide` says, with the last point of plain ISM
    (tolerance 0.01, at most 50 steps, whatever `tol` and `max_iter` say); HSIC may fall.
    Parameters and attributes are those of `ismlit.KernelDependenceNetwork`, but ``ridge_`` is None.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from ismlit.edition.networks import PublishedNetwork
    >>> X, y = load_wine(return_X_y=True)
    >>> [layer.W.shape[1] for layer in PublishedNetwork(threshold=0.9).fit(scale(X), y).layers_]
    [11, 90, 51]
    """

    _: KW_ONLY
    early_stopping: bool = False

    def _network(self, solver, R, features, ridges):
        self.ridge_, back, layers, Z = None, None, [], None
        while not layers or self._goes_on(layers):
            if layers:
                features, R, back = solver.lift(Z, layers[-1].kernel)
            hsic, sigma, W = self._solved(solver, R)
            layer, Z = solver._layer(features, R, back, hsic, sigma, W)
            layers.append(layer)
        return layers, Z

    def _solved(self, solver, R):
        """sigma from the input of a layer, then plain ISM: (H, sigma, W)."""
        sigma, _ = solver.bandwidth(R)
        W = plain_ism(solver, R, sigma)
        squares = squared_distances((R @ W)[solver.sample])
        return solver.score(Gaussian(sigma).f(squares)), sigma, W


def plain_ism(solver, R, sigma):
    """The last point of ISM as printed, on the features R of a layer."""
    options = dict(init="taylor", tol=1e-2, max_iter=50)
    return solver._solved(published_ism, R, solver.gamma, sigma, solver.wide(R), **options)
