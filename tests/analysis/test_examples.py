"""The examples in the docstrings of the analysis have the results of the functions."""

import doctest
import importlib
import pkgutil

import analysis


def test_every_example_in_a_docstring_is_true():
    modules = [importlib.import_module(module.name) for module in pkgutil.walk_packages(analysis.__path__, "analysis.")]
    results = [doctest.testmod(module) for module in modules]
    assert sum(result.attempted for result in results) >= 7
    assert sum(result.failed for result in results) == 0
