import pytest

from crossmodal.config.yaml_text import read_yaml
from crossmodal.errors import CrossmodalError


def test_a_key_that_is_there_twice_is_told_with_both_lines(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("a: {b: {c: 1}}\nlist:\n- d: 3\n  e: 1\n  d: 2\n")
    with pytest.raises(CrossmodalError, match="line 5: key 'd' is there already, in line 3"):
        read_yaml(path)


def test_a_key_that_is_twice_on_one_line_is_refused(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("a:\n  cca: {dims: 10, dims: 20}\n")
    with pytest.raises(CrossmodalError, match="line 2: key 'dims' is there already, in line 2"):
        read_yaml(path)


@pytest.mark.parametrize("text", ["a: &x {c: 1}\nb: *x\n", "a: {c: &y 1}\n"])
def test_an_anchor_is_refused_with_the_reason(tmp_path, text):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(CrossmodalError, match=r"line 1: '[xy]' is an anchor.*dvc exp run -S"):
        read_yaml(path)


def test_a_changed_answer_changes_no_later_one(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: {b: [1]}\n")
    read_yaml(path)["a"]["b"].append(2)
    assert read_yaml(path) == {"a": {"b": [1]}}
    path.write_text("a: 2\n")
    assert read_yaml(path) == {"a": 2}
