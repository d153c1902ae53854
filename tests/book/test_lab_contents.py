"""A notebook that JupyterLab opens and saves is the one that was stored, byte for byte."""

import asyncio
import shutil
from platform import python_version

import nbformat
import pytest

from tools.execute_notebooks import LANGUAGE, ROOT, notebooks_of

lab = pytest.importorskip("tools.lab")
PAGES = ["ch2/dependence", "ch6/construction", "howto/reduce", "record/5.3"]


@pytest.fixture
def contents(tmp_path):
    return lab.Contents(root_dir=str(tmp_path))


def opened(contents, name):
    return asyncio.run(contents.get(name, content=True))


@pytest.mark.parametrize("page", PAGES)
def test_what_is_opened_and_saved_stays_as_it_was(page, contents, tmp_path):
    stored, copy = ROOT / "book" / f"{page}.ipynb", tmp_path / "copy.ipynb"
    shutil.copy(stored, copy)
    model = opened(contents, copy.name)
    assert model["content"]["metadata"]["language_info"]["version"] == python_version()
    asyncio.run(contents.save({"type": "notebook", "content": model["content"]}, copy.name))
    assert copy.read_bytes() == stored.read_bytes()


def test_a_notebook_in_another_language_keeps_it(contents, tmp_path):
    other = nbformat.v4.new_notebook(metadata={"language_info": {"name": "R", "version": "4.4"}})
    nbformat.write(other, tmp_path / "other.ipynb")
    found = opened(contents, "other.ipynb")["content"]["metadata"]["language_info"]
    assert found == {"name": "R", "version": "4.4"}


def test_a_folder_and_a_text_are_opened_as_ever(contents, tmp_path):
    (tmp_path / "text.md").write_text("words", encoding="utf8")
    assert opened(contents, "text.md")["content"] == "words"
    assert [entry["name"] for entry in opened(contents, "")["content"]] == ["text.md"]


def test_all_notebooks_have_the_form_in_which_jupyter_writes():
    """So that saving one changes no line that its reader did not."""
    others = []
    for path in notebooks_of(ROOT):
        text = path.read_text(encoding="utf8")
        notebook = nbformat.reads(text, as_version=4)
        if text != nbformat.writes(notebook) + "\n" or notebook.metadata.language_info != LANGUAGE:
            others.append(path.name)
    assert others == []
