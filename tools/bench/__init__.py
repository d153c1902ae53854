"""Time the library against what it replaces: ``python -m tools.bench``.

Every number is a ratio of one run, and has a target. What is compared takes turns, and the best of
several turns counts, since noise of the machine only adds.
"""
