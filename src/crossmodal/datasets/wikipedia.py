"""Wikipedia featured articles (Rasiwasia et al. 2010): 2,866 image-text pairs, 10 categories.

The pairs come with the authors' own features: 128-d SIFT histograms and 10-d LDA topic proportions;
the whole archive holds their photographs and articles too. The code of Ding et al. (TMM 2017) has
stronger ones in the same order: a 128-d image feature, most likely of a CNN and reduced by PCA, and
means of 100-d word vectors.
The publisher has a training and a test part and no validation part. CMOLRS tests on all 693 test
items, so its validation items are drawn from the training part; SAM, as all who follow Peng et al.,
tests on 462 of them, and its validation items are the other 231.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.held_out import HeldOut
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.matlab import read_matlab
from crossmodal.io.progress import track
from crossmodal.plugin import Strict

ARCHIVE = "http://www.svcl.ucsd.edu/projects/crossmodal/wikipedia_dataset.zip"
PARTS = {"train": ("trainset_txt_img_cat.list", "tr"), "test": ("testset_txt_img_cat.list", "te")}
COUNTS = {"train": 2173, "test": 693}
# places in the test list of SAM's validation items: a permutation that Peng et al. published
SAM_VALIDATION = (
    "0 1 2 6 9 10 13 17 20 21 22 26 27 35 37 38 40 42 48 50 56 57 67 68 69 70 75 80 85 86 89 91 "
    "92 93 94 96 100 103 105 112 113 120 128 129 131 133 145 146 147 149 151 152 155 156 158 "
    "162 169 171 173 177 179 180 181 185 191 194 197 198 208 210 212 214 220 221 225 235 236 "
    "237 238 249 250 251 255 260 261 268 271 275 282 283 285 287 290 291 292 297 298 303 308 "
    "328 329 332 336 338 339 340 345 346 350 353 356 357 360 363 368 377 378 379 388 391 393 "
    "395 398 401 402 407 409 410 411 413 417 418 420 422 427 430 434 439 440 441 445 447 449 "
    "451 454 456 461 462 466 467 468 472 475 477 478 481 487 489 492 496 503 508 509 517 521 "
    "523 524 526 527 531 534 540 545 547 550 556 562 563 564 574 575 577 580 581 582 583 585 "
    "586 587 589 590 591 593 594 600 602 603 606 608 611 613 619 625 632 635 636 637 638 639 "
    "642 643 649 651 654 655 659 661 664 665 667 668 672 674 675 679 681 682 686 687 688 690 "
)


def _source(file: str, sha256: str) -> Source:
    help_text = f"Get {ARCHIVE.rsplit('/', 1)[1]} from its authors and unpack {file}."
    return Source(file, (f"{ARCHIVE}#{file}",), sha256, help=help_text)


LISTS_AND_FEATURES = (
    _source("categories.list", "4929f3ee00e9de9ffe11f9ab18fc8919b0f6182cc801309409df2f2d05e2b0f5"),
    _source(
        "trainset_txt_img_cat.list",
        "30c1ba8afbe90da5986de9b12496b6dd2e4680d3876b79ab7aae2e437d5819a3",
    ),
    _source(
        "testset_txt_img_cat.list",
        "ec3123ee31cc89dd95fbeb23eb73b2ecfd1d8909bba863723471aad99408c1eb",
    ),
    _source("raw_features.mat", "ca628f765a69575e168ab29eb97f5ade12fadf47b31de1328c7ff631c7f225ae"),
)
PACKED = Source(ARCHIVE.rsplit("/", 1)[1], (ARCHIVE,), help=f"Get it from its authors, {ARCHIVE}.")
STRONG = Source(
    "cnn_wordvec.mat",
    help="Get it from the research code of Ding et al., Cross-modal hashing via rank-order "
    "preserving, TMM 2017.",
    folder="wikipedia_strong",
)
# letters of its matrices, their names here and their columns
CLASSIC = {"I": ("sift", 128), "T": ("lda", 10)}
STRONGER = {"I": ("cnn", 128), "T": ("word_vectors", 100)}
TEXT = re.compile("<text>(.*)</text>", re.DOTALL)


class Wikipedia(Dataset):
    """The official training and test parts, with the published SIFT and LDA features."""

    class Options(Strict):
        protocol: Literal["cmolrs", "sam"] = Field(
            description="'cmolrs': validation items are drawn from the training part; 'sam': they "
            "are the published 231 of the test part."
        )
        validation: int = Field(ge=1, lt=2173, description="Number of validation items.")
        seed: int = Field(ge=0, description="Seed of the draw.")
        media: bool = Field(
            False,
            description="Whether items have their photograph and their article, from the whole "
            "archive, for other features than the published ones.",
        )
        strong: bool = Field(
            False,
            description="Whether items have the stronger features too, `cnn` and `word_vectors`.",
        )

        @model_validator(mode="after")
        def _as_published(self) -> Self:
            published = len(SAM_VALIDATION.split())
            if self.protocol == "sam" and self.validation != published:
                raise ValueError(f"validation is {self.validation}, but 'sam' has {published}")
            return self

    options: Options
    licence = (
        "Wikipedia texts: CC BY-SA; images: their own licences; features: research use; stronger "
        "features: none stated"
    )
    citation = (
        "N. Rasiwasia et al., A new approach to cross-modal multimedia retrieval, MM 2010; "
        "stronger features: K. Ding et al., Cross-modal hashing via rank-order preserving, "
        "TMM 19, 2017"
    )
    sources: tuple[Source, ...] = (*LISTS_AND_FEATURES, PACKED, STRONG)

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.sources = LISTS_AND_FEATURES + (PACKED,) * self.options.media
        self.sources += (STRONG,) * self.options.strong
        part, published = "train", None
        if self.options.protocol == "sam":
            part, published = "test", frozenset(map(int, SAM_VALIDATION.split()))
        self.held_out = HeldOut(COUNTS, self.options.validation, self.options.seed, part, published)

    def counts(self) -> dict[str, int]:
        """Return published counts, with validation items taken out of one part."""
        return self.held_out.counts()

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the lists, the feature matrices and the archive; see `Dataset.prepare`."""
        categories = _read_lines(raw / "categories.list")
        listed = [
            (self.held_out.split(part, row), *entry)
            for part, (file, _) in PARTS.items()
            for row, entry in enumerate(_read_list(raw / file, categories))
        ]
        if self.options.media:
            _add_media(raw / PACKED.file, listed, out)
        else:
            for split, _, image, category in listed:
                out.item(image, split, category)
        features = _read_features(raw / "raw_features.mat", CLASSIC)
        if self.options.strong:
            features |= _read_features(raw / STRONG.file, STRONGER)
        for name, matrix in features.items():
            out.published(name, matrix)


