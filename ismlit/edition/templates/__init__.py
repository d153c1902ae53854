"""Pages and figures as templates; scripts and styles as files of their own."""

from __future__ import annotations

from functools import cache


@cache
def _environment():
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ismlit.edition", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["css"] = lambda verdict: verdict.replace(" ", "-")  # its class
    return environment


def environment(filters):
    """The templates, with functions of a page's own as `filters`."""
    found = _environment().overlay()
    found.filters = {**found.filters, **filters}
    return found


def render(name, filters=None, **values):
    """The template `name`, filled in; `filters` are functions of this page alone."""
    return environment(filters or {}).get_template(name).render(**values)
