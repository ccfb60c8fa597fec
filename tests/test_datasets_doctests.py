"""The examples in the docstrings give what they show."""

import doctest
import importlib
import pkgutil

import pytest

from hesitant import datasets

MODULES = [m.name for m in pkgutil.iter_modules(datasets.__path__, f"{datasets.__name__}.")]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0
