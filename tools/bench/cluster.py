"""A fit on a local Dask cluster whose two workers cannot hold the table, one of them killed.

``python -m tools.bench.cluster ROWS MEMORY`` runs it alone, for other sizes.
"""

import os
import resource
import signal
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from ismlit import SupervisedIKDR
from tools.bench.rows import Row

D, CLASSES, ROWS_OF_BLOCK = 50, 4, 100_000
OPTIONS = dict(bandwidth=3.0, random_features=256, random_state=0)


def block(number, rows, d, classes):
    """Rows of one block (n, d) and their classes; the classes differ in the first two columns."""
    rng = np.random.default_rng(number)
    y = rng.integers(0, classes, rows)
    X = rng.standard_normal((rows, d), dtype=np.float32)
    X[:, 0] += 2 * np.cos(2 * np.pi * y / classes).astype(np.float32)
    X[:, 1] += 2 * np.sin(2 * np.pi * y / classes).astype(np.float32)
    return X, y


def table_on_disk(folder, n):
    """n rows in files, made one by one, and their labels: two lazy Dask arrays."""
    import dask
    import dask.array as da

    made = {"X": [], "y": []}
    rows = min(n, ROWS_OF_BLOCK)
    for number in range(n // rows):
        for name, part in zip("Xy", block(number, rows, D, CLASSES), strict=True):
            path = Path(folder) / f"{name}{number}.npy"
            np.save(path, part)
            shape = part.shape
            read = da.from_delayed(dask.delayed(np.load)(path), shape, part.dtype)
            made[name].append(read)
    return da.concatenate(made["X"]), da.concatenate(made["y"])


@contextmanager
def watched(processes, every=0.1):
    """The most memory, in MB, that each of some processes takes while the context is open."""
    most, done = dict.fromkeys(processes, 0.0), threading.Event()

    def watch():
        while not done.wait(every):
            for name, pids in processes.items():
                for pid in pids():
                    with suppress(OSError):  # it was killed
                        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                        most[name] = max(most[name], pages * resource.getpagesize() / 1e6)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def fit_on_workers(n, memory, kill_at=3):
    """What a fit of n rows takes on two workers of so much memory, and the fitted model.

    One worker is killed after the step `kill_at`. The bytes sent are all those of the loopback
    device: nothing else should use it meanwhile.
    """
    from distributed import Client, LocalCluster

    def sent():
        lines = Path("/proc/net/dev").read_text().splitlines()
        return next(int(line.split()[9]) for line in lines if line.split()[0] == "lo:") / 1e6

    options = dict(n_workers=2, threads_per_worker=1, memory_limit=memory, dashboard_address=None)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(**options) as cluster,
        Client(cluster) as client,
    ):
        X, y = table_on_disk(folder, n)
        killed, steps = list(client.run(os.getpid).values()), []

        def on_step(at):
            steps.append(at.J)
            if len(steps) == kill_at:
                os.kill(killed[0], signal.SIGKILL)

        workers = lambda: [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
        client_alone = {"client": lambda: [os.getpid()]}
        with watched(client_alone, every=0.01) as imported:
            time.sleep(0.1)
        before, start = sent(), time.perf_counter()
        with watched(client_alone | {"worker": workers}) as most:
            model = SupervisedIKDR(2, callback=on_step, **OPTIONS).fit(X, y)
        passes = model.result_.n_passes
        found = dict(most, seconds=time.perf_counter() - start, passes=passes)
        found |= {"sent": (sent() - before) / passes, "imported": imported["client"]}
        alive = set(client.run(os.getpid).values())
        found |= {"killed": killed[0] not in alive}
        return found, model


def rows(quick):
    """Memory of the client, megabytes a pass, and seconds, with one worker killed."""
    n, memory = (10**6, "500MiB") if quick else (10**7, "700MiB")
    found, model = fit_on_workers(n, memory)
    if not (found["killed"] and model.converged_):
        raise RuntimeError(f"the worker lived or the fit did not converge: {found}")
    size = f"{n:.0e} x {D} on two workers of {memory}".replace("e+0", "0^")
    yield Row(f"{size}: memory of the client", found["client"], 300, unit=" MB")
    yield Row(f"{size}: of that before the fit", found["imported"], unit=" MB")
    yield Row(f"{size}: memory of a worker", found["worker"], unit=" MB")
    yield Row(f"{size}: sent a pass", found["sent"], 10, unit=" MB")
    yield Row(f"{size}: passes", found["passes"])
    yield Row(f"{size}: whole fit", found["seconds"], unit=" s")


if __name__ == "__main__":
    print(fit_on_workers(int(float(sys.argv[1])), sys.argv[2])[0])
