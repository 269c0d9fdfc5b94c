"""NUS-WIDE (Chua et al. 2009): 269,648 photographs of Flickr, their tags, and 81 concepts.

Three protocols: `10k` and `top10` keep the photographs of exactly one concept, if it is one of the
ten largest (SAM; Feng et al. 2014; Peng et al. 2018); `81` keeps all concepts (CMOLRS). The texts
are the 1,000 most frequent tags, as the authors counted them: the published feature `tags`. All
tags of a photograph, which may have none, are its caption.
"""

from pathlib import Path, PurePosixPath
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.writer import Writer
from crossmodal.datasets._sizes import Sizes, SizesOption
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.progress import track
from crossmodal.plugin import Strict

SITE = "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide"
HOSTS = (SITE, "http://dl.nextcenter.org/public/nuswide")
LISTS, CONCEPTS = "ImageList.zip", "ConceptsList.zip"
LABELS, TAGS, IMAGES = "Groundtruth.zip", "NUS_WID_Tags.zip", "Flickr.zip"
IMAGES_HELP = (
    f"The authors send the photographs on request, see {SITE}/NUS-WIDE.html: pack the folder "
    f"Flickr, with its 704 sub-folders, as {IMAGES}. Their list of addresses, NUS-WIDE-urls.rar, "
    "does not suffice: many photographs are no longer online, so no split would be complete."
)
PHOTOGRAPHS, PER_CONCEPT = 269_648, 1000
# as SAM prints them
TOP10 = (
    *("person", "animal", "sky", "window", "water"),
    *("flowers", "food", "toy", "grass", "clouds"),
)
Protocol = Literal["10k", "top10", "81"]
# what the papers train and test on, validation items still in the part they are drawn from
COUNTS = {
    "10k": {"train": 9000, "test": 1000},
    "top10": {"train": 42941, "test": 28661},
    "81": {"train": 79659, "test": 53550},
}
VALIDATION_FROM = {"10k": "train", "top10": "test", "81": "train"}
BASES = {
    "top10": "SAM prints neither number: they are inferred from its 23,661 test items",
    "81": "CMOLRS prints these numbers, but which photographs they are is inferred",
}


class NusWide(Dataset):
    """The official lists, labels and tags, cut to what a paper uses."""

    class Options(Strict):
        protocol: Protocol = Field(
            description="'10k': 1,000 photographs of each of ten concepts, a tenth of them for "
            "testing; 'top10': all photographs of ten concepts, in the official parts; '81': all "
            "photographs with a tag of the 1,000 and a concept among their tags, in the official "
            "parts."
        )
        validation: int = Field(
            ge=1,
            description="Number of validation items: the same number of each concept (10k), from "
            "the test part (top10), or from the training part (81).",
        )
        seed: int = Field(ge=0, description="Seed of the draws.")
        sizes: SizesOption = None

        @model_validator(mode="after")
        def _can_be_drawn(self) -> Self:
            parts = self.sizes.model_dump() if self.sizes else COUNTS[self.protocol]
            available = parts[VALIDATION_FROM[self.protocol]]
            balanced = self.protocol == "10k"
            if balanced and self.sizes:
                raise ValueError("sizes are those of the draw for '10k'; set null")
            if self.validation >= available or (balanced and self.validation % 10):
                raise ValueError(
                    f"validation is {self.validation}, but is drawn from {available} items"
                    + " of ten concepts, equally" * balanced
                )
            return self

    options: Options
    licence = "research, on request; the photographs belong to Flickr users"
    citation = "T.-S. Chua et al., NUS-WIDE: a real-world web image database, CIVR 2009"
    sources = (
        *(
            Source(
                file,
                tuple(f"{host}/{file}" for host in HOSTS),
                help=f"Get it from {SITE}/NUS-WIDE.html.",
            )
            for file in (LISTS, CONCEPTS, LABELS, TAGS)
        ),
        Source(IMAGES, help=IMAGES_HELP),
    )

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        protocol = self.options.protocol
        self.sizes = Sizes(COUNTS[protocol], self.options.sizes, BASES.get(protocol, ""))
        self.validation_from = VALIDATION_FROM[protocol]

    def counts(self) -> dict[str, int]:
        """Return the papers' counts, with validation items taken out of one part."""
        parts, part, size = self.sizes.parts, self.validation_from, self.options.validation
        return {**parts, part: parts[part] - size, "validation": size}

    def departure(self) -> str:
        """See `Dataset.departure`."""
        return self.sizes.departure()

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read lists, labels, tags and photographs; see `Dataset.prepare`."""
        paths, trained = _read_lists(raw / LISTS)
        concepts, labels = _read_labels(raw)
        with Archive(raw / TAGS) as archive:
            tags = _flags(archive, "AllTags1k.txt", PHOTOGRAPHS)
            concept_tags = _flags(archive, "AllTags81.txt", PHOTOGRAPHS)
            captions = _read_captions(archive, paths)
        splits = self._split(labels, concepts, trained, np.any(tags, 1) & np.any(concept_tags, 1))
        if self.options.protocol in BASES:
            self.sizes.check(splits.values(), self.validation_from, out.folder)
        with Archive(raw / IMAGES) as images:
            root = images.locate(paths[0]).removesuffix(paths[0])
            for row in track(splits, len(splits), f"nuswide {self.options.protocol}"):
                id = paths[row].removesuffix(".jpg")
                names = tuple(concepts[c] for c in np.flatnonzero(labels[row]))
                category = "" if self.options.protocol == "81" else names[0]
                image = images.read(f"{root}{paths[row]}")
                out.item(id, splits[row], category, names, image, ".jpg")
                out.caption(f"{id}#0", id, captions[row], tags=True)
        out.published("tags", tags[list(splits)].astype(np.uint8))

    def _split(
        self, labels: np.ndarray, concepts: list[str], trained: np.ndarray, tagged: np.ndarray
    ) -> dict[int, str]:
        """Return the split of each row that the protocol keeps, in order.

        Args:
            labels: Concepts of each photograph, (n, 81) bool.
            concepts: Their names.
            trained: Whether a photograph is of the official training part, (n,).
            tagged: Whether it has tags, (n,).
        """
        protocol, rng = self.options.protocol, np.random.default_rng(self.options.seed)
        parts = np.where(trained, "train", "test").astype("<U10")
        if protocol == "81":
            rows = np.flatnonzero(tagged)
        else:
            ten = [concepts.index(name) for name in TOP10]
            rows = np.flatnonzero((labels.sum(1) == 1) & labels[:, ten].any(1))
        if protocol == "10k":
            rows = self._draw_10k(rows, labels[rows].argmax(1), parts, rng)
        else:
            source = rows[parts[rows] == self.validation_from]
            # a part that is too small is refused afterwards
            size = min(self.options.validation, len(source))
            parts[rng.choice(source, size, replace=False)] = "validation"
        return {int(row): str(parts[row]) for row in rows}

    def _draw_10k(
        self, rows: np.ndarray, concept: np.ndarray, parts: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw the same number of rows, and their parts, from each concept."""
        validation, test = self.options.validation // 10, COUNTS["10k"]["test"] // 10
        drawn = []
        for number in np.unique(concept):
            chosen = rng.permutation(rows[concept == number])[:PER_CONCEPT]
            parts[chosen] = "train"
            parts[chosen[:validation]] = "validation"
            parts[chosen[validation : validation + test]] = "test"
            drawn.append(chosen)
        return np.sort(np.concatenate(drawn))


