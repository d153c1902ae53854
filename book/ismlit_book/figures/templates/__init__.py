"""Figures that move as templates; scripts and styles as files of their own."""

from functools import cache


@cache
def environment(package):
    """The templates in the folder ``templates`` of a package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(name, **values):
    """The template `name`, filled in."""
    return environment("ismlit_book.figures").get_template(name).render(**values)
