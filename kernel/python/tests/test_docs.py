"""The examples of the docstrings, of the README and of the book."""

import doctest
import pathlib
import re

import pytest

import bitmc
from bitmc import _check, _exchange, _langevin, _models, _runs

PACKAGE = pathlib.Path(__file__).parent.parent
BOOK = PACKAGE.parent.parent / "docs"
PAGES = [PACKAGE / "README.md", *(page for page in sorted(BOOK.rglob("*.md")) if ">>> " in page.read_text())]


@pytest.mark.parametrize("module", [bitmc, _check, _models, _runs, _exchange, _langevin], ids=lambda module: module.__name__)
def test_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0


def test_docstrings_of_dimod():
    pytest.importorskip("dimod")
    import bitmc.dimod

    found = doctest.testmod(bitmc.dimod)
    assert found.attempted > 0 and found.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page):
    if "dimod" in page.read_text():
        pytest.importorskip("dimod")
    found = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0 and found.failed == 0


def test_the_program_of_jax(capsys):
    pytest.importorskip("jax")
    page = (BOOK / "deep-energies.md").read_text()
    [(program, output)] = re.findall(r"^```python\n(import .*?)^```\n\n```text\n(.*?)^```", page, flags=re.M | re.S)
    exec(program, {})
    assert capsys.readouterr().out == output


def test_the_pictures_of_the_quick_start_are_there_and_small():
    page = BOOK / "python.md"
    pictures = [page.parent / name for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text())]
    assert pictures and all(0 < picture.stat().st_size < 60_000 for picture in pictures)
