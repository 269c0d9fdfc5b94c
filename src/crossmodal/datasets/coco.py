"""MSCOCO (Lin et al. 2014) in Karpathy's splits: 82,783 training images, five captions each.

Vilalta et al. 2019 train on the official training images alone, without the `restval` part of the
split file, and take the first 1,000 of its 5,000 validation and of its 5,000 test images, which are
official validation images.
"""

from pathlib import Path

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.prepared import SPLITS
from crossmodal.data.writer import Writer
from crossmodal.datasets import _karpathy
from crossmodal.io.archives import Archive

FILE = "dataset_coco.json"
FOLDERS = ("train2014", "val2014")
# as Vilalta et al. 2019, section 4.1
COUNTS = {"train": 82_783, "validation": 1000, "test": 1000}
HOST = "http://images.cocodataset.org/zips"


class Coco(Dataset):
    """82,783 images for training, 1,000 for validation, 1,000 for testing."""

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
    )

    def counts(self) -> dict[str, int]:
        """Return images of each split."""
        return COUNTS

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the split file, and the images in the order of their archives."""
        images = _karpathy.read_images(raw, FILE)
        by_split = {split: [i for i in images if i.split == split] for split in SPLITS}
        chosen = [i for split, count in COUNTS.items() for i in by_split[split][:count]]
        for folder in FOLDERS:
            wanted = {image.file: image for image in chosen if image.file.startswith(f"{folder}/")}
            with Archive(raw / f"{folder}.zip") as archive:
                _karpathy.write(archive, wanted, out)
