"""Embed the validation and test splits: the first step that opens the test split."""

from collections.abc import Sequence
from pathlib import Path

from crossmodal.data.prepared import Prepared
from crossmodal.data.split import Split, load_split
from crossmodal.io.provenance import provenance
from crossmodal.models.embedding_file import SPLITS, write_embeddings
from crossmodal.models.intact_model import limited
from crossmodal.models.model_folder import Fitted, read_model
from crossmodal.repeatability import use_deterministic_algorithms
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import EmbedSpec


def embed(spec: EmbedSpec, output: Path, folder: Path, features: Path, model: Path) -> None:
    """Write the embeddings of one run.

    Args:
        spec: Views, relevance, changes of the dataset, and the hash of the code.
        output: The embedding file.
        folder: Folder of the prepared dataset.
        features: Folder of the dataset's features.
        model: model.safetensors in its model folder.

    Raises:
        CrossmodalError: If an input is missing or corrupt.
    """
    fitted, splits, read = open_run(spec, folder, features, model, SPLITS)
    write_embeddings(output, fitted.facts, fitted.method, splits, provenance(spec.code, read))


def open_run(
    spec: EmbedSpec, folder: Path, features: Path, model: Path, names: Sequence[str]
) -> tuple[Fitted, dict[str, Split], dict[str, str]]:
    """Return a fitted method, the named splits as it needs them, and digests of the files.

    Args:
        spec: See `embed`.
        folder: Folder of the prepared dataset.
        features: Folder of the dataset's features.
        model: model.safetensors in its model folder.
        names: Names of the splits.

    Raises:
        CrossmodalError: If an input is missing or corrupt.
    """
    use_deterministic_algorithms(spec.deterministic)
    views = {modality: features / f"{name}.h5" for modality, name in spec.views.items()}
    files = [folder / "items.csv", folder / "splits.csv", *views.values()]
    read = verified([*files, model, model.with_name("model.json")])
    with limited(model.parent):
        fitted = read_model(model.parent)
    dataset = Prepared(folder)
    how = (spec.relevance, spec.changes)
    return fitted, {name: load_split(dataset, views, name, *how) for name in names}, read
