"""Pages and figures as templates; scripts and styles as files of their own."""

from __future__ import annotations

from functools import cache


@cache
def _environment():
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("ismlit.edition", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(name, filters=None, **values):
    """The template `name`, filled in; `filters` are functions of this page alone."""
    environment = _environment().overlay()
    environment.filters = {**environment.filters, **(filters or {})}
    return environment.get_template(name).render(**values)
