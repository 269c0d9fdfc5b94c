"""Pascal Sentences (Rashtchian et al. 2010): 1,000 photographs of 20 categories, with captions.

Published as one web page that shows 50 photographs of each category, most with five captions, a few
with four or six; the photographs themselves are those of PASCAL VOC 2008.
"""

import re
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

import numpy as np
from pydantic import Field

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.prepared import SPLITS
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.progress import track
from crossmodal.plugin import Strict

PAGE, IMAGES = "index.html", "VOCtrainval_14-Jul-2008.tar"
ADDRESS = "http://vision.cs.uiuc.edu/pascal-sentences/"
CATEGORIES = 20
# photographs of each category in train, validation and test
SIZES = (40, 5, 5)


class PascalSentences(Dataset):
    """SAM's protocol: every category split 40, 5, 5 at random."""

    class Options(Strict):
        seed: int = Field(
            ge=0, description="Seed of the split, of which the papers publish the sizes alone."
        )

    options: Options
    licence = "research; the photographs belong to Flickr users"
    citation = (
        "C. Rashtchian et al., Collecting image annotations using Amazon's Mechanical Turk, "
        "NAACL HLT workshop, 2010"
    )
    sources = (
        Source(
            PAGE,
            (ADDRESS, f"https://web.archive.org/web/2016id_/{ADDRESS}"),
            help=f"Save the page {ADDRESS} as {PAGE}; its images are not needed.",
        ),
        Source(
            IMAGES,
            (f"http://host.robots.ox.ac.uk/pascal/VOC/voc2008/{IMAGES}",),
            "7f0ca53c1b5a838fbe946965fc106c6e86832183240af5c88e3f6c306318d42e",
            help="Get it from http://host.robots.ox.ac.uk/pascal/VOC/voc2008/.",
        ),
    )

    def counts(self) -> dict[str, int]:
        """Return 800, 100 and 100."""
        return {split: CATEGORIES * size for split, size in zip(SPLITS, SIZES, strict=True)}

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the page, and its photographs from the archive; see `Dataset.prepare`."""
        page = _Page(raw / PAGE)
        splits = self._split(list(page.captions))
        with Archive(raw / IMAGES) as archive:
            members = {PurePosixPath(m).name: m for m in archive.names if "/JPEGImages/" in m}
            for file, captions in track(page.captions.items(), len(splits), "pascal_sentences"):
                category, name = file.split("/")
                if name not in members or not captions:
                    raise CrossmodalError(
                        f"{raw}: {file!r} has {len(captions)} captions in {PAGE} and is"
                        f"{' not' * (name not in members)} in {IMAGES}; get both again"
                    )
                id, image = file.removesuffix(".jpg"), archive.read(members[name])
                out.item(id, splits[file], category, image=image, suffix=".jpg")
                for number, text in enumerate(captions):
                    out.caption(f"{id}#{number}", id, text)

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


class _Page(HTMLParser):
    """Captions by `<category>/<file>.jpg`, in the page's order.

    A photograph is in one cell of a table, its captions are in the cells that follow.
    """

    FILE = re.compile(r"([a-z]+/[^/]+\.jpg)$")

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.captions: dict[str, list[str]] = {}
        self._cell, self._file = "", ""
        try:
            # some dashes and quotation marks are not UTF-8
            self.feed(path.read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            raise CrossmodalError(f"{path}: {error}; get the file again") from error
        if not self.captions:
            raise CrossmodalError(f"{path}: shows no photographs; get the page again")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a photograph, or a cell."""
        if tag == "img" and (match := self.FILE.search(dict(attrs).get("src") or "")):
            self._file = match[1]
            if self._file in self.captions:
                raise CrossmodalError(f"{PAGE}: {self._file!r} occurs twice; get the page again")
            self.captions[self._file] = []
        if tag == "td":
            self._cell = ""

    def handle_data(self, data: str) -> None:
        """Collect the text of a cell."""
        self._cell += data

    def handle_endtag(self, tag: str) -> None:
        """End a cell, whose text is a caption of the last photograph."""
        if tag == "td":
            text = " ".join(self._cell.split())
            if text and self._file:
                self.captions[self._file].append(text)
            self._cell = ""
