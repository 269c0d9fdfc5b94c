"""Flickr30k (Young et al. 2014): 31,014 photographs in Karpathy's splits, five captions each.

Captions are those of the split file: the authors' `results_20130124.token` before tokenisation. The
769 photographs that the split file leaves out are left out.
"""

from pathlib import Path

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.writer import Writer
from crossmodal.datasets import _karpathy
from crossmodal.io.archives import Archive

IMAGES, SPLITS = "flickr30k-images.tar.gz", "dataset_flickr30k.json"
COUNTS = {"train": 29_000, "validation": 1014, "test": 1000}  # Vilalta et al. 2019, section 4.1
HELP = (
    "Fill in the form at https://forms.illinois.edu/sec/229675; its authors then send you the "
    f"address of {IMAGES}."
)


class Flickr30k(Dataset):
    """Karpathy's splits: 29,000 for training, 1,014 for validation, 1,000 for testing."""

    licence = "research and education only; the photographs belong to Flickr users"
    citation = (
        "P. Young, A. Lai, M. Hodosh, J. Hockenmaier, From image descriptions to visual "
        f"denotations, TACL 2, 2014; splits: {_karpathy.CITATION}"
    )
    sources = (_karpathy.SOURCE, Source(IMAGES, help=HELP))
    mteb_tasks = ("FlickrAudioToImageRetrieval", "FlickrImageToAudioRetrieval")  # of Flickr8k

    def counts(self) -> dict[str, int]:
        """Return images of each split."""
        return COUNTS

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the split file, and the images in the order of their archive."""
        images = _karpathy.read_images(raw, SPLITS)
        with Archive(raw / IMAGES) as archive:
            members = {Path(member).name: member for member in archive.names}
            _karpathy.write(archive, {members.get(i.file, i.file): i for i in images}, out)
