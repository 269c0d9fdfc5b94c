"""Extract one of the parts of a feature, which jobs beside each other make and another one joins.

A part is a run of whole chunks of `crossmodal.steps.extract`, of the same rows as there, so that
the joined file is the one of a single job, byte by byte. What a feature learns from the training
split, each part learns anew; `crossmodal.steps.join_parts` checks that all learnt the same.
"""

from pathlib import Path

from crossmodal.data.feature_parts import write_part
from crossmodal.errors import CrossmodalError
from crossmodal.steps.extract import extracted
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
    name, places = output.parent.stem, (folder, features, weights)
    with extracted(spec, output, name, *places, threads, part, parts) as (chunks, rows):
        write_part(output, rows, chunks)
