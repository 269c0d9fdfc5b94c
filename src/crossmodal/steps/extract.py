"""Extract a feature chunk by chunk: in bounded memory, and an interrupted run resumes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from crossmodal.config import plugins
from crossmodal.config.fit import non_defaults
from crossmodal.data import feature_contract
from crossmodal.data.feature import Feature, Shape
from crossmodal.data.feature_file import FeatureFile, Ragged, Rows, write_features
from crossmodal.data.feature_parts import Part
from crossmodal.data.feature_reader import open_features
from crossmodal.data.known_words import check_known_words
from crossmodal.data.media import PreparedMedia
from crossmodal.data.prepared import item_of
from crossmodal.errors import CrossmodalError
from crossmodal.io.checkpoints import unfinished_work
from crossmodal.io.files import readable
from crossmodal.io.progress import track
from crossmodal.io.provenance import provenance
from crossmodal.io.seals import is_whole, sealing
from crossmodal.repeatability import use_deterministic_algorithms
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import ExtractSpec


def extract(
    spec: ExtractSpec,
    output: Path,
    folder: Path,
    features: Path,
    weights: Path,
    threads: int = 1,
) -> None:
    """Write the feature file `output`.

    Args:
        spec: The feature's plug-in and options, the language of texts, and the hash of the code.
        output: The feature file.
        folder: Folder of the prepared dataset.
        features: Folder of the dataset's other features.
        weights: Folder of networks' weights.
        threads: How many may work at the same time.

    Raises:
        CrossmodalError: If an input is missing or corrupt, or no caption of a split has a word that
            the feature knows.
    """
    with extracted(spec, output, output.stem, folder, features, weights, threads) as (chunks, rows):
        write_features(output, rows.ids, rows.items, Chunks.of(chunks, rows), rows.meta)


@contextmanager
def extracted(
    spec: ExtractSpec,
    output: Path,
    name: str,
    folder: Path,
    features: Path,
    weights: Path,
    threads: int,
    part: int = 1,
    parts: int = 1,
) -> Iterator[tuple[Path, Part]]:
    """Extract what is missing of one of the parts of a feature; the folder of its chunks, and them.

    Args:
        spec: See `extract`.
        output: The file that the chunks go to; the folder is removed once it is there.
        name: Name of the feature.
        folder: See `extract`.
        features: See `extract`.
        weights: See `extract`.
        threads: See `extract`.
        part: Number of the part, from 1.
        parts: Number of all parts.

    Raises:
        CrossmodalError: See `extract`.
    """
    use_deterministic_algorithms(spec.deterministic)
    where = f"features.{name}"
    feature: Feature = plugins.make("features", spec.plugin, spec.options, where)
    feature.threads, feature.language = threads, spec.language
    dataset = PreparedMedia(folder)
    inputs = [folder / file for file in feature.reads]
    inputs += [features / f"{source}.h5" for source in feature.of]
    network = weights / feature.weights if feature.weights else None
    inputs += [network] if network else []
    inputs += map(Path, feature.files)
    sources = {source: open_features(features / f"{source}.h5") for source in feature.of}
    read = verified(map(readable, inputs))
    with unfinished_work(output, [non_defaults(spec), read]) as chunks:
        feature.setup(network)
        feature.fit(dataset, sources)
        check_known_words(where, feature, dataset)
        rows = feature.rows(dataset)
        _check_alignment(features, sources, [row.id for row in rows])
        starts = share(range(0, len(rows), feature.chunk), part, parts)
        todo = [start for start in starts if not _is_done(chunks, start, feature.shape)]
        label = f"extract {folder.name}/{name}" + f", part {part} of {parts}" * (parts > 1)
        for start in track(todo, len(starts), label, len(starts) - len(todo)):
            span = slice(start, start + feature.chunk)
            chunk = feature_contract.extract(feature, dataset, rows[span], _slice(sources, span))
            _save(chunks, start, chunk)
        meta = {
            "extractor": non_defaults(spec),
            "made": provenance(spec.code, read),
            "sources": {source: file.meta for source, file in sources.items()},
            **feature.learnt(),
        }
        own = rows[starts.start : starts.stop]
        ids, items = [row.id for row in own], [item_of(row) for row in own]
        yield chunks, Part(ids, items, feature.chunk, meta)


def share(starts: range, part: int, parts: int) -> range:
    """Return the chunks of a part: consecutive ones, as many as of other parts, or one more.

    Args:
        starts: First row of each chunk.
        part: Number of the part, from 1.
        parts: Number of all parts.
    """
    first, end = (len(starts) * edge // parts for edge in (part - 1, part))
    return starts[first:end]


@dataclass(frozen=True)
class Chunks:
    """Finished chunks in order, each a file that is open only while it is used."""

    folder: Path
    starts: range

    @classmethod
    def of(cls, folder: Path, rows: Part) -> Self:
        """Return the chunks of all rows of a feature."""
        return cls(folder, range(0, len(rows.ids), rows.chunk))

    def __iter__(self) -> Iterator[Rows]:
        return (_load(self.folder, start) for start in self.starts)


def _check_alignment(features: Path, sources: dict[str, FeatureFile], ids: list[str]) -> None:
    for name, source in sources.items():
        if source.ids != ids:
            raise CrossmodalError(
                f"{features / name}.h5: does not have the {len(ids)} rows, starting at {ids[:1]}, "
                "of the feature computed from it; use features of the same unit (item, caption), "
                "or extract it again"
            )


def _slice(sources: dict[str, FeatureFile], span: slice) -> dict[str, FeatureFile]:
    return {
        name: FeatureFile(s.ids[span], s.items[span], s.vectors()[span], s.meta)
        for name, s in sources.items()
    }


def _part(parts: Path, start: int) -> Path:
    """Return the file of the chunk that begins at row `start`."""
    return parts / f"{start:09d}.npy"


def _offsets(parts: Path, start: int) -> Path:
    """Return the file of the offsets of a chunk of sequences."""
    return parts / f"{start:09d}.offsets"


def _is_done(parts: Path, start: int, shape: Shape) -> bool:
    """Return true if all files of a chunk are there and undamaged."""
    files = [_part(parts, start)]
    files += [_offsets(parts, start)] if shape in ("sequence", "files") else []
    return all(map(is_whole, files))


def _save(parts: Path, start: int, chunk: np.ndarray | list[np.ndarray]) -> None:
    """Write a chunk."""
    if isinstance(chunk, list):
        ragged = Ragged.concatenate(chunk)
        _write(_offsets(parts, start), ragged.offsets)
        chunk = ragged.values
    _write(_part(parts, start), chunk)


def _write(path: Path, array: np.ndarray) -> None:
    with sealing(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)


def _load(parts: Path, start: int) -> Rows:
    values = np.load(_part(parts, start), mmap_mode="r")
    offsets = _offsets(parts, start)
    return Ragged(values, np.load(offsets)) if offsets.exists() else values
