"""Pages load less and look the same."""

import pytest

from tools.lighten import bundle, page, sheet


@pytest.fixture
def static(tmp_path):
    """Sheets as the theme has them: one imports another, one lies deeper and wants a font."""
    for name, text in {
        "basic.css": "a { color: red }",
        "own.css": "@charset 'utf-8';\n@import url(\"basic.css\");\na { color: blue }",
        "styles/theme.css": "i { src: url(../vendor/x.ttf) } b { background: url('data:x') }",
        "documentation_options.js": "const DOCUMENTATION_OPTIONS = {};",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_sheet_has_what_it_imports_before_its_own(static):
    text = sheet(static, "own.css")
    assert "@" not in text and text.index("red") < text.index("blue")


def test_addresses_fit_the_new_place(static):
    assert "url(vendor/x.ttf)" in sheet(static, "styles/theme.css")
    assert "url('data:x')" in sheet(static, "styles/theme.css")


def test_a_bundle_keeps_the_order_and_has_a_name_of_its_own(static):
    name = bundle(static, ["styles/theme.css", "own.css"])
    text = (static / name).read_text()
    assert text.index("vendor") < text.index("red") < text.index("blue")
    assert bundle(static, ["own.css"]) != name


PAGE = """<head>
<link href="../_static/styles/theme.css?digest=1" rel="stylesheet" />
<link rel="stylesheet" type="text/css" href="../_static/own.css?v=2" />
<script src="../_static/documentation_options.js?v=3"></script>
<script src="../_static/searchtools.js"></script>
<script src="../_static/sphinx-thebe.js"></script>
<script src="../_static/copybutton.js"></script>
<script>DOCUMENTATION_OPTIONS.pagename = 'x';</script>
<script src="https://example.org/x.js"></script>
</head>"""


def test_a_page_waits_for_one_sheet_and_no_script(static):
    text = page(PAGE, static, {})
    assert text.count("stylesheet") == 1 and 'href="../_static/all-' in text
    assert '<script defer src="../_static/copybutton.js">' in text
    assert "searchtools" not in text and "thebe" not in text
    assert text.index("const DOCUMENTATION_OPTIONS") < text.index("pagename")
    assert '<script src="https://example.org/x.js">' in text


def test_the_page_of_the_search_keeps_its_scripts(static):
    text = page(PAGE + '<div id="search-results"></div>', static, {})
    assert "searchtools.js" in text
