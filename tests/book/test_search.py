"""The records that the book's search is made of."""

import pytest

from tools.search import claims, pages, plain, sections

PAGE = r"""<html><nav>Binder</nav><article>
<section id="the-title"><h1>The title<a class="headerlink" href="#">#</a></h1>
<p>A first sentence with <span class="math">\(\sigma_1\)</span>.</p>
<div class="math">\[x^2\]</div><div class="cell"><details><summary>Show code</summary>
<pre>import numpy</pre></details></div>
<section id="part"><h2>A part</h2><p>Another sentence.</p></section>
</section></article></html>"""


def test_a_section_is_its_own_prose():
    """No code, no displayed formula, nothing of the sections within it, nothing around it."""
    first, part = sections("book/ch9/page", PAGE)
    assert first["text"] == "A first sentence with σ1."
    assert (first["url"], first["title"]) == ("book/ch9/page.html", "The title")
    assert part["url"] == "book/ch9/page.html#part"
    assert (part["title"], part["heading"], part["text"]) == (
        "The title",
        "A part",
        "Another sentence.",
    )
    assert part["kind"] == "ch9"


@pytest.mark.parametrize(
    "tex, text",
    [(r"\(\Phi(W)\)", "Φ(W)"), (r"\(\mathrm{Tr}(K)\)", "Tr(K)"), (r"\(k^{-1}\)", "k-1")],
)
def test_a_formula_in_a_sentence_is_a_word(tex, text):
    assert plain(tex) == text


def test_every_page_and_every_claim_is_found():
    assert "book/howto/choose" in pages() and "book/intro" in pages()
    found = {record["heading"]: record for record in claims()}
    assert found["thm-5.1"]["title"] == "Theorem 5.1"
