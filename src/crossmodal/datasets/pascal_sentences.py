"""Pascal Sentences (Rashtchian et al. 2010): 1,000 photographs of 20 categories, with captions.

Published as one web page that shows 50 photographs of each category, most with five captions, a few
with four or six. The photographs are those of PASCAL VOC 2008, whose labels name all objects that a
photograph shows, not its category alone.
"""

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from statistics import median
from typing import Literal

import numpy as np
from pydantic import Field

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.prepared import SPLITS
from crossmodal.data.writer import Writer
from crossmodal.datasets._pascal_page import Page
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.delimited_text import read_records
from crossmodal.io.image_files import read_image
from crossmodal.io.progress import track
from crossmodal.plugin import Strict

PAGE, LABELS = "index.html", "voc_labels.csv"
ADDRESS = "http://vision.cs.uiuc.edu/pascal-sentences/"
VOC = "http://host.robots.ox.ac.uk/pascal/VOC/voc2008/"
CATEGORIES = 20
# photographs of each category in train, validation and test
SIZES = (40, 5, 5)
ADDRESSES = (ADDRESS, f"https://web.archive.org/web/2016id_/{ADDRESS}")
CAPTIONS = Source(
    PAGE,
    ADDRESSES,
    help=f"Save the page {ADDRESS} as {PAGE}; its images are not needed.",
)
PHOTOGRAPHS = {
    "voc": Source(
        "VOCtrainval_14-Jul-2008.tar",
        (f"{VOC}VOCtrainval_14-Jul-2008.tar",),
        "7f0ca53c1b5a838fbe946965fc106c6e86832183240af5c88e3f6c306318d42e",
        help=f"Get it from {VOC}.",
    ),
    "page": Source(
        "pascal-sentences.zip",
        ADDRESSES,
        help=f"Pack the photographs of the page {ADDRESS} as <category>/<file>.jpg.",
        of_page=True,
    ),
}
ALL_LABELS = Source(
    LABELS,
    help="Write a CSV with the columns image, <category>/<file>.jpg, and labels, separated by ';': "
    f"the classes of the objects in each photograph's annotation, from {VOC}.",
)


class PascalSentences(Dataset):
    """SAM's protocol: every category split 40, 5, 5 at random."""

    class Options(Strict):
        seed: int = Field(
            ge=0, description="Seed of the split, of which the papers publish the sizes alone."
        )
        photographs: Literal["voc", "page"] = Field(
            "voc",
            description="'voc': those of PASCAL VOC's archive; 'page': those of the page, which "
            "may be smaller.",
        )
        labels: Literal["page", "voc"] = Field(
            "page",
            description="'page': the category alone; 'voc': the classes of all objects, by PASCAL "
            "VOC, without the photographs that it has not labelled.",
        )

    options: Options
    licence = "captions CC BY-SA 3.0; research only: the photographs belong to Flickr users"
    citation = (
        "C. Rashtchian et al., Collecting image annotations using Amazon's Mechanical Turk, "
        "NAACL HLT workshop, 2010; photographs and labels: M. Everingham et al., The PASCAL visual "
        "object classes challenge, IJCV 88, 2010"
    )
    sources: tuple[Source, ...] = (CAPTIONS, *PHOTOGRAPHS.values(), ALL_LABELS)

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.photographs = PHOTOGRAPHS[self.options.photographs]
        self.labelled = self.options.labels == "voc"
        self.sources = (CAPTIONS, self.photographs) + (ALL_LABELS,) * self.labelled

    def counts(self) -> dict[str, int] | None:
        """Return 800, 100 and 100; unknown where photographs without labels are left out."""
        if self.labelled:
            return None
        return {split: CATEGORIES * size for split, size in zip(SPLITS, SIZES, strict=True)}

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the page, and its photographs from the archive; see `Dataset.prepare`."""
        page, images = Page(raw / PAGE), self.photographs.file
        splits = self._split(list(page.captions))
        labels = _read_labels(raw / LABELS, page.captions.keys()) if self.labelled else {}
        chosen = [file for file in page.captions if file in labels or not self.labelled]
        repeated, sides = 0, []
        with Archive(raw / images) as archive:
            members = {self._file(member): member for member in archive.names}
            for file in track(chosen, len(chosen), "pascal_sentences"):
                captions, name = dict.fromkeys(page.captions[file]), self._file(file)
                if name not in members or not captions:
                    raise CrossmodalError(
                        f"{raw}: {file!r} has {len(captions)} captions in {PAGE} and is"
                        f"{' not' * (name not in members)} in {images}; get both again"
                    )
                id, image = file.removesuffix(".jpg"), archive.read(members[name])
                category = file.split("/")[0]
                out.item(id, splits[file], category, labels.get(file, ()), image, ".jpg")
                for number, text in enumerate(captions):
                    out.caption(f"{id}#{number}", id, text)
                repeated += len(page.captions[file]) - len(captions)
                sides.append(min(read_image(image, f"{raw / images}: {file}").size))
        side = median(sides)
        out.remark(
            f"has the photographs of {images}; their shorter side has {side:g} pixels (median)"
        )
        if repeated:
            out.remark(f"has {repeated} repeated captions of a photograph, which count once")
        if left_out := len(page.captions) - len(chosen):
            out.remark(f"leaves out {left_out} photographs without labels in {LABELS}")

    def _file(self, path: str) -> str:
        """Return what tells a photograph in the archive: its file, on the page with its folder."""
        return "/".join(
            PurePosixPath(path).parts[-1 if self.options.photographs == "voc" else -2 :]
        )

    def _split(self, files: list[str]) -> dict[str, str]:
        """Return the split of each photograph, the same number from each category."""
        shuffled = defaultdict(list)
        for file in np.random.default_rng(self.options.seed).permutation(files).tolist():
            shuffled[file.split("/")[0]].append(file)
        order = [split for split, size in zip(SPLITS, SIZES, strict=True) for _ in range(size)]
        for category, members in shuffled.items():
            if len(members) != len(order):
                raise CrossmodalError(
                    f"{PAGE}: shows {len(members)} photographs of {category!r}, not {len(order)}; "
                    "get the page again"
                )
        return {f: s for members in shuffled.values() for f, s in zip(members, order, strict=True)}


def _read_labels(path: Path, files: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels of each photograph that has some.

    Args:
        path: CSV with the columns image and labels, which `;` separates.
        files: Photographs of the page.

    Raises:
        CrossmodalError: If it is no such CSV, or a photograph is unknown, there twice or without
            its category.
    """
    header, *rows = read_records(path, {"image", "labels"}) or [(1, [])]
    if header[1] != ["image", "labels"]:
        raise CrossmodalError(f"{path}: its columns are {header[1]}; need image and labels")
    labels: dict[str, tuple[str, ...]] = {}
    for line, (file, *names) in rows:
        classes = tuple(name.strip() for name in ";".join(names).split(";"))
        if file not in files or file in labels or file.split("/")[0] not in classes:
            raise CrossmodalError(
                f"{path}: row {line}: {file!r} is not on the page, is there twice, or lacks its "
                f"category among {'; '.join(classes)}; correct the row"
            )
        labels[file] = classes
    return labels
