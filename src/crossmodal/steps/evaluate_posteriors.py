"""All metrics of one run by the readout that all methods have in common, class posteriors."""

from pathlib import Path
from typing import Any

from crossmodal.data.prepared import SPLITS
from crossmodal.io.files import write_json
from crossmodal.io.provenance import provenance
from crossmodal.learning.method import Run
from crossmodal.learning.posteriors import Posteriors
from crossmodal.learning.selection import direction_metrics, pools
from crossmodal.steps.embed import open_run
from crossmodal.steps.evaluate import summarise


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
    fitted, splits, read = open_run(spec, folder, features, model, SPLITS)
    posteriors = Posteriors(fitted.method)
    posteriors.fit(
        splits["train"], splits["validation"], Run(fitted.facts["seed"], label=str(model.parent))
    )
    found = {}
    for name in ("validation", "test"):
        metrics = direction_metrics(posteriors, pools(posteriors, splits[name]))
        found[name] = summarise({"-to-".join(pair): m for pair, m in metrics.items()})
    write_json(output, {**found, "model": fitted.facts, "made": provenance(spec, read)})
