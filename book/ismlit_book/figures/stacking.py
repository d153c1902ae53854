"""Where the panels of a wide figure stand on a phone: below each other."""

WIDE = 700  # pixels from which on a figure's words are too small on a phone
NARROW = 500  # and up to which they are not; a panel alone may be a tenth wider


def stacked(boxes, most):
    """The panels of a drawing in rows that are at most so wide.

    Parameters
    ----------
    boxes : list of (left, top, right, bottom[, start, end])
        Of `panels` in `ismlit_book.figures.display`.
    most : float
        The width of a row, in the same unit.

    Returns
    -------
    rows : list of list of (x, y, left, top, width, height)
        For each part of the drawing its new place, and where it stood. None where there is one
        panel, or where a panel alone is too wide.
    size : (across, down)

    Examples
    --------
    >>> from ismlit_book.figures.stacking import stacked
    >>> stacked([(0, 0, 300, 200), (300, 0, 650, 220)], 360)
    ([[(0, 0, 0, 0, 300, 200)], [(0, 200, 300, 0, 350, 220)]], (350, 420))
    """
    if len(boxes) < 2 or max(box[2] - box[0] for box in boxes) > 1.1 * most:
        return None, None
    rows = [[]]
    for left, top, right, bottom, *scale in boxes:
        if rows[-1] and sum(b[2] - b[0] for b in rows[-1]) + right - left > most:
            rows.append([])
        if scale and not rows[-1]:  # it stood at another panel, which is not beside it now
            rows[-1].append([scale[0], top, scale[1], bottom])
        rows[-1].append([left, top, right, bottom])
    placed, y, across = [], 0, 0
    for row in rows:
        x = 0
        placed.append([])
        for left, top, right, bottom in row:
            placed[-1].append((x, y, left, top, right - left, bottom - top))
            x += right - left
        across, y = max(across, x), y + max(b[3] - b[1] for b in row)
    return placed, (across, y)
