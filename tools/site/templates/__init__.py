"""The verdict pages as templates."""

from __future__ import annotations

from ismlit_book.figures import templates


def environment(filters):
    """The templates, with functions of a page's own as `filters`."""
    found = templates.environment("tools.site").overlay()
    as_class = {"css": lambda verdict: verdict.replace(" ", "-")}
    found.filters = {**found.filters, **as_class, **filters}
    return found


def render(name, filters=None, **values):
    """The template `name`, filled in; `filters` are functions of this page alone."""
    return environment(filters or {}).get_template(name).render(**values)
