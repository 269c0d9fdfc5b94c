"""Looks of lines, and legends."""

from pathlib import Path

import pytest

from crossmodal.config import params
from crossmodal.reporting.figure_style import DASHES, columns_of, legend_height, looks

METHODS = params.read(Path("params.yaml")).methods


def test_21_methods_differ_in_colour_or_marker():
    names = [*METHODS][:21]
    appearance = looks({name: place for place, name in enumerate(names)})
    assert len({(look.colour, look.marker) for look in appearance.values()}) == 21


def test_a_method_looks_alike_in_each_figure():
    first = looks({"SAM": 11, "CCA": 0})
    assert looks({"CCA": 0, "JRL": 8, "SAM": 11})["SAM"] == first["SAM"]


def test_variants_of_a_method_differ_in_dashes_alone():
    appearance = looks({"CCA": 0} | {f"SAM {n}": 11 for n in range(4)})
    variants = [appearance[f"SAM {n}"] for n in range(4)]
    assert len({(look.colour, look.marker) for look in variants}) == 1
    assert [look.dashes for look in variants] == [*DASHES]


@pytest.mark.parametrize("count", [2, 25])
def test_lines_of_one_method_look_like_methods(count):
    appearance = looks({f"beta {n}": 11 for n in range(count)})
    assert len({(look.colour, look.marker) for look in appearance.values()}) == count


def test_legend_has_columns_for_short_labels():
    assert columns_of(["a", "b"], 8.0) > columns_of(["a" * 30, "b"], 8.0) >= 1
    assert columns_of(["a" * 500], 8.0) == 1
    assert legend_height(["a" * 60] * 25, 8.0) > legend_height(["a"] * 25, 8.0) > 0
