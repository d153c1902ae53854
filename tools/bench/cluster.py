"""The same call on a Dask cluster of two local workers: what it costs, and from where it pays."""

import numpy as np
from joblib import parallel_config

from ismlit.edition.experiments.scaling import make_classes
from ismlit.problems.bandwidth import median_distance
from ismlit.problems.gamma import label_gamma
from ismlit.problems.kernels import Gaussian
from ismlit.problems.problem import Problem
from tools.bench.rows import Row, take_turns

SIZES = 1000, 4000, 12_000


def rows(quick):
    """One pass on one thread, two threads, and two worker processes."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster):
            for n in SIZES[: 2 if quick else None]:
                X, y = make_classes(n, 50, 4)
                problem = Problem(X, label_gamma(y), Gaussian(median_distance(X)), n_jobs=2)
                W = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 3)))[0]

                def on_dask(problem=problem, W=W):
                    with parallel_config(backend="dask"):
                        return problem.objective_and_phi(W)

                runs = {"threads": lambda p=problem, W=W: p.objective_and_phi(W), "dask": on_dask}
                best = take_turns(runs, 3, f"Dask, n = {n}")
                seconds = best["dask"] - best["threads"]
                note = f"{1000 * seconds:.0f} ms more a pass"
                work = f"a pass on two Dask workers / on two threads, n = {n}"
                yield Row(work, best["dask"] / best["threads"], note=note)
