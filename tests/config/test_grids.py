import re

import pytest

from crossmodal.config.grids import combinations, member_name


def test_every_combination_comes_once_in_the_order_of_the_values():
    found = combinations({"a": [1, 2], "b": ["x", "y"]})
    expected = [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert [tuple(options.values()) for options in found] == expected
    assert combinations({}) == [{}]


@pytest.mark.parametrize(
    ("value", "name"),
    [(5, "m-5"), (0.5, "m-0_5"), (1e-6, "m-1e_06"), ("raw", "m-raw"), (None, "m-null")],
)
def test_a_member_is_named_by_its_values_and_can_be_a_file(value, name):
    assert member_name("m", {"option": value}) == name
    assert re.fullmatch(r"[A-Za-z0-9_-]+", name)


def test_names_tell_members_apart():
    grid = {"a": [1, 1.0, 11], "b": ["x", True, None]}
    names = [member_name("m", options) for options in combinations(grid)]
    assert len(set(names)) == 9
