"""How cost and memory grow with samples, features and classes; each size in its own process."""

import json
import subprocess
import sys

import numpy as np
from tqdm import tqdm

from tools.bench.rows import Row

PROGRAM = """
import json, os, resource, sys, time, warnings
import numpy as np
from ismlit import Gaussian, Problem, SupervisedIKDR, label_gamma, median_distance
from ismlit_book.experiments.scaling import make_classes
warnings.simplefilter("ignore")
n, d, classes, features, what = {size!r}
if what == "blocks":
    from tools.bench.blocks import objective_of_blocks
    start = time.process_time()
    objective_of_blocks(n, d, classes, features)
else:
    X, y = make_classes(n, d, classes, "float32" if features else "float64")
    kernel, gamma = Gaussian(median_distance(X)), label_gamma(y)
    start = time.process_time()
    if what == "passes":
        W = np.linalg.qr(np.random.default_rng(0).standard_normal((d, 3)))[0]
        problem = Problem(X, gamma, kernel)
        for _ in range(6):
            problem.objective_and_phi(W)
    elif what == "fit":
        SupervisedIKDR(3, bandwidth=kernel.sigma, init="taylor", max_iter=4).fit(X, y)
    else:
        SupervisedIKDR(3, random_features=features, random_state=0).fit(X, y)
spent = time.process_time() - start
unit = 1 if sys.platform == "darwin" else 1024
peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if os.path.exists("/proc/self/status"):  # ru_maxrss begins at the peak of the parent there
    lines = open("/proc/self/status").read().splitlines()
    peak = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print(json.dumps([spent, peak / 1e9]))
"""


def measured(n, d, classes=4, features=None, what="passes"):
    """(CPU seconds, gigabytes at the most) of one size."""
    program = PROGRAM.format(size=(n, d, classes, features, what))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def exponent(sizes, seconds):
    """Of the line through the logarithms of the largest two sizes."""
    (a, b), (s, t) = sizes[-2:], seconds[-2:]
    return float(np.log(t / s) / np.log(b / a))


WIDE = dict(d=50, features=300, what="solve")
PLAN = [
    ("n, exact, d = 50", "n", [1000, 3000, 10_000, 30_000], dict(d=50), 2.0),
    ("n, 300 features, d = 50", "n", [10_000, 100_000, 1_000_000], WIDE, 1.0),
    ("d, exact, n = 2000", "d", [50, 300, 1000, 3000], dict(n=2000), 2.0),
    ("classes, 300 features, n = 20 000", "classes", [5, 20, 100, 200], WIDE | dict(n=20_000), 0.5),
]
"""What grows: its name, its letter, the sizes, the others, and the most its exponent may be."""


def rows(quick):
    """Exponents, the two large fits, and their memory."""
    for name, letter, sizes, others, most in PLAN:
        sizes = sizes[: 3 if quick else None]
        bar = tqdm(sizes, name, disable=None, leave=False)
        points = [[size, *measured(**{letter: size}, **others)] for size in bar]
        growth = exponent(sizes, [seconds for _, seconds, _ in points])
        note = ", ".join(f"{size}: {s:.2g} s" for size, s, _ in points)
        # a tenth for the noise of two measurements a factor of three apart
        yield Row(f"exponent of {name}", growth, most + 0.1, note=note, points=points)
        if name.startswith("n, 300") and not quick:
            _, s, memory = points[-1]
            yield Row("10⁶ x 50, 300 features, whole fit, CPU", s, 20, unit=" s")
            yield Row("10⁶ x 50, 300 features, memory of the process", memory, 1.0, unit=" GB")
    if not quick:
        passes, _ = measured(30_000, 60, what="passes")
        fit, memory = measured(30_000, 60, what="fit")
        yield Row("30 000 x 60, SupervisedIKDR(max_iter=4).fit / six passes", fit / passes, 1.0)
        yield Row("30 000 x 60, memory of the process", memory, 1.0, unit=" GB")
        seconds, memory = measured(10_000_000, 50, 4, 300, "blocks")
        note = f"{memory:.2g} GB, blocks of a million rows, none kept"
        work = "10⁷ x 50, 300 features, one J and gradient by blocks, CPU"
        yield Row(work, seconds, unit=" s", note=note)
