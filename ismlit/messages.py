"""Warnings that point to the line of the user's own code."""

from __future__ import annotations

import sys
import warnings

OURS = ("ismlit.", "sklearn.", "joblib.")
"""Packages between the user's line and what is to be said."""


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
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
