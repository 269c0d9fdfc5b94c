import pytest

from crossmodal.errors import SHOWN, explained, unknown
from crossmodal.io.files import write_text


def test_similar_names_are_offered_and_a_short_list_is_shown():
    found = unknown("holidy", ["holiday", "beach"])
    assert found == "'holidy' is unknown; known: beach, holiday; did you mean 'holiday'?"
    assert unknown("x", []) == "'x' is unknown; known: none"


def test_long_lists_are_cut_to_similar_or_first_names():
    names = [f"scenes_{n:03d}" for n in range(SHOWN + 5)]
    assert len(unknown("scenes_00", names)) < 100
    found = unknown("?", names)
    assert found.endswith("scenes_019, and 5 more")


def test_a_value_that_is_no_text_is_no_name():
    assert unknown(5, ["five"]) == "5 is unknown; known: five"


@pytest.mark.parametrize("name", ["", "file/x", "file/x/y"])
def test_a_place_where_no_output_can_be_is_named(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"directory|exists") as error:
        write_text(tmp_path / name, "")
    message = explained(error.value)
    assert str(tmp_path) in message
    assert message.endswith("and run the same command again")
