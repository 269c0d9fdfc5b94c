"""All metrics of one run by the readout that all methods have in common, class posteriors."""

from pathlib import Path
from typing import Any

from crossmodal.data.prepared import SPLITS, Prepared
from crossmodal.data.split import load_split
from crossmodal.device import use_deterministic_algorithms
from crossmodal.io.files import write_json
from crossmodal.io.provenance import provenance
from crossmodal.learning.method import Run
from crossmodal.learning.model_folder import read_model
from crossmodal.learning.posteriors import Posteriors
from crossmodal.learning.selection import direction_metrics, pools
from crossmodal.steps.evaluate import summarise
from crossmodal.workflow.records import verified


def evaluate_posteriors(
    spec: dict[str, Any], output: Path, folder: Path, features: Path, model: Path
) -> None:
    """Write the metrics of one run as JSON.

    Keys: `test` and `validation`, each direction -> metric -> value; `model`, the facts of the run;
    `made`, the provenance of these metrics.

    Args:
        spec: As `embed` takes it.
        output: The JSON file.
        folder: Folder of the prepared dataset.
        features: Folder of the dataset's features.
        model: model.safetensors in its model folder.

    Raises:
        CrossmodalError: If an input is missing or corrupt, no item has a label, or embeddings are
            no vectors.
    """
    use_deterministic_algorithms(spec.get("deterministic", True))
    views = {modality: features / f"{name}.h5" for modality, name in spec["views"].items()}
    files = [folder / "items.csv", folder / "splits.csv", *views.values()]
    read = verified([*files, model, model.with_name("model.json")])
    fitted = read_model(model.parent)
    dataset = Prepared(folder)
    how = (spec["relevance"], spec.get("changes"))
    splits = {name: load_split(dataset, views, name, *how) for name in SPLITS}
    posteriors = Posteriors(fitted.method)
    posteriors.fit(
        splits["train"], splits["validation"], Run(fitted.facts["seed"], label=str(model.parent))
    )
    found = {}
    for name in ("validation", "test"):
        metrics = direction_metrics(posteriors, pools(posteriors, splits[name]))
        found[name] = summarise({"-to-".join(pair): m for pair, m in metrics.items()})
    write_json(output, {**found, "model": fitted.facts, "made": provenance(spec, read)})
