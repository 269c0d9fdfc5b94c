"""A page of retrieved examples: queries and their first results, right and wrong marked."""

from html import escape
from pathlib import Path

from crossmodal.data.prepared import Prepared
from crossmodal.io.files import write_text
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.reporting.examples import RESULTS, Example, chance, draw_examples
from crossmodal.reporting.html import Showing
from crossmodal.workflow.records import verified
from crossmodal.workflow.report_specs import ExamplesSpec

STYLE = """
body { font-family: sans-serif; margin: 1em auto; padding: 0 1em; max-width: 1280px; }
table { width: 100%; table-layout: fixed; border-collapse: separate; }
th { text-align: left; }
td { vertical-align: top; padding: 4px; overflow-wrap: anywhere; }
td > div { max-height: 12em; overflow: auto; }
td.right { border-top: 4px solid #1a7f37; } td.wrong { border-top: 4px solid #cf222e; }
img, audio { max-width: 100%; } small { color: #555; }
@media (max-width: 700px) {
  tr { display: flex; flex-wrap: wrap; border-bottom: 2px solid #ddd; padding: 8px 0; }
  th { display: none; } td { flex: 1 1 40%; }
}
"""
RULES = {
    "category": "A result is right if its first label is that of the query, whatever else it has.",
    "labels": "A result is right if it has a label in common with the query.",
    "item": "A result is right if it is of the query's own item.",
}
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
        pools = [own.splits["test"][m] for m in pair]
        drawn = [
            draw_examples(
                *(model.splits["test"][m] for m in pair),
                model.scorer("test", *pair),
                model.by_label,
                own.facts["seed"],
            )
            for model in models
        ]
        right = chance(*pools, own.by_label)
        by_chance = f"<p>Among {len(pools[1])} results; by chance {right:.1%} are right.</p>"
        for name, heading in PARTS.items():
            # each model fails at queries of its own
            shown = drawn if name == "random" else drawn[:1]
            rows = [
                _row(showing, pair, model.ids, example, label if len(shown) > 1 else "")
                for examples in zip(*(found[name] for found in shown), strict=True)
                for example, model, label in zip(examples, models, spec.labels, strict=False)
            ]
            parts += [f"<h2>{' to '.join(pair)}</h2><h3>{heading}</h3>{by_chance}", _table(rows)]
    body = "\n".join(parts)
    write_text(
        output,
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title>"
        f"<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n",
    )


def _table(rows: list[str]) -> str:
    if not rows:
        return "<p>None.</p>"
    header = f"<tr><th>query</th><th>its pair</th><th colspan='{RESULTS}'>results</th></tr>"
    return f"<table>{header}{''.join(rows)}</table>"


def _row(
    showing: Showing,
    direction: tuple[str, str],
    ids: dict[str, list[str]],
    example: Example,
    label: str,
) -> str:
    """A query, its pair and its results; each result says whether it is right."""
    query, gallery = direction
    by = f"{escape(label)}: " if label else ""
    cells = [
        f"<td>{showing.row(query, ids[query][example.query])}"
        f"<br><small>{by}first right result: {example.rank:g}</small></td>",
        f"<td>{showing.row(gallery, ids[gallery][example.pair])}</td>",
    ]
    for row, right in zip(example.results, example.right, strict=True):
        kind, mark = ("right", "\u2713") if right else ("wrong", "\u2717")
        cells.append(f"<td class='{kind}'>{mark} {showing.row(gallery, ids[gallery][row])}</td>")
    return f"<tr>{''.join(cells)}</tr>"
