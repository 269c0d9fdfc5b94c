"""What every dataset states and does."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from crossmodal.prepared import Writer


@dataclass(frozen=True)
class Source:
    """One published file.

    Args:
        file: Official file name, also its name in `data/raw/<dataset>/` and in a mirror.
        urls: Where it is published, first choice first; empty if it needs a form or an account.
        sha256: Checksum of the official file, where known.
        bytes: Size of the official file, where known.
        help: What to do when no address works: which file to get where.
    """

    file: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    bytes: int | None = None
    help: str = ""


class Dataset(ABC):
    """Items with labels and splits, made from published files.

    A subclass is the dataset; its `__init__` takes the options of `datasets.<name>` in params.yaml.

    Attributes:
        sources: The published files.
        licence: In words.
        citation: The paper.
        redistribution: Whether the licence lets a team share the published texts and media.
        shares_features: Whether features of the dataset may be shared.
        shares_models: Whether models and embeddings trained on it may be shared.
    """

    sources: ClassVar[tuple[Source, ...]] = ()
    licence: ClassVar[str]
    citation: ClassVar[str]
    redistribution: ClassVar[bool] = False
    shares_features: ClassVar[bool] = True
    shares_models: ClassVar[bool] = True

    @abstractmethod
    def counts(self) -> dict[str, int]:
        """Number of items that each split must have; asserted after `prepare`."""

    @abstractmethod
    def prepare(self, raw: Path, out: Writer) -> None:
        """Turn the published files in `raw` into items and captions.

        Args:
            raw: Folder that holds the files named in `sources`.
            out: Takes items, captions and published feature matrices.

        Raises:
            CrossmodalError: If a file is not what its publisher describes.
        """
