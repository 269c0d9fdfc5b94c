"""MSCOCO (Lin et al. 2014) in Karpathy's splits: 82,783 training images, five captions each.

Vilalta et al. 2019 train on the official training images alone, without the `restval` part of the
split file, and take the first 1,000 of its 5,000 validation and of its 5,000 test images, which are
official validation images.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.prepared import SPLITS
from crossmodal.data.qrels import Judgement
from crossmodal.data.writer import Writer
from crossmodal.datasets import _coco_positives, _karpathy
from crossmodal.io.archives import Archive
from crossmodal.plugin import Strict

FILE = "dataset_coco.json"
FOLDERS = ("train2014", "val2014")
TESTED = "val2014"  # has the images for validation and testing
# as Vilalta et al. 2019, section 4.1
COUNTS = {"train": 82_783, "validation": 1000, "test": 1000}
WHOLE_TEST = 5000  # images of the split file's test part
PLAUSIBLE = tuple(
    Source(file, help="Get it by the link of https://github.com/naver-ai/eccv-caption.")
    for file in _coco_positives.PLAUSIBLE
)
HOST = "http://images.cocodataset.org/zips"


class Coco(Dataset):
    """82,783 images for training, 1,000 for validation, 1,000 or 5,000 for testing."""

    class Options(Strict):
        whole_test: bool = Field(
            False,
            description="Whether all 5,000 test images of the split file are for testing, not the "
            "first 1,000; with all, tables may name the qrels eccv, cxc and plausible.",
        )

    options: Options

    licence = "captions CC BY 4.0; the photographs belong to Flickr users"
    citation = (
        "T.-Y. Lin et al., Microsoft COCO: Common objects in context, ECCV 2014; "
        f"splits: {_karpathy.CITATION}"
    )
    sources = (
        _karpathy.SOURCE,
        Source(
            "train2014.zip",
            (f"{HOST}/train2014.zip",),
            sha256="ede4087e640bddba550e090eae701092534b554b42b05ac33f0300b984b31775",
            bytes=13_510_573_713,
            help="Get train2014.zip from https://cocodataset.org/#download.",
        ),
        Source(
            "val2014.zip",
            (f"{HOST}/val2014.zip",),
            sha256="fe9be816052049c34717e077d9e34aa60814a55679f804cd043e3cbee3b9fde0",
            bytes=6_645_013_297,
            help="Get val2014.zip from https://cocodataset.org/#download.",
        ),
        *PLAUSIBLE,
    )

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.sources = tuple(source for source in self.sources if source not in PLAUSIBLE)
        if self.options.whole_test:
            packed = dict.fromkeys(_coco_positives.PACKED, (_karpathy.ARCHIVE,))
            plausible = (_karpathy.ARCHIVE, *_coco_positives.PLAUSIBLE)
            self.qrels = packed | {"plausible": plausible}

    def counts(self) -> dict[str, int]:
        """Return images of each split."""
        return COUNTS | ({"test": WHOLE_TEST} if self.options.whole_test else {})

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the split file and the images, those for testing in the order of the split file."""
        images = _karpathy.read_images(raw, FILE)
        by_split = {split: [i for i in images if i.split == split] for split in SPLITS}
        chosen = [i for split, count in self.counts().items() for i in by_split[split][:count]]
        for folder in FOLDERS:
            wanted = {image.file: image for image in chosen if image.file.startswith(f"{folder}/")}
            with Archive(raw / f"{folder}.zip") as archive:
                # five folds of the test images are consecutive images of the split file
                _karpathy.write(archive, wanted, out, as_listed=folder == TESTED)

    def judge(self, name: str, raw: Path) -> Iterator[Judgement]:
        """Read which captions answer images, and which images captions; see `Dataset.judge`."""
        of_images, of_captions = _coco_positives.positive_files(name, raw)
        images, captions = _karpathy.read_ids(raw, FILE)
        yield from _coco_positives.judgements(of_images, images, captions)
        yield from _coco_positives.judgements(of_captions, captions, images)
