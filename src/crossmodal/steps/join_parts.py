"""Join the parts of a feature to its file: the one that a single job would write."""

from collections.abc import Sequence
from pathlib import Path

from crossmodal.data.feature_file import write_features
from crossmodal.data.feature_parts import joined, unpack_part
from crossmodal.io.checkpoints import unfinished_work
from crossmodal.io.files import readable
from crossmodal.steps.extract import Chunks
from crossmodal.workflow.records import verified


def join_parts(output: Path, parts: Sequence[Path]) -> None:
    """Write the feature file `output`.

    Args:
        output: The feature file.
        parts: All its parts, in their order.

    Raises:
        CrossmodalError: If a part is missing or corrupt, or made of something else than the others.
    """
    with unfinished_work(output, ["join", verified(map(readable, parts))]) as chunks:
        rows = joined(parts, [unpack_part(path, chunks) for path in parts])
        write_features(output, rows.ids, rows.items, Chunks.of(chunks, rows), rows.meta)
