import pytest

from crossmodal.datasets._flickr8k_experts import judgements
from crossmodal.errors import CrossmodalError

CAPTIONS = [f"{image}#{number}" for image in ("a_1", "b_2", "c_3") for number in range(5)]


def of(*lines, captions=CAPTIONS):
    text = "".join("\t".join(line.split()) + "\n" for line in lines)
    return {(query, document): grade for query, document, grade in judgements(text, captions)}


@pytest.mark.parametrize(
    ("three", "grade"),
    [("1 1 1", 0), ("2 3 3", 0), ("1 4 4", 1), ("3 3 3", 1), ("3 4 4", 5 / 3), ("4 4 4", 2)],
)
def test_a_mean_of_three_or_more_counts(three, grade):
    found = of(f"a_1.jpg b_2.jpg#2 {three}")
    assert found["a_1", "b_2#2"] == found["b_2#2", "a_1"] == pytest.approx(grade)


def test_own_pairs_of_what_was_judged_count_most():
    found = of("a_1.jpg b_2.jpg#2 1 1 1")
    own = {(f"a_1#{number}") for number in range(5)}
    assert {document for query, document in found if query == "a_1"} == own | {"b_2#2"}
    assert all(found["a_1", caption] == 2 for caption in own)
    assert found["b_2#2", "b_2"] == 2
    assert {query for query, _ in found} == {"a_1", "b_2#2"}


def test_experts_overrule_that_an_own_pair_counts_most():
    found = of("a_1.jpg a_1.jpg#0 3 3 3")
    assert found["a_1", "a_1#0"] == found["a_1#0", "a_1"] == 1
    assert found["a_1", "a_1#1"] == 2


def test_images_and_captions_of_no_split_are_left_out():
    found = of("a_1.jpg z_9.jpg#2 4 4 4", "z_9.jpg a_1.jpg#2 4 4 4", "b_2.jpg c_3.jpg#0 4 4 4")
    assert not any("z_9" in name for pair in found for name in pair)
    assert found["a_1#2", "a_1"] == 2
    assert found["b_2", "c_3#0"] == 2


@pytest.mark.parametrize(
    "line",
    ["a.jpg b.jpg#1 3 3", "a.jpg b.jpg#1 3 3 5", "a.jpg b.jpg 3 3 3", "a.jpg b.jpg#1 3 3 3 3", "a"],
)
def test_another_line_is_refused_with_its_number(line):
    with pytest.raises(CrossmodalError, match=r"ExpertAnnotations\.txt: line 2: "):
        of("a_1.jpg b_2.jpg#2 4 4 4", line)
