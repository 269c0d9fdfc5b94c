"""What every dataset states and does."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from crossmodal.writer import Writer


@dataclass(frozen=True)
class Source:
    """One published file.

    Args:
        file: Official file name, also its name in `data/raw/<dataset>/` and in a mirror.
        urls: Where it is published, first choice first; empty if it needs a form or an account.
        sha256: Checksum of the official file, or its first digits, where known.
        bytes: Size of the official file, where known.
        help: How to get the file by hand where no address works: a sentence, with the page of the
            form say; the folder to put it in is told with it.
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
        sources: All that its authors publish; an instance may set those that its options need.
        licence: Terms of use.
        citation: What to cite.
        redistribution: Whether the licence lets a team share the published texts and media.
        shares_features: Whether features of the dataset may be shared.
        shares_models: Whether models and embeddings trained on it may be shared.
    """

    sources: tuple[Source, ...] = ()
    licence: ClassVar[str]
    citation: ClassVar[str]
    redistribution: ClassVar[bool] = False
    shares_features: ClassVar[bool] = True
    shares_models: ClassVar[bool] = True

    @abstractmethod
    def counts(self) -> dict[str, int] | None:
        """Number of items that each split must have, asserted after `prepare`; None: any."""

    def files(self) -> list[Path]:
        """The user's own files that `prepare` reads; when one changes, it is called again."""
        return []

    @abstractmethod
    def prepare(self, raw: Path, out: Writer) -> None:
        """Turn the published files in `raw` into items and captions.

        Args:
            raw: Folder that holds the files named in `sources`.
            out: Takes items, captions and published feature matrices.

        Raises:
            CrossmodalError: If a file is not what its publisher describes.
        """