def _add_media(path: Path, listed: list[tuple[str, str, str, str]], out: Writer) -> None:
    """Add items with their photographs, and their articles as captions.

    Args:
        path: The archive, with images/<category>/<image>.jpg and texts/<text>.xml.
        listed: Split, text, image and category of each item.
        out: Takes them.
    """
    with Archive(path) as archive:
        for split, text, image, category in track(listed, len(listed), "wikipedia"):
            photograph = archive.read(archive.locate(f"images/{category}/{image}.jpg"))
            out.item(image, split, category, image=photograph, suffix=".jpg")
            member = archive.locate(f"texts/{text}.xml")
            # read as text: an article may hold what XML does not allow
            match = TEXT.search(archive.read(member).decode("utf-8", "replace"))
            if not match:
                raise CrossmodalError(f"{path}: {member}: has no <text>; get the archive again")
            words = " ".join(html.unescape(match[1]).split())
            out.caption(f"{image}#0", image, words)


def _read_lines(path: Path) -> list[str]:
    """Return lines of a text file, but for empty ones at its end."""
    try:
        return path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CrossmodalError(f"{path}: {error}; get the file again") from error


def _read_features(path: Path, published: dict[str, tuple[str, int]]) -> dict[str, np.ndarray]:
    """Return the published matrices, training part above test part.

    Args:
        path: Matlab file with the matrices `<letter>_tr` and `<letter>_te`.
        published: Letters, names and columns of the matrices.
    """
    keys = [f"{prefix}_{suffix}" for prefix in published for _, suffix in PARTS.values()]
    matrices = read_matlab(path, keys)
    features = {}
    for prefix, (name, width) in published.items():
        parts = []
        for part, (_, suffix) in PARTS.items():
            key, shape = f"{prefix}_{suffix}", (COUNTS[part], width)
            matrix = np.asarray(matrices[key])
            if matrix.shape != shape or matrix.dtype.kind not in "fiu":
                raise CrossmodalError(f"{path}: no matrix {key!r} of {shape}; get the file again")
            parts.append(matrix)
        features[name] = np.concatenate(parts).astype(np.float32)
    return features


def _read_list(path: Path, categories: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield text, image and category of each line; the file numbers categories from 1."""
    numbers = {str(n): name for n, name in enumerate(categories, 1)}
    for number, line in enumerate(_read_lines(path), 1):
        fields = line.split("\t")
        if len(fields) != 3 or fields[2].strip() not in numbers:
            raise CrossmodalError(
                f"{path}: line {number}: {line!r} is not <text>, <image>, <1..{len(categories)}>; "
                "get the file again"
            )
        yield fields[0], fields[1], numbers[fields[2].strip()]
