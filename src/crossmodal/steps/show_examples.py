"""A page of retrieved examples: queries and their first results, right and wrong marked."""

from pathlib import Path

import numpy as np

from crossmodal.data.media import PreparedMedia
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_text
from crossmodal.learning.method import Direction
from crossmodal.metrics.retrieval import per_query
from crossmodal.models.embedding_file import Embedded, read_embeddings
from crossmodal.reporting.example_page import RULES, to_page, to_row, to_table
from crossmodal.reporting.examples import chance, draw_examples, retrieve
from crossmodal.reporting.flips import find_flips, to_parts
from crossmodal.reporting.html import Showing
from crossmodal.reporting.query_values import QueryValues
from crossmodal.workflow.records import verified
from crossmodal.workflow.report_specs import ExamplesSpec

PARTS = {
    "random": "Queries drawn at random",
    "failures": "Failures: the first right result comes last",
}


def show_examples(spec: ExamplesSpec, output: Path, embeddings: list[Path], folder: Path) -> None:
    """Write the page, one HTML file that needs no other one.

    Args:
        spec: Names of the experiments, their dataset, and what is relevant.
        output: The page.
        embeddings: Embedding file of a run of each; the second one, if there is one, shows what it
            finds for the same queries, and which queries one of the two answers alone.
        folder: Folder of the prepared dataset.

    Raises:
        CrossmodalError: If an input is missing or corrupt, or test rows differ.
    """
    verified([*embeddings, *(folder / name for name in ("items.csv", "captions.csv", "media.zip"))])
    models = [read_embeddings(path) for path in embeddings]
    _check_queries(embeddings, models)
    showing, own = Showing(PreparedMedia(folder)), models[0]
    title = f"{' beside '.join(spec.labels)}: {spec.dataset}, test split"
    parts = []
    for pair in own.directions():
        parts += [f"<h2>{' to '.join(pair)}</h2>", _by_chance(own, pair)]
        retrieved = [retrieve(model, pair) for model in models]
        drawn = [draw_examples(of, own.facts["seed"]) for of in retrieved]
        for name, heading in PARTS.items():
            # each model fails at queries of its own
            sides = drawn if name == "random" else drawn[:1]
            rows = [
                to_row(showing, pair, own.ids, example, label if len(sides) > 1 else "")
                for examples in zip(*(side[name] for side in sides), strict=True)
                for example, label in zip(examples, spec.labels, strict=False)
            ]
            parts += [f"<h3>{heading}</h3>", to_table(rows)]
        if len(models) > 1:
            runs = [{0: {"-to-".join(pair): _values(model, pair)}} for model in models]
            flips = find_flips(runs, "mAP" if own.by_label else "R@10")
            parts += to_parts(showing, pair, own.ids, retrieved, spec.labels, *flips.values())
    rule = RULES[spec.relevance if own.by_label else "item"]
    write_text(output, to_page(title, rule, parts))


def _check_queries(paths: list[Path], models: list[Embedded]) -> None:
    """Check that all models have the same test rows."""
    for path, model in zip(paths, models, strict=True):
        if model.ids != models[0].ids:
            raise CrossmodalError(
                f"{path}: has other test rows than {paths[0]}; name an experiment with views of "
                "the same kind in `beside`"
            )


def _by_chance(model: Embedded, pair: Direction) -> str:
    """Return a sentence on the share of results that are right by chance."""
    results = len(model.ids[pair[1]])
    return f"<p>Among {results} results; by chance {chance(model, pair):.1%} are right.</p>"


def _values(model: Embedded, pair: Direction) -> QueryValues:
    """Return the metrics of each test query of a direction."""
    queries, gallery = model.pools("test", pair)
    measured = per_query(queries, gallery, model.scorer("test", *pair))
    return QueryValues(np.array(model.ids[pair[0]]), queries.items, measured)
