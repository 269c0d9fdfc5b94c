"""Pictures and captions that people read aloud, as one's own data, with the project's options."""

import os
from collections import Counter
from pathlib import Path

import pytest

from crossmodal.commands.init import init
from crossmodal.data.prepared import Prepared
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec
from tests.project_params import PARAMS, PATH

FOLDERS = ("tuxpaint_stamps", "gcompris_words")

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:.*columns that are not read"),
    pytest.mark.filterwarnings("ignore:.*nearly equal to others and stay in their split"),
]


@pytest.fixture(autouse=True)
def raw(tmp_path, monkeypatch):
    """A project where links lead to both folders."""
    mirror = Path(os.environ.get("CROSSMODAL_MIRROR", "none")).resolve()
    if not all((mirror / name / "items.csv").is_file() for name in FOLDERS):
        pytest.skip("CROSSMODAL_MIRROR has no tuxpaint_stamps and gcompris_words")
    monkeypatch.chdir(tmp_path)
    Path("data/raw").mkdir(parents=True)
    for name in FOLDERS:
        Path("data/raw", name).symlink_to(mirror / name)


def prepared(name):
    prepare(PrepareSpec(**PARAMS.plugin("datasets", name)), Path("unread"), Path(name))
    return Prepared(name)


@pytest.mark.parametrize(
    ("name", "captions", "sizes"),
    [
        ("stamps_fr", 592, {"train": 341, "validation": 59, "test": 192}),
        ("stamps", 2363, {"train": 341, "validation": 59, "test": 192}),
        ("stamps_bg", 587, {"train": 339, "validation": 58, "test": 190}),
        ("stamps_words", 1119, {"train": 533, "validation": 59, "test": 527}),
    ],
)
def test_the_folders_are_read_as_they_lie(name, captions, sizes):
    dataset = prepared(name)
    assert len(dataset.captions) == captions
    assert all(caption.text and caption.audio for caption in dataset.captions)
    assert all(item.image and item.labels for item in dataset.items)
    assert Counter(dataset.splits.values()) == sizes


def test_init_reads_the_stamps_and_says_their_languages(capsys):
    init(Path("data/raw/tuxpaint_stamps"), "own", skip_bad=False, path=PATH)
    said = capsys.readouterr().out
    assert "592 items" in said
    assert "captions: language bg, ca, es, fr (as its column says)" in said
    assert "columns that are not read: english" in said
    assert "language: [bg, ca, es, fr]" in Path("own.yaml").read_text(encoding="utf-8")


def test_the_licence_is_known_and_opens_what_is_made():
    for name in ("stamps", "stamps_fr", "stamps_words"):
        dataset = PARAMS.dataset_of(name)
        assert "GPL-2" in dataset.licence
        assert dataset.redistribution
    assert "CC BY-SA" in PARAMS.dataset_of("stamps_words").licence
