import pytest

from crossmodal.config.experiment import Group
from crossmodal.config.groups import expand, merged
from crossmodal.errors import CrossmodalError

WIKI = {
    "dataset": "wikipedia",
    "views": {"image": "sift", "text": "lda"},
    "options": {"dims": 5},
    "rows": {
        "cca": {"options": {"ridge": 0.5}},
        "slow": {"of": "cca", "options": {"dims": 9}, "search": {}},
    },
}


def made(**groups):
    """What is said of each experiment of some groups."""
    found = expand({name: Group.model_validate(group) for name, group in groups.items()})
    return {name: merged(said) for members in found.values() for name, said in members.items()}


def test_a_row_is_its_group_but_for_what_it_says():
    found = made(wiki=WIKI)
    assert list(found) == ["wiki_cca", "wiki_slow"]
    assert found["wiki_cca"]["method"] == found["wiki_slow"]["method"] == "cca"
    assert found["wiki_cca"]["options"] == {"dims": 5, "ridge": 0.5}
    assert found["wiki_slow"]["options"] == {"dims": 9, "ridge": 0.5}


def test_group_has_the_rows_of_its_base_but_null_ones():
    other = {"base": "wiki", "views": {"text": "bow"}, "rows": {"cca": None, "sam": {}}}
    found = made(wiki=WIKI, other=other)
    assert list(found)[2:] == ["other_slow", "other_sam"]
    assert found["other_slow"]["views"] == {"image": "sift", "text": "bow"}
    assert found["other_slow"]["options"] == {"dims": 9, "ridge": 0.5}
    assert found["other_sam"]["method"] == "sam"


def test_each_row_is_an_experiment_for_each_variant():
    variants = {"fc7": {"views": {"image": "fc7"}}, "fne": {"views": {"image": "fne"}}}
    found = made(wiki=WIKI | {"variants": variants, "prefix": "w"})
    assert list(found) == ["w_fc7_cca", "w_fne_cca", "w_fc7_slow", "w_fne_slow"]
    assert found["w_fne_slow"]["views"] == {"image": "fne", "text": "lda"}


def test_an_entry_called_like_a_row_changes_it_alone():
    found = made(wiki=WIKI, wiki_cca={"options": {"dims": 3}})
    assert found["wiki_cca"]["options"] == {"dims": 3, "ridge": 0.5}
    assert found["wiki_slow"]["options"]["dims"] == 9


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": WIKI | {"base": "b"}}, "experiments.a: 'b' is unknown"),
        ({"a": {"base": "b"}, "b": {"base": "a"}}, "it is based on itself"),
        ({"a": {"rows": {"x": {"of": "y"}}}}, "experiments.a.rows.x: 'y' is unknown"),
        ({"a": WIKI | {"rows": {"x": None}}}, "nothing to leave out; write {} for a row without"),
        ({"a": WIKI, "b": WIKI | {"prefix": "a"}}, "experiments.b: 'a_cca' is also of 'a'"),
        ({"a": WIKI, "a_cca": WIKI}, "experiments.a_cca: 'a' has an experiment of that name"),
        (
            {"a": WIKI | {"variants": {"b": {}, "b_c": {}}, "rows": {"cca": {}, "c_cca": {}}}},
            "experiments.a: 'a_b_c_cca' is also of 'a'; rename a row or a variant",
        ),
        (
            {"a": WIKI, "b": {"base": "a", "rows": {"cca": None, "slow": None}}},
            "experiments.b: all of its rows are left out",
        ),
        (
            {"a": {"method": "cca", "variants": {"b": {}}}},
            "experiments.a: `variants` and `prefix` are of groups; give it `rows`",
        ),
    ],
)
def test_what_leads_nowhere_or_means_two_things_is_refused(groups, message):
    with pytest.raises(CrossmodalError, match=message):
        made(**groups)
