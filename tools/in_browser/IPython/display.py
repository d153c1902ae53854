"""`display` and the objects that the book's cells show."""

import page_kernel


def display(*things, raw=False, metadata=None, **options):
    for thing in things:
        data, said = (thing, {}) if raw else page_kernel.bundle(thing)
        page_kernel.show(data, said | (metadata or {}))


class Shown:
    """Text or bytes of one MIME type."""

    mime = "text/plain"

    def __init__(self, data=None, format=None, **options):
        self.data = data
        if format:
            self.mime = f"image/{format}"

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

    def _repr_mimebundle_(self):
        return {self.mime: self.data}


class HTML(Shown):
    mime = "text/html"


class Markdown(Shown):
    mime = "text/markdown"


class Latex(Shown):
    mime = "text/latex"


class Math(Latex):
    def __init__(self, data):
        super().__init__(f"$\\displaystyle {data.strip('$')}$")


class SVG(Shown):
    mime = "image/svg+xml"


class Image(Shown):
    mime = "image/png"

    def __init__(self, data=None, format=None, width=None, **options):
        super().__init__(data, format)
        self.said = {self.mime: {"width": width}} if width else {}

    def _repr_mimebundle_(self):
        return {self.mime: self.data}, self.said
