"""All metrics of one run by the readout that all methods have in common, class posteriors."""

from pathlib import Path

import numpy as np

from crossmodal.data.prepared import SPLITS
from crossmodal.io.provenance import provenance
from crossmodal.learning.contract import score
from crossmodal.learning.method import Direction, Method, Run
from crossmodal.learning.posteriors import Posteriors
from crossmodal.learning.selection import directions, pools
from crossmodal.metrics.retrieval import Pool, per_query, summary
from crossmodal.reporting.query_values import SUFFIX, QueryValues, write_query_values
from crossmodal.reporting.run_metrics import Directions, RunMetrics, write_metrics
from crossmodal.steps.embed import open_run
from crossmodal.steps.evaluate import summarise
from crossmodal.workflow.specs import EmbedSpec


def evaluate_posteriors(
    spec: EmbedSpec, output: Path, folder: Path, features: Path, model: Path
) -> None:
    """Write the metrics of one run as JSON, and the values of each test query beside it.

    Args:
        spec: Views, relevance, changes of the dataset, and the hash of the code.
        output: The JSON file; *.npz beside it is that of `write_query_values`.
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
    results: dict[str, Directions] = {}
    per_direction = {}
    for name in ("validation", "test"):
        embedded = pools(posteriors, splits[name])
        for pair in directions([*embedded]):
            key, values = "-to-".join(pair), _per_query(posteriors, embedded, pair)
            results.setdefault(name, {})[key] = summary(values, len(embedded[pair[1]]))
            if name == "test":
                ids = np.array(splits[name].views[pair[0]].ids)
                per_direction[key] = QueryValues(ids, embedded[pair[0]].items, values)
    write_query_values(output.with_suffix(SUFFIX), per_direction)
    metrics: RunMetrics = {
        "model": fitted.facts,
        "made": provenance(spec.code, read),
        "validation": summarise(results["validation"]),
        "test": summarise(results["test"]),
    }
    write_metrics(output, metrics)


def _per_query(
    method: Method, embedded: dict[str, Pool], direction: Direction
) -> dict[str, np.ndarray]:
    """Return the values of each query of one direction."""
    queries, gallery = (embedded[modality] for modality in direction)

    def score_rows(rows: slice) -> np.ndarray:
        return score(method, queries.embeddings[rows], gallery.embeddings, direction)

    return per_query(queries, gallery, score_rows)
