"""Other solvers of the same problem, with the signature and result type of `ism`.

All share the fast objective and gradient of `ismlit.phi`, so that algorithms are compared,
not implementations.
"""

from __future__ import annotations

import numpy as np

from ismlit.grassmann import first_order_residual
from ismlit.ism import ISMResult, canonical_frame, starting_point
from ismlit.phi import Problem


def grassmann_trust_region(
    X,
    gamma,
    kernel,
    q,
    *,
    init="taylor",
    tol=1e-6,
    max_iter=200,
    n_jobs=None,
    random_state=None,
):
    """Riemannian trust region on Gr(q, d) with exact Hessian products (Boumal & Absil 2011).

    Parameters and result as for `ismlit.ism.ism`; needs pymanopt
    (``pip install 'ismlit[book]'``). `n_phi` counts objectives, gradients and Hessian products,
    each one pass over the pairs; a gradient at the point of the last objective is free.
    """
    try:
        import pymanopt
        from pymanopt.manifolds import Grassmann
        from pymanopt.optimizers import TrustRegions
    except ImportError as error:
        raise ImportError(
            "grassmann_trust_region needs pymanopt: pip install 'ismlit[book]'"
        ) from error

    problem = Problem(X, gamma, kernel, n_jobs=n_jobs)
    start = starting_point(problem, q, init, random_state).astype(float)
    manifold, memory, objectives = Grassmann(problem.d, q), {}, []

    def at(W):
        key = W.tobytes()
        if key not in memory:
            memory.clear()
            memory[key] = problem.objective_and_phi(W)
        return memory[key]

    @pymanopt.function.numpy(manifold)
    def cost(W):
        return -at(W)[0]

    @pymanopt.function.numpy(manifold)
    def gradient(W):
        objectives.append(at(W)[0])
        return -2 * at(W)[1] @ W

    @pymanopt.function.numpy(manifold)
    def hessian(W, Z):
        return -2 * (at(W)[1] @ Z + problem.phi_derivative(W, Z[None])[0])

    scale = np.linalg.norm(2 * at(start)[1] @ start)
    optimizer = TrustRegions(
        max_iterations=max_iter, min_gradient_norm=tol * scale, max_time=np.inf, verbosity=0
    )
    found = optimizer.run(
        pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian),
        initial_point=start,
    )
    J, phi = at(found.point)
    eigenvalues, W = canonical_frame(phi, found.point)
    residual = first_order_residual(phi, W)
    return ISMResult(
        W=W,
        eigenvalues=eigenvalues,
        objective=J,
        residual=residual,
        converged=residual <= 10 * tol,
        n_iter=found.iterations,
        n_phi=problem.count.passes,
        message=found.stopping_criterion,
        history={"objective": np.array(objectives)},
        problem=problem,
    )
