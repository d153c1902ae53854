"""The pages of the book in reading order, from ``_toc.yml``; what ``_config.yml`` says."""

import yaml

from tools.execute_notebooks import ROOT


def config():
    """The book's settings; the public addresses stand in them alone."""
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))


def parts():
    """[(caption, its pages)]; the front page comes first, under no caption."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf8"))
    listed = [(part["caption"], list(_files(part["chapters"]))) for part in toc["parts"]]
    return [("", [toc["root"]]), *listed]


def _files(entries):
    for entry in entries:
        yield entry["file"]
        yield from _files(entry.get("sections", ()))


def pages():
    """All pages.

    >>> from tools.toc import pages
    >>> pages()[0]
    'book/intro'
    """
    return [page for _, listed in parts() for page in listed]
