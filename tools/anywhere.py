"""Run tests and notebooks on every kind of processor that OpenBLAS can be told to be.

``python -m tools.anywhere [--cores Haswell Zen] [--threads 1 2] [--only-tests]`` runs the unit
tests and the strict comparison of the notebooks once for each kind and number of BLAS threads,
and lists what does not pass everywhere. Kernels of other processors round differently: what
differs here is decided by rounding, and asserted or printed nevertheless. A kind whose
instructions this machine lacks, or whose kernels have been used already, is left out, visibly.
The exit status is 1 when something differs.
"""

import argparse
import os
import re
import subprocess
import sys
from itertools import product

CORES = ("Haswell", "Zen", "SkylakeX", "Prescott", "Nehalem")
NAME = r"\S+?(?:::Cell \d+|::[^\s\[]+(?:\[.*?\](?= - |$))?)?"  # of a file, a cell or a test
FAILED = re.compile(rf"^(?:FAILED|ERROR) ({NAME})(?: - .*)?$", re.MULTILINE)
TRIED = """
import numpy as np
from threadpoolctl import threadpool_info
A = np.arange(40_000.0).reshape(200, 200)
np.linalg.eigh(A @ A.T)
print(next(i["architecture"] for i in threadpool_info() if i["internal_api"] == "openblas"))
"""
PYTEST = (sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "--dist", "loadscope")
TESTS = ("-m", "not browser and not slow")
NBVAL = ("-p", "tools.nbval_plugin", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=300")
NOTEBOOKS = (*NBVAL, "--nbval-sanitize-with=tools/nbval_sanitize.cfg", "book")


def environment(core, threads):
    """This process's environment, and how OpenBLAS is to compute."""
    return dict(os.environ, OPENBLAS_CORETYPE=core, OMP_NUM_THREADS=str(threads))


def kernels_of(core):
    """Whose kernels OpenBLAS takes when told `core`, or None where they do not run here."""
    command = [sys.executable, "-c", TRIED]
    done = subprocess.run(command, env=environment(core, 1), capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def failures(core, threads, what, jobs):
    """Names of what fails there; raises where pytest could not run at all."""
    command = [*PYTEST, "-n", str(max(1, jobs // threads)), *what]
    done = subprocess.run(command, env=environment(core, threads), capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest could not run:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    print(f"{core}, {threads} thread(s): {done.stdout.strip().splitlines()[-1]}", flush=True)
    return FAILED.findall(done.stdout)


def main():
    """Run all, and list what fails somewhere."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", nargs="+", default=CORES, metavar="CORE")
    parser.add_argument("--threads", nargs="+", type=int, default=(1, 2), metavar="T")
    parser.add_argument("--only-tests", action="store_true", help="leave the notebooks out")
    parser.add_argument("--jobs", type=int, default=2, help="cores to use (default 2)")
    options = parser.parse_args()
    runs = [TESTS] if options.only_tests else [TESTS, NOTEBOOKS]
    found, used = {}, {}
    for core in options.cores:
        kernels = kernels_of(core)
        if kernels is None or kernels in used:
            why = "this machine cannot" if kernels is None else f"the kernels of {used[kernels]}"
            print(f"{core}: SKIPPED, {why}")
            continue
        used[kernels] = core
        for threads, what in product(options.threads, runs):
            for name in failures(core, threads, what, options.jobs):
                found.setdefault(name, []).append(f"{core}/{threads}")
    for name, where in sorted(found.items()):
        print(f"{name}: fails on {', '.join(where)}")
    print(f"{len(found)} tests or cells do not pass everywhere")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
