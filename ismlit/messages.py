"""Warnings that point to the line of the user's own code, and blocks that give none."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OURS = ("ismlit.", "sklearn.", "joblib.")
"""Packages between the user's line and what is to be said."""
SILENCED: ContextVar[tuple[type[Warning], ...]] = ContextVar("SILENCED", default=())
"""What is not to be said at present, in this thread."""


@contextmanager
def silenced(category: type[Warning] = Warning) -> Iterator[None]:
    """Within a block, leave out what `warn` would say, in this thread alone.

    `warnings.catch_warnings` changes the filters of all threads at once, and two blocks that
    overlap in time leave them changed.

    Parameters
    ----------
    category : type of Warning, default=Warning
        What is left out, with all that derives from it.

    Yields
    ------
    None
        The block.

    Examples
    --------
    >>> from ismlit.messages import silenced, warn
    >>> with silenced():
    ...     warn("look here")
    """
    before = SILENCED.set((*SILENCED.get(), category))
    try:
        yield
    finally:
        SILENCED.reset(before)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line that is neither this library's nor scikit-learn's.

    A stack level that is counted by hand would be wrong as soon as a function is called from
    another place.

    Parameters
    ----------
    message : str
        What is to be said: what happened, with the numbers, and what to do.
    category : type of Warning, default=UserWarning
        What kind of warning it is.

    Examples
    --------
    >>> import warnings
    >>> from ismlit.messages import warn
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn("look here")
    >>> str(said[0].message)
    'look here'
    """
    if issubclass(category, SILENCED.get()):
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
