"""``SCIPY_ARRAY_API=1 python -m tools.bench.gpu OUT``: the exact problem on a GPU, by torch.

For each size: seconds of one pass (J and its gradient), of the products and exponentials that no
pass can do without, and of a whole fit, there and in numpy on all processors; the most memory; and
what single precision changes. What numpy would take too long for is extrapolated and marked so: a
pass by the square of the rows, a fit by its number of passes.
"""

import argparse
import json
import os
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn import config_context

from ismlit import Gaussian, Problem, SupervisedIKDR, label_gamma
from ismlit.objectives.arrays import GPU_TILE, ArrayProblem, Place, to_numpy

COLUMNS, CLASSES, Q = 50, 10, 2
SIZES = 10_000, 100_000, 300_000
CPU_SECONDS = 60  # the time that numpy has for one number
ALL_SECONDS = 225  # no measurement is begun later


def example(n):
    """Rows in ten sectors of a plane, and a frame near that plane."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, COLUMNS))
    plane = np.linalg.qr(rng.standard_normal((COLUMNS, Q)))[0]
    angles = np.arctan2(*(X @ plane).T)
    y = np.digitize(angles, np.linspace(-np.pi, np.pi, CLASSES + 1)[1:-1])
    return X, y, np.linalg.qr(plane + 0.05 * rng.standard_normal(plane.shape))[0]


def seconds(run, turns=1):
    """The least time of some turns, and what the last one gave."""
    best = np.inf
    for _ in range(turns):
        start = time.perf_counter()
        found = run()
        best = min(best, time.perf_counter() - start)
    return best, found


def library(device):
    """Torch, where it is installed, else numpy; as scikit-learn sees it."""
    if find_spec("torch") is None:
        return Place(np)
    import torch
    from sklearn.utils._array_api import get_namespace

    with config_context(array_api_dispatch=True):
        return Place(get_namespace(torch.zeros(1))[0], device)


def name_of(device):
    """What the GPU is called; None without one."""
    if device != "cuda":
        return None
    import torch

    return torch.cuda.get_device_name()


def memory(device, reset=False):
    """The most gigabytes of the GPU that were in use; None without one."""
    if device != "cuda":
        return None
    import torch

    if reset:
        torch.cuda.reset_peak_memory_stats()
    return torch.cuda.max_memory_allocated() / 1e9


def floor(X, W, place):
    """Half of all exponentials, and their products with three columns, on the same tiles."""
    xp, n = place.xp, len(X)
    left, right = place.put(X @ W), place.put(np.ascontiguousarray((X @ W).T))
    V, total = place.put([np.ones((n, Q + 1), X.dtype)] * 2)
    for a in range(0, n, GPU_TILE):
        for b in range(a, n, GPU_TILE):
            E = xp.exp(left[a : a + GPU_TILE, :] @ right[:, b : b + GPU_TILE])
            total[a : a + GPU_TILE, :] += E @ V[b : b + GPU_TILE, :]
    return to_numpy(total)


def measured(n, place, device, last):
    """All numbers of one size; `last` holds the seconds of a pass of numpy, and its rows."""
    X, y, W = example(n)
    row, given = dict(n=n), (label_gamma(y), Gaussian(np.sqrt(2.0)))
    ends = {}
    for dtype in ("float64", "float32"):
        problem = ArrayProblem(X.astype(dtype), *given, place=place)
        frame = W.astype(dtype)
        problem.objective_and_gradient(frame)  # the first call prepares
        memory(device, reset=True)
        row[f"pass {dtype}"], ends[dtype] = seconds(
            lambda p=problem, frame=frame: p.objective_and_gradient(frame), 3
        )
        row[f"pass {dtype}, GB"] = memory(device)
        row[f"floor {dtype}"] = seconds(lambda p=problem, f=frame: floor(p.X, f, place), 2)[0]
        rows, labels = (place.put(a) for a in (X.astype(dtype), y))
        with config_context(array_api_dispatch=place.xp is not np):
            row[f"fit {dtype}"], model = seconds(lambda r=rows, l=labels: fitted(r, l))
        row[f"fit {dtype}, passes"] = int(model.result_.n_passes)
        row[f"fit {dtype}, converged"] = bool(model.converged_)
        row[f"fit {dtype}, GB"] = memory(device)
        print(f"{time.strftime('%X')} {row}", flush=True)
    (J, G), (J32, G32) = ends["float64"], ends["float32"]
    chord = G / np.linalg.norm(G) - G32 / np.linalg.norm(G32.astype(float))
    row["float32, relative error of J"] = abs(J32 / J - 1)
    row["float32, degrees of the gradient"] = float(np.degrees(np.linalg.norm(chord)))
    problem = Problem(X, *given)
    of_pass, size = last or (0.0, n)
    numpy_or_expected(
        row, "pass", of_pass * (n / size) ** 2, lambda: problem.objective_and_gradient(W)
    )
    numpy_or_expected(
        row, "fit", row["fit float64, passes"] * row["numpy pass"], lambda: fitted(X, y)
    )
    return row


def numpy_or_expected(row, name, expected, run):
    """Add the seconds that numpy takes, or would take."""
    row[f"numpy {name} is measured"] = expected < CPU_SECONDS
    row[f"numpy {name}"] = seconds(run)[0] if expected < CPU_SECONDS else expected


def fitted(X, y):
    """The whole exact fit, with the default starts."""
    return SupervisedIKDR(Q).fit(X, y)


def main(arguments=None):
    """Measure each size while there is time, and write what is known after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    options = parser.parse_args(arguments)
    start, place, last, found = time.monotonic(), library(options.device), None, []
    head = dict(place=str(place), device=name_of(options.device), processors=os.cpu_count())
    print(head, flush=True)
    for n in options.sizes:
        if time.monotonic() - start > ALL_SECONDS / 2:
            print(f"{n} rows are left out: no time is left")
            break
        found.append(measured(n, place, options.device, last))
        last = found[-1]["numpy pass"], n
        options.out.write_text(json.dumps(head | dict(rows=found), indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
