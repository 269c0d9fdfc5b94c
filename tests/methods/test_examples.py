"""The example of each method of vectors, as its docstring has it."""

import doctest
import importlib

import pytest

from crossmodal.config import plugins
from crossmodal.learning.method import VECTORS

# of maps and sequences, by their options
OTHERS = {"matchmap", "vase"}
NAMES = sorted(
    name
    for name in {*plugins.names("methods")} - OTHERS
    if plugins.load("methods", name).takes == VECTORS
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_example_of_method_runs(name):
    module = importlib.import_module(f"crossmodal.methods.{name}")
    result = doctest.testmod(module)
    assert result.attempted >= 5
    assert result.failed == 0
