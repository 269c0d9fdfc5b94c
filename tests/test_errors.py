from crossmodal.errors import SHOWN, unknown


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
