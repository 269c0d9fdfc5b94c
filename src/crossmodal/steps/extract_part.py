"""Extract one of the parts of a feature, which jobs beside each other make and another one joins.

A part is a run of whole chunks of `crossmodal.steps.extract`, of the same rows as there, so that
the joined file is the one of a single job, byte by byte. What a feature learns from the training
split, each part learns anew; `crossmodal.steps.join_parts` checks that all learnt the same.
"""

from collections.abc import Iterator
from pathlib import Path

from crossmodal.config import plugins
from crossmodal.config.fit import non_defaults
from crossmodal.data.feature import Feature
from crossmodal.data.feature_parts import Part, write_part
from crossmodal.data.feature_reader import open_features
from crossmodal.data.known_words import check_known_words
from crossmodal.data.prepared import Prepared, item_of
from crossmodal.errors import CrossmodalError
from crossmodal.io.checkpoints import unfinished_work
from crossmodal.io.files import readable
from crossmodal.io.progress import track
from crossmodal.io.provenance import provenance
from crossmodal.repeatability import use_deterministic_algorithms
from crossmodal.steps import extract as whole
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import ExtractSpec


def extract_part(
    spec: ExtractSpec,
    output: Path,
    folder: Path,
    features: Path,
    weights: Path,
    part: int,
    parts: int,
    threads: int = 1,
) -> None:
    """Write part `part`, from 1, of `parts`; it is empty where there are fewer chunks than parts.

    Args:
        spec: As of the whole feature.
        output: The part; its folder is called like the feature.
        folder: Folder of the prepared dataset.
        features: Folder of the dataset's other features.
        weights: Folder of networks' weights.
        part: Number of the part.
        parts: Number of all parts.
        threads: How many may work at the same time.

    Raises:
        CrossmodalError: If there is no such part, an input is missing or corrupt, or no caption of
            a split has a word that the feature knows.
    """
    if not 1 <= part <= parts:
        raise CrossmodalError(f"{output}: there is no part {part} of {parts}")
    use_deterministic_algorithms(spec.deterministic)
    where = f"features.{output.parent.stem}"
    feature: Feature = plugins.make("features", spec.plugin, spec.options, where)
    feature.threads, feature.language = threads, spec.language
    dataset = Prepared(folder)
    network = weights / feature.weights if feature.weights else None
    inputs = [*_inputs(feature, folder, features, network)]
    sources = {name: open_features(features / f"{name}.h5") for name in feature.of}
    with unfinished_work(output, non_defaults(spec), inputs) as chunks:
        read = verified(inputs)
        feature.setup(network)
        feature.fit(dataset, sources)
        check_known_words(where, feature, dataset)
        rows = feature.rows(dataset)
        whole._check_alignment(features, sources, [row.id for row in rows])
        starts = share(range(0, len(rows), feature.chunk), part, parts)
        todo = [s for s in starts if not whole._is_done(chunks, s, feature.shape)]
        label = f"extract {folder.name}/{output.parent.stem}, part {part} of {parts}"
        for start in track(todo, len(starts), label, len(starts) - len(todo)):
            span = slice(start, start + feature.chunk)
            chunk = feature.extract(dataset, rows[span], whole._slice(sources, span))
            whole._check_shape(where, feature.shape, chunk)
            whole._save(chunks, start, chunk)
        meta = {
            "extractor": non_defaults(spec),
            "made": provenance(spec.code, read),
            "sources": {name: source.meta for name, source in sources.items()},
            **feature.learnt(),
        }
        own = rows[starts.start : starts.stop]
        ids, items = [row.id for row in own], [item_of(row) for row in own]
        write_part(output, Part(ids, items, feature.chunk, meta), chunks)


def share(starts: range, part: int, parts: int) -> range:
    """Return the chunks of a part: consecutive ones, as many as of other parts, or one more.

    Args:
        starts: First row of each chunk.
        part: Number of the part, from 1.
        parts: Number of all parts.
    """
    first, end = (len(starts) * edge // parts for edge in (part - 1, part))
    return starts[first:end]


def _inputs(feature: Feature, folder: Path, features: Path, network: Path | None) -> Iterator[Path]:
    """Yield the files that a feature is computed from."""
    yield from (folder / name for name in feature.reads)
    yield from (features / f"{name}.h5" for name in feature.of)
    yield from [network] if network else []
    yield from (readable(Path(file)) for file in feature.files)
