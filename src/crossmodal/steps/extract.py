"""Extract a feature chunk by chunk: bounded memory, and a stopped run goes on where it was."""

import importlib.metadata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crossmodal import plugins
from crossmodal.checkpoints import checkpoints
from crossmodal.errors import CrossmodalError
from crossmodal.features.base import Feature
from crossmodal.files import replacing
from crossmodal.prepared import Caption, Prepared
from crossmodal.progress import track
from crossmodal.store import FeatureFile, Ragged, Rows, open_features, write_features

VERSIONED = ("numpy", "torch", "torchaudio", "torchvision")


def extract(
    spec: dict[str, Any], output: Path, folder: Path, features: Path, weights: Path
) -> None:
    """Write the feature file `output`.

    Args:
        spec: `plugin`, `options` and `code`, a hash of the source.
        output: The feature file.
        folder: Folder of the prepared dataset.
        features: Folder of the dataset's other features.
        weights: Folder of networks' weights.

    Raises:
        CrossmodalError: If an input is missing or damaged.
    """
    where = f"features.{output.stem}"
    feature: Feature = plugins.make("features", spec["plugin"], spec["options"], where)
    dataset = Prepared(folder)
    inputs = [folder / name for name in feature.reads]
    inputs += [features / f"{name}.h5" for name in feature.of]
    inputs += [weights / feature.weights] if feature.weights else []
    sources = {name: open_features(features / f"{name}.h5") for name in feature.of}
    with checkpoints(output, spec, inputs) as parts:
        feature.fit(dataset, sources, str(weights / feature.weights))
        rows = feature.rows(dataset)
        _check_alignment(features, sources, [row.id for row in rows])
        starts = range(0, len(rows), feature.chunk)
        todo = [start for start in starts if not _part(parts, start).exists()]
        label, done = f"extract {folder.name}/{output.stem}", len(starts) - len(todo)
        for start in track(todo, len(starts), label, done):
            span = slice(start, start + feature.chunk)
            _save(parts, start, feature.extract(dataset, rows[span], _slice(sources, span)))
        versions = {name: importlib.metadata.version(name) for name in VERSIONED}
        meta = {"extractor": spec, "versions": versions, **feature.learnt()}
        owners = [row.item if isinstance(row, Caption) else row.id for row in rows]
        write_features(output, [row.id for row in rows], owners, _Parts(parts, starts), meta)


@dataclass(frozen=True)
class _Parts:
    """Finished chunks in order, each a file that is open only while it is used."""

    folder: Path
    starts: range

    def __iter__(self) -> Iterator[Rows]:
        return (_load(self.folder, start) for start in self.starts)


def _check_alignment(features: Path, sources: dict[str, FeatureFile], ids: list[str]) -> None:
    for name, source in sources.items():
        if source.ids != ids:
            raise CrossmodalError(
                f"{features / name}.h5: has not the {len(ids)} rows of the feature made of it, from"
                f" {ids[:1]} on; use features of the same unit (item, caption), or extract it again"
            )


def _slice(sources: dict[str, FeatureFile], span: slice) -> dict[str, FeatureFile]:
    return {
        name: FeatureFile(s.ids[span], s.items[span], s.features[span], s.meta)
        for name, s in sources.items()
    }


def _part(parts: Path, start: int) -> Path:
    """File of the chunk that begins at row `start`; the last one written for its chunk."""
    return parts / f"{start:09d}.npy"


def _save(parts: Path, start: int, chunk: np.ndarray | list[np.ndarray]) -> None:
    """Write a chunk; of sequences first the offsets, so that a values file is a whole chunk."""
    if isinstance(chunk, list):
        ragged = Ragged.concatenate(chunk)
        _write(parts / f"{start:09d}.offsets", ragged.offsets)
        chunk = ragged.values
    _write(_part(parts, start), chunk)


def _write(path: Path, array: np.ndarray) -> None:
    with replacing(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)


def _load(parts: Path, start: int) -> Rows:
    values = np.load(_part(parts, start), mmap_mode="r")
    offsets = parts / f"{start:09d}.offsets"
    return Ragged(values, np.load(offsets)) if offsets.exists() else values
