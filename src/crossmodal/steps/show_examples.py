"""A page of retrieved examples: queries and their first results, right and wrong marked."""

from html import escape
from pathlib import Path

from crossmodal.data.prepared import Prepared
from crossmodal.io.files import write_text
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.reporting.example_page import RULES, to_page, to_row, to_table
from crossmodal.reporting.examples import chance, draw_examples
from crossmodal.reporting.html import Showing
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
        embeddings: Embedding file of a run of each; those beside it show what they find for the
            same queries.
        folder: Folder of the prepared dataset.

    Raises:
        CrossmodalError: If an input is missing or corrupt.
    """
    verified([*embeddings, *(folder / name for name in ("items.csv", "captions.csv", "media.zip"))])
    models = [read_embeddings(path) for path in embeddings]
    showing, own = Showing(Prepared(folder)), models[0]
    title = f"{' beside '.join(spec.labels)}: {spec.dataset}, test split"
    rule = RULES[spec.relevance if own.by_label else "item"]
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{rule}</p>"]
    for pair in own.directions():
        queries, gallery = own.pools("test", pair)
        drawn = [
            draw_examples(
                *model.pools("test", pair),
                model.scorer("test", *pair),
                model.by_label,
                own.facts["seed"],
            )
            for model in models
        ]
        right = chance(queries, gallery, own.by_label)
        by_chance = f"<p>Among {len(gallery)} results; by chance {right:.1%} are right.</p>"
        for name, heading in PARTS.items():
            # each model fails at queries of its own
            sides = drawn if name == "random" else drawn[:1]
            rows = [
                to_row(showing, pair, model.ids, example, label if len(sides) > 1 else "")
                for examples in zip(*(side[name] for side in sides), strict=True)
                for example, model, label in zip(examples, models, spec.labels, strict=False)
            ]
            parts += [f"<h2>{' to '.join(pair)}</h2><h3>{heading}</h3>{by_chance}", to_table(rows)]
    write_text(output, to_page(title, parts))
