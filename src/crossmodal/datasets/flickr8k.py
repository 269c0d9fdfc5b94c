"""Flickr8k (Hodosh et al. 2013): 8,000 photographs in official splits, five captions each."""

from collections import defaultdict
from pathlib import Path
from typing import ClassVar

from crossmodal.archives import Archive
from crossmodal.datasets.base import Dataset, Source
from crossmodal.errors import CrossmodalError
from crossmodal.prepared import Writer
from crossmodal.progress import track

HOSTS = (
    "https://github.com/jbrownlee/Datasets/releases/download/Flickr8k",
    "http://nlp.cs.illinois.edu/HockenmaierGroup/Framing_Image_Description",
)
HELP = "Its authors give it out at https://forms.illinois.edu/sec/1713398."
IMAGES, TEXTS, CAPTIONS = "Flickr8k_Dataset.zip", "Flickr8k_text.zip", "Flickr8k.token.txt"
LISTS = {
    "train": "Flickr_8k.trainImages.txt",
    "validation": "Flickr_8k.devImages.txt",
    "test": "Flickr_8k.testImages.txt",
}
CAPTIONS_PER_IMAGE = 5


class Flickr8k(Dataset):
    """The official splits; captions of images in no split are left out."""

    licence = "research and education only; the photographs belong to Flickr users"
    citation = "M. Hodosh, P. Young, J. Hockenmaier, Framing image description, JAIR 47, 2013"
    sources: ClassVar = tuple(
        Source(file, tuple(f"{host}/{file}" for host in HOSTS), help=HELP)
        for file in (IMAGES, TEXTS)
    )

    def counts(self) -> dict[str, int]:
        """The official splits."""
        return {"train": 6000, "validation": 1000, "test": 1000}

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the two archives; see `Dataset.prepare`."""
        with Archive(raw / TEXTS) as texts, Archive(raw / IMAGES) as images:
            captions = _read_captions(texts.text(CAPTIONS))
            members = {Path(member).name: member for member in images.names}
            lists = {split: texts.text(name).split() for split, name in LISTS.items()}
            files = [(split, file) for split, listed in lists.items() for file in listed]
            for split, file in track(files, len(files), "prepare flickr8k"):
                if file not in members or len(captions[file]) < CAPTIONS_PER_IMAGE:
                    raise CrossmodalError(
                        f"{raw}: {file!r} of split {split!r} has {len(captions[file])} captions "
                        f"in {TEXTS} and is{' not' * (file not in members)} in {IMAGES}; get both "
                        "again"
                    )
                id, image = Path(file).stem, images.read(members[file])
                out.item(id, split, image=image, suffix=".jpg")
                for number, text in sorted(captions[file].items())[:CAPTIONS_PER_IMAGE]:
                    out.caption(f"{id}#{number}", id, text)


def _read_captions(text: str) -> dict[str, dict[int, str]]:
    """Captions by image file and number; lines are <file>#<number> TAB <caption>.

    One id of the official file, `2258277193_586949ec62.jpg.1`, names no image; no split lists it.
    """
    captions: dict[str, dict[int, str]] = defaultdict(dict)
    for line, content in enumerate(text.splitlines(), 1):
        name, tab, caption = content.partition("\t")
        file, mark, number = name.rpartition("#")
        if not (tab and mark and number.isdigit() and caption.strip()):
            raise CrossmodalError(
                f"{CAPTIONS}: line {line}: {content!r} is not <file>#<number>, tab, caption"
            )
        captions[file][int(number)] = caption.strip()
    return captions
