"""The book's search: its sections and claims as records, which MiniSearch ranks in the browser.

``tools.build_book`` calls `install`. Code and displayed formulas are left out of the records, so
that what is found is a sentence. Without npm the search that Sphinx makes stays.
"""

import html
import json
import re

from bs4 import BeautifulSoup
from ismlit_book.record.ledger import ledger

from tools import npm
from tools.execute_notebooks import ROOT
from tools.site.formulas import GREEK
from tools.site.verdicts import heading
from tools.toc import pages

MINISEARCH = "minisearch@7.1.2"
FOLDER = ROOT / ".minisearch"
FILES = {"dist/umd/index.js": "minisearch.js", "LICENSE.txt": "LICENSE.minisearch.txt"}
SPHINX = re.compile(r'<script[^>]*src="[^"]*(?:searchtools|searchindex)\.js[^"]*"></script>\s*')
APART = tuple(f"book/{name}" for name in "ledger errata reproduction graph api exercises".split())
"""Pages that list what others say: found, but below them."""
ALSO = {
    "book/howto/table.html": "missing values, NaN, empty cells, words, clean, categorical columns",
    "book/howto/regress.html": "my labels are numbers: a numeric, continuous label",
    "book/howto/install.html#what-can-go-wrong": "an error message",
    "book/howto/leak.html#what-can-go-wrong": "an error",
    "book/howto/leak.html": "overfitting",
    "book/howto/classify.html": "predict the labels of new samples",
    "book/howto/chance.html": "a permutation test, a p-value, is my result significant, "
    "significance",
    "book/howto/chance.html#given-the-clinic": "conditional independence given another variable",
    "book/howto/columns.html": "which columns matter most, feature selection, variable importance",
    "book/howto/large.html": "speed, slow, out of memory",
    "book/howto/serve.html": "export a model, deployment",
    "book/howto/large.html#when-to-use-something-else": "gpu, cuda, a graphics card",
    "book/ch5/iteration.html": "ISM",
    "book/reference/datasets.html": "a dataset, datasets",
    "book/ch2/dependence.html": "HSIC, the Hilbert-Schmidt independence criterion",
    "book/ch5/kernels.html": "the Gaussian, polynomial and other kernels",
}
"""What a reader asks for in words that a section does not have."""
NOT_READ = "pre, script, style, summary, button, figcaption, table, .cell_input, .claim, .turning"
NOT_READ += ", .headerlink, div.math, form, label, select"
LONG = re.compile(r"<(pre|script|style|svg|table)\b(?:(?!<\1\b).)*?</\1>", re.DOTALL)
"""What is long and not read, the innermost first: it is not worth being parsed."""
GREEK_LETTER = re.compile(rf"\\({'|'.join(GREEK)})(?![a-zA-Z])")


def plain(tex):
    r"""A formula within a sentence, as a line of a search's result can show it.

    >>> plain(r"\(\sigma_{1}\)")
    'σ1'
    """
    inner = tex.removeprefix(r"\(").removesuffix(r"\)")
    text = GREEK_LETTER.sub(lambda found: html.unescape(f"&{found[1]};"), inner)
    return re.sub(r"\\[a-zA-Z]+|[{}_^\\]", "", text).strip()


def words_of(section):
    """A section's own prose, without that of the sections in it."""
    for formula in section.select("span.math"):
        formula.replace_with(plain(formula.get_text()))
    for part in section.select(NOT_READ):
        part.decompose()
    for inner in section.find_all(["section", "h1", "h2", "h3", "h4"]):
        inner.extract()
    text = re.sub(r"\s+", " ", section.get_text(" "))
    return re.sub(r"([(\[“]) | ([,.:;?!)\]”])", r"\1\2", text).strip()


def sections(page, markup):
    """Records of a page's sections: address, title of the page, heading, prose."""
    article = markup[markup.index("<article") : markup.index("</article>")]
    while (shorter := LONG.sub("", article)) != article:  # a table may stand in another
        article = shorter
    soup = BeautifulSoup(article, "html.parser")
    found, title = [], ""
    for section in soup.find_all("section", id=True):
        head = section.find(["h1", "h2", "h3"], recursive=False)
        if head is None:
            continue
        for link in head.select(".headerlink"):
            link.decompose()
        for formula in head.select("span.math"):
            formula.replace_with(plain(formula.get_text()))
        name = head.get_text(" ", strip=True)
        title = title or name
        anchor = "" if head.name == "h1" else "#" + section["id"]
        found.append((section, {"url": f"{page}.html{anchor}", "title": title, "heading": name}))
    # from the innermost outwards, for a section takes what is within out of its own prose
    texts = {id(section): words_of(section) for section, _ in reversed(found)}
    kind = "list" if page in APART else page.split("/")[1]
    return [record | {"text": texts[id(section)], "kind": kind} for section, record in found]


def claims():
    """Records of the ledger's claims, whose pages have one template."""
    for claim in ledger().values():
        yield {
            "url": f"book/claims/{claim.id}.html",
            "title": heading(claim.id),
            "heading": claim.id,
            "text": claim.says,
            "kind": "claim",
        }


def records(site):
    """All that can be found, in the order of the book."""
    found = []
    for page in pages():
        found += sections(page, (site / f"{page}.html").read_text(encoding="utf8"))
    by_address = {record["url"]: record for record in found}
    for address, words in ALSO.items():
        if address in by_address:  # a test of the browser misses it
            by_address[address]["also"] = words
    return found + list(claims())


def install(site):
    """Put the search into the built book `site`, if MiniSearch is to be had; says what it did."""
    if not npm.fetch(MINISEARCH, FILES, FOLDER):
        print("no MiniSearch here: the book keeps Sphinx's own search")
        return False
    for name in FILES.values():
        (site / "_static" / name).write_bytes((FOLDER / name).read_bytes())
    found = json.dumps(records(site), ensure_ascii=False, separators=(",", ":"))
    # no JSON file, which a page opened as a file cannot load
    script = f"const RECORDS = {found};\n"
    (site / "_static" / "search-records.js").write_text(script, encoding="utf8")
    page = site / "search.html"
    scripts = ("minisearch.js", "search-records.js", "search.js")
    tags = "".join(f'<script defer src="_static/{name}"></script>\n' for name in scripts)
    text = SPHINX.sub("", page.read_text(encoding="utf8"))
    page.write_text(text.replace("</head>", f"{tags}</head>", 1), encoding="utf8")
    return True
