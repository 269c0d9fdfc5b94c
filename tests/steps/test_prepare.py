import pytest

from crossmodal.data.dataset import Dataset
from crossmodal.data.prepared import FILES, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.steps.prepare import prepare
from crossmodal.steps.prepare_in_shards import prepare_in_shards
from crossmodal.workflow.specs import PrepareSpec


class Toy(Dataset):
    """Two items from one file."""

    def __init__(self, test):
        self.test = test

    def counts(self):
        return {"train": 2 - self.test, "test": self.test}

    def prepare(self, raw, out):
        for split, line in zip(["train", "test"], (raw / "list").read_text().split(), strict=True):
            out.item(line, split)
            out.caption(line, line, "words")


@pytest.fixture
def raw(tmp_path, monkeypatch):
    """The published files of a toy dataset, whose plug-in records how it is made."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "list").write_text("first\nsecond\n")

    def make(kind, name, options, where):
        assert (kind, name, where) == ("datasets", "toy", "datasets.mine")
        return Toy(**options)

    monkeypatch.setattr("crossmodal.config.plugins.make", make)
    return tmp_path / "raw"


def test_a_dataset_is_prepared_from_its_published_files(raw, tmp_path):
    prepare(PrepareSpec(plugin="toy", options={"test": 1}), raw, tmp_path / "mine")
    assert Prepared(tmp_path / "mine").splits == {"first": "train", "second": "test"}
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == sorted(FILES)


def test_media_in_shards_make_the_same_dataset(raw, tmp_path):
    spec = PrepareSpec(plugin="toy", options={"test": 1})
    prepare_in_shards(spec, raw, tmp_path / "mine", 1000)
    assert Prepared(tmp_path / "mine").splits == {"first": "train", "second": "test"}
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == sorted([*FILES, "media"])
    with pytest.raises(CrossmodalError, match="1 items in split 'train', but the dataset declar"):
        prepare_in_shards(PrepareSpec(plugin="toy", options={"test": 2}), raw, tmp_path / "mine", 9)


def test_a_dataset_of_another_size_than_declared_is_not_written(raw, tmp_path):
    with pytest.raises(CrossmodalError, match="1 items in split 'train', but the dataset declar"):
        prepare(PrepareSpec(plugin="toy", options={"test": 2}), raw, tmp_path / "mine")
    assert list((tmp_path / "mine").iterdir()) == []
