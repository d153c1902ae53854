"""How many threads a computation takes."""

import pytest
from joblib import cpu_count

from ismlit.objectives import blocks

dask = pytest.importorskip("dask")


def test_threads_are_those_of_the_workers_or_the_processors(monkeypatch):
    class Client:
        nthreads = staticmethod(lambda: {"one": 2, "other": 3})

        def get(self):
            """What Dask computes with."""

    with dask.config.set(scheduler="threads"):
        assert blocks.threads_of_scheduler() == cpu_count()
    monkeypatch.setattr("dask.base.get_scheduler", lambda: Client().get)
    assert blocks.threads_of_scheduler() == 5
