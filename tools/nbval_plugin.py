"""For the notebook run (``pytest -p tools.nbval_plugin --nbval``).

Skipped is what needs data that cannot be had. Cells of a notebook whose metadata say
``"ismlit": {"slow": true}`` are marked slow; ``-m "not slow"`` leaves them out.
"""

import pytest

from tools.execute_notebooks import missing_data

DRAWING = "image/svg+xml"


@pytest.hookimpl(tryfirst=True)  # before -m chooses by the marks
def pytest_collection_modifyitems(items):
    """Mark the cells of slow notebooks, and skip, with the reason, those without their data."""
    missing = {}
    for item in items:
        notebook = getattr(item.parent, "nb", None)
        if notebook is None:
            continue
        if DRAWING not in item.parent.skip_compare:
            item.parent.skip_compare += (DRAWING,)  # as nbval does with PNG
        if notebook.metadata.get("ismlit", {}).get("slow"):
            item.add_marker(pytest.mark.slow)
        if item.parent not in missing:
            missing[item.parent] = ", ".join(missing_data(notebook))
        if missing[item.parent]:
            reason = f"{item.parent.name} needs data not available: {missing[item.parent]}"
            item.add_marker(pytest.mark.skip(reason=reason))
