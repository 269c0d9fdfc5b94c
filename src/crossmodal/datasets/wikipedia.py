"""Wikipedia featured articles (Rasiwasia et al. 2010): 2,866 image-text pairs, 10 categories.

The pairs come with the authors' own features: 128-d SIFT histograms and 10-d LDA topic proportions.
The publisher has a training and a test part and no validation part; validation items are drawn from
the training part, so that all 693 test items are tested on, as CMOLRS does.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import scipy.io
from pydantic import Field

from crossmodal.datasets.base import Dataset, Source
from crossmodal.errors import CrossmodalError
from crossmodal.prepared import Writer

ARCHIVE = "http://www.svcl.ucsd.edu/projects/crossmodal/wikipedia_dataset.zip"
PARTS = {"train": ("trainset_txt_img_cat.list", "tr"), "test": ("testset_txt_img_cat.list", "te")}
COUNTS = {"train": 2173, "test": 693}


def _source(file: str, sha256: str) -> Source:
    help_text = f"Get {ARCHIVE.rsplit('/', 1)[1]} from its authors and unpack {file}."
    return Source(file, (f"{ARCHIVE}#{file}",), sha256, help=help_text)


class Wikipedia(Dataset):
    """The official training and test parts, with the published SIFT and LDA features.

    Args:
        validation: Items drawn at random from the training part, for validation.
        seed: Seeds the draw.
    """

    licence = "Wikipedia texts: CC BY-SA; images: their own licences; features: research use"
    citation = "N. Rasiwasia et al., A new approach to cross-modal multimedia retrieval, MM 2010"
    sources: ClassVar = (
        _source(
            "categories.list", "4929f3ee00e9de9ffe11f9ab18fc8919b0f6182cc801309409df2f2d05e2b0f5"
        ),
        _source(
            "trainset_txt_img_cat.list",
            "30c1ba8afbe90da5986de9b12496b6dd2e4680d3876b79ab7aae2e437d5819a3",
        ),
        _source(
            "testset_txt_img_cat.list",
            "ec3123ee31cc89dd95fbeb23eb73b2ecfd1d8909bba863723471aad99408c1eb",
        ),
        _source(
            "raw_features.mat", "ca628f765a69575e168ab29eb97f5ade12fadf47b31de1328c7ff631c7f225ae"
        ),
    )

    def __init__(
        self,
        validation: Annotated[int, Field(ge=1, lt=2173)],
        seed: Annotated[int, Field(ge=0)],
    ) -> None:
        self.validation = validation
        self.seed = seed

    def counts(self) -> dict[str, int]:
        """Published counts, with validation items taken out of the training part."""
        return {
            "train": COUNTS["train"] - self.validation,
            "validation": self.validation,
            "test": COUNTS["test"],
        }

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the lists and the feature matrices; see `Dataset.prepare`."""
        categories = _read_lines(raw / "categories.list")
        rng = np.random.default_rng(self.seed)
        held_out = set(rng.choice(COUNTS["train"], self.validation, replace=False))
        for part, (file, _) in PARTS.items():
            for row, (image, category) in enumerate(_read_list(raw / file, categories)):
                split = "validation" if part == "train" and row in held_out else part
                out.item(image, split, category)
        for name, matrix in _read_features(raw / "raw_features.mat").items():
            out.published(name, matrix)


def _read_lines(path: Path) -> list[str]:
    """Lines of a text file, but for empty ones at its end."""
    try:
        return path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CrossmodalError(f"{path}: {error}; get the file again") from error


def _read_features(path: Path) -> dict[str, np.ndarray]:
    """The published matrices, training part above test part."""
    try:
        matrices = scipy.io.loadmat(path)
    except Exception as error:  # SciPy's parser raises anything on damaged files
        raise CrossmodalError(f"{path}: not a Matlab file ({error}); get it again") from error
    found = {}
    for name, prefix, width in (("sift", "I", 128), ("lda", "T", 10)):
        parts = []
        for part, (_, suffix) in PARTS.items():
            key, shape = f"{prefix}_{suffix}", (COUNTS[part], width)
            matrix = np.asarray(matrices.get(key))
            if matrix.shape != shape or matrix.dtype.kind not in "fiu":
                raise CrossmodalError(f"{path}: no matrix {key!r} of {shape}; get the file again")
            parts.append(matrix)
        found[name] = np.concatenate(parts).astype(np.float32)
    return found


def _read_list(path: Path, categories: list[str]) -> Iterator[tuple[str, str]]:
    """Image id and category name of each line: text id, image id, category number from 1."""
    numbers = {str(n): name for n, name in enumerate(categories, 1)}
    for number, line in enumerate(_read_lines(path), 1):
        fields = line.split("\t")
        if len(fields) != 3 or fields[2].strip() not in numbers:
            raise CrossmodalError(
                f"{path}: line {number}: {line!r} is not <text>, <image>, <1..{len(categories)}>; "
                "get the file again"
            )
        yield fields[1], numbers[fields[2].strip()]
