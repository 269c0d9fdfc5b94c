from pathlib import Path

import pytest
import yaml

from crossmodal.commands.init import init
from crossmodal.data.prepared import Prepared
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec
from tests.datasets.formats.samples import COUNT, EVERY, SPLITS, TEXTS, content
from tests.project_params import PATH

SPLIT = {"train": "train", "val": "validation", "test": "test"}


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def prepared(path, **options):
    """What is prepared by the overlay that init writes for a path."""
    init(Path(path), "mine", options.get("skip_bad", False), PATH)
    said = yaml.safe_load(Path("mine.yaml").read_text())["datasets"]["mine"]
    del said["plugin"]
    prepare(PrepareSpec(plugin="folder", options=said | options), Path("unread"), Path("prepared"))
    return Prepared("prepared")


@pytest.mark.parametrize("name", EVERY)
def test_each_format_gives_the_same_items(name, capsys):
    EVERY[name](Path("own"))
    dataset = prepared("own")
    by_content = {dataset.read(item.image): item for item in dataset.items}
    assert {*by_content} == {content(n) for n in range(COUNT)}
    for n, split in enumerate(SPLITS):
        item = by_content[content(n)]
        assert [caption.text for caption in dataset.captions_of[item.id]] == TEXTS[n]
        assert dataset.splits[item.id] == SPLIT[split]
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("read "))
    counts = "12 items, with image and text, 24 captions, splits 8 train, 2 validation, 2 test"
    assert line.endswith(counts)
