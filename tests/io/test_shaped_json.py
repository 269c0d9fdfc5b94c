import pytest
from pydantic import TypeAdapter

from crossmodal.errors import CrossmodalError
from crossmodal.io.shaped_json import conflict, read_shaped, recall

SHAPE = TypeAdapter(dict[str, int])
DAMAGE = ["", "{", "[]", '{"a": "b"}', "[" * 100_000, "\udcff"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "numbers.json"


def test_content_of_the_shape_is_returned(path):
    path.write_text('{"a": 1}')
    assert read_shaped(path, SHAPE) == recall(path, SHAPE, {}) == {"a": 1}


def test_a_missing_file_has_no_content(path):
    assert read_shaped(path, SHAPE) is None
    assert recall(path, SHAPE, {"b": 2}) == {"b": 2}


@pytest.mark.parametrize("content", DAMAGE)
def test_content_of_another_shape_is_refused_or_forgotten(path, content):
    path.write_text(content, errors="surrogateescape")
    with pytest.raises(CrossmodalError, match=r"numbers\.json: .*; make it again"):
        read_shaped(path, SHAPE, "make it again")
    assert recall(path, SHAPE, {}) == {}


def test_conflict_marks_are_named(path):
    path.write_text('{\n<<<<<<< HEAD\n"a": 1\n=======\n"a": 2\n>>>>>>> b\n}')
    with pytest.raises(CrossmodalError, match=r"numbers\.json has conflict marks: see docs/sha"):
        read_shaped(path, SHAPE)


def test_a_file_that_cannot_be_read_has_no_marks(path, monkeypatch):
    path.write_text("<<<<<<< HEAD\n")
    assert conflict(path)
    monkeypatch.setattr(type(path), "read_bytes", lambda path: path.joinpath("x").open("rb"))
    assert not conflict(path)