def _read_lists(path: Path) -> tuple[list[str], np.ndarray]:
    """Return the path of each photograph, and whether it is of the official training part, (n,)."""
    with Archive(path) as archive:
        paths, train, test = (
            [line.strip().replace("\\", "/") for line in archive.text(name).splitlines()]
            for name in ("Imagelist.txt", "TrainImagelist.txt", "TestImagelist.txt")
        )
    if not len(paths) == len(set(paths)) == PHOTOGRAPHS or sorted(train + test) != sorted(paths):
        raise CrossmodalError(
            f"{path}: {len(set(paths))} photographs, of them {len(set(train))} to train and "
            f"{len(set(test))} to test; need {PHOTOGRAPHS}, each in one part; get the archive again"
        )
    trained = set(train)
    return paths, np.array([path in trained for path in paths])


def _read_labels(raw: Path) -> tuple[list[str], np.ndarray]:
    """Return names of the concepts, and which of them each photograph shows, (n, 81) bool."""
    with Archive(raw / CONCEPTS) as archive:
        concepts = archive.text("Concepts81.txt").split()
    for name in TOP10:
        if name not in concepts:
            raise CrossmodalError(f"{raw / CONCEPTS}: no concept {name!r}; get the archive again")
    with Archive(raw / LABELS) as archive:
        columns = [
            _flags(archive, f"AllLabels/Labels_{name}.txt", PHOTOGRAPHS) for name in concepts
        ]
    return concepts, np.concatenate(columns, axis=1)


def _read_captions(archive: Archive, paths: list[str]) -> list[str]:
    """Return all tags of each photograph; lines are <number of the photograph> <tag> <tag> ..."""
    captions: list[str] = []
    # not splitlines: tags may contain characters that Python counts as line ends
    for path, line in zip(paths, archive.text("All_Tags.txt").split("\n"), strict=False):
        number, *tags = line.split() or [""]
        if PurePosixPath(path).stem.rpartition("_")[2] != number:
            break
        captions.append(" ".join(tags))
    if len(captions) != len(paths):
        raise CrossmodalError(
            f"{archive.path}: All_Tags.txt: line {len(captions) + 1} does not belong to "
            f"photograph {paths[len(captions)]!r}; get the archive again"
        )
    return captions


def _flags(archive: Archive, name: str, rows: int) -> np.ndarray:
    """Return a text file of zeros and ones with spaces between, (rows, columns) bool.

    The largest has 540 MB, so it is not parsed: every character that is not white space is a flag.
    """
    characters = np.frombuffer(archive.read(archive.locate(name)), np.uint8)
    marks = characters[characters > ord(" ")]
    if not marks.size or len(marks) % rows or marks.min() < ord("0") or marks.max() > ord("1"):
        raise CrossmodalError(
            f"{archive.path}: {name}: not {rows} lines of zeros and ones; get the archive again"
        )
    return (marks == ord("1")).reshape(rows, -1)
