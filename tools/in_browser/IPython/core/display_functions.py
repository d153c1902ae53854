"""`display`, as IPython has it where a notebook runs."""

import page_kernel

__all__ = ["display"]


def display(*things, raw=False, metadata=None, **options):
    for thing in things:
        data, said = (thing, {}) if raw else page_kernel.bundle(thing)
        page_kernel.show(data, said | (metadata or {}))
