"""The examples of the docstrings and of the README."""

import doctest
import pathlib

import pytest

import bitmc
from bitmc import _exchange, _langevin, _models, _runs

README = pathlib.Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize("module", [bitmc, _models, _runs, _exchange, _langevin], ids=lambda module: module.__name__)
def test_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0


def test_docstrings_of_dimod():
    pytest.importorskip("dimod")
    import bitmc.dimod

    found = doctest.testmod(bitmc.dimod)
    assert found.attempted > 0 and found.failed == 0


def test_readme():
    found = doctest.testfile(str(README), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0 and found.failed == 0
