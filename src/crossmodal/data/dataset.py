"""Base class of datasets."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from crossmodal.data.qrels import Judgement
from crossmodal.data.writer import Writer
from crossmodal.plugin import Plugin


@dataclass(frozen=True)
class Source:
    """One published file.

    Args:
        file: Official file name, also its name in `data/raw/<dataset>/` and in a mirror.
        urls: Where it is published, first choice first; empty if it needs a form or an account.
        sha256: Checksum of the official file, or its first digits, where known.
        bytes: Size of the official file, where known.
        help: How to get the file by hand where no address works, in a sentence; the message adds
            the folder to put it in.
        folder: Sub-folder of a mirror that holds it, where that is not the dataset's own.
        of_page: The addresses are of a web page, whose images are packed as this file.
    """

    file: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    bytes: int | None = None
    help: str = ""
    folder: str = ""
    of_page: bool = False


class Dataset(Plugin, ABC):
    """Items with labels and splits, made from published files.

    A subclass is the dataset; its `Options` are the keys of `datasets.<name>` in params.yaml.

    Attributes:
        sources: All that its authors publish; an instance may set those that its options need.
        licence: Terms of use.
        citation: What to cite.
        language: Of its captions, by BCP 47, such as `en`, `pt-BR` or `zh`; `und`: not known.
        redistribution: Whether the licence lets a team share the published texts and media.
        shares_features: Whether features of the dataset may be shared.
        shares_models: Whether models and embeddings trained on it may be shared.
        mteb_tasks: Names of mteb's tasks that test on some of its training items.
        qrels: Names of published judgements, see `judge`, and the sources that each is read from.
    """

    sources: tuple[Source, ...] = ()
    licence: str
    citation: str
    language: str = "en"
    redistribution: bool = False
    shares_features: bool = True
    shares_models: bool = True
    mteb_tasks: tuple[str, ...] = ()
    qrels: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @abstractmethod
    def counts(self) -> dict[str, int] | None:
        """Return the size that each split must have, asserted after `prepare`; None: any."""

    def departure(self) -> str:
        """Return a note for tables, as `has ...`, on sizes that differ from the papers'."""
        return ""

    def files(self) -> list[Path]:
        """Return the user's own files that `prepare` reads; a change of one calls it again."""
        return []

    def own_paths(self) -> list[Path]:
        """Return the user's folders, or files, that hold `files`, as params.yaml names them."""
        return []

    @abstractmethod
    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the published files in `raw` as items and captions.

        Args:
            raw: Folder that holds the files named in `sources`.
            out: Takes items, captions and published feature matrices.

        Raises:
            CrossmodalError: If a file is not what its publisher describes.
        """

    def judge(self, name: str, raw: Path) -> Iterable[Judgement]:
        """Return published judgements, by ids of the prepared items and captions.

        Args:
            name: One of `qrels`.
            raw: Folder that holds its sources.

        Raises:
            CrossmodalError: If a file is not what its publisher describes.
        """
        raise NotImplementedError
