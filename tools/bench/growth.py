"""How cost and memory grow with samples, features and classes; each size in its own process."""

import json
import subprocess
import sys

import numpy as np

from tools.bench.rows import Row

PROGRAM = """
import json, resource, sys, time, warnings
import numpy as np
from ismlit import Gaussian, Problem, SupervisedIKDR, label_gamma, median_distance
from ismlit_book.experiments.scaling import make_classes
warnings.simplefilter("ignore")
n, d, classes, features = {size!r}
X, y = make_classes(n, d, classes, "float32" if features else "float64")
start = time.process_time()
if features:
    SupervisedIKDR(3, random_features=features, random_state=0).fit(X, y)
else:
    W = np.linalg.qr(np.random.default_rng(0).standard_normal((d, 3)))[0]
    problem = Problem(X, label_gamma(y), Gaussian(median_distance(X)))
    for _ in range(6):
        problem.objective_and_phi(W)
spent = time.process_time() - start
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps([spent, unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9]))
"""


def measured(n, d, classes=4, features=None):
    """(CPU seconds, gigabytes at the most) of one size."""
    command = [sys.executable, "-c", PROGRAM.format(size=(n, d, classes, features))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def exponent(sizes, seconds):
    """Of the line through the logarithms of the largest two sizes."""
    return float(np.polyfit(np.log(sizes[-2:]), np.log(seconds[-2:]), 1)[0])


WIDE = dict(d=50, features=300)
PLAN = [
    ("n, exact, d = 50", "n", [1000, 3000, 10_000, 30_000], dict(d=50), 2.0),
    ("n, 300 features, d = 50", "n", [10_000, 100_000, 1_000_000], WIDE, 1.0),
    ("d, exact, n = 2000", "d", [50, 300, 1000, 3000], dict(n=2000), 2.0),
    ("classes, 300 features, n = 20 000", "classes", [5, 20, 100, 200], WIDE | dict(n=20_000), 0.5),
]
"""What grows: its name, its letter, the sizes, the others, and the most its exponent may be."""


def rows(quick):
    """Exponents, and the largest fit with its memory."""
    for name, letter, sizes, others, most in PLAN:
        sizes = sizes[: 3 if quick else None]
        points = [[size, *measured(**{letter: size}, **others)] for size in sizes]
        growth = exponent(sizes, [seconds for _, seconds, _ in points])
        # a tenth for the noise of two measurements a factor of three apart
        yield Row(f"exponent of {name}", growth, most + 0.1, points=points)
        if sizes[-1] == 1_000_000:
            _, seconds, memory = points[-1]
            yield Row("10⁶ x 50, 300 features, whole fit, CPU", seconds, 20, unit=" s")
            yield Row("10⁶ x 50, 300 features, memory of the process", memory, 1.0, unit=" GB")
