"""A page of retrieved examples: queries and their first results, right and wrong marked."""

from html import escape
from pathlib import Path
from typing import Any

from crossmodal.data.prepared import Prepared
from crossmodal.io.files import write_text
from crossmodal.reporting.embeddings import read_embeddings
from crossmodal.reporting.examples import Example, chance, draw_examples
from crossmodal.reporting.html import Showing
from crossmodal.workflow.records import verified

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


def show_examples(spec: dict[str, Any], output: Path, folder: Path, embeddings: Path) -> None:
    """Write the page, one HTML file that needs no other one.

    Args:
        spec: `label`, `dataset` and `relevance` of the experiment.
        output: The page.
        folder: Folder of the prepared dataset.
        embeddings: Embedding file of the run.

    Raises:
        CrossmodalError: If an input is missing or corrupt.
    """
    verified([embeddings, *(folder / name for name in ("items.csv", "captions.csv", "media.zip"))])
    embedded, showing = read_embeddings(embeddings), Showing(Prepared(folder))
    title = f"{spec['label']}: {spec['dataset']}, test split"
    rule = RULES[spec["relevance"] if embedded.by_label else "item"]
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{rule}</p>"]
    for pair in embedded.directions():
        pools = [embedded.splits["test"][m] for m in pair]
        drawn = draw_examples(
            *pools,
            embedded.scorer("test", *pair),
            embedded.by_label,
            embedded.facts["seed"],
        )
        right = chance(*pools, embedded.by_label)
        by_chance = f"<p>Among {len(pools[1])} results; by chance {right:.1%} are right.</p>"
        for name, heading in PARTS.items():
            rows = [_row(showing, pair, embedded.ids, example) for example in drawn[name]]
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
    header = "<tr><th>query</th><th>its pair</th><th colspan='5'>results</th></tr>"
    return f"<table>{header}{''.join(rows)}</table>"


def _row(
    showing: Showing, direction: tuple[str, str], ids: dict[str, list[str]], example: Example
) -> str:
    """A query, its pair and its results; each result says whether it is right."""
    query, gallery = direction
    cells = [
        f"<td>{showing.row(query, ids[query][example.query])}"
        f"<br><small>first right result: {example.rank:g}</small></td>",
        f"<td>{showing.row(gallery, ids[gallery][example.pair])}</td>",
    ]
    for row, right in zip(example.results, example.right, strict=True):
        kind, mark = ("right", "\u2713") if right else ("wrong", "\u2717")
        cells.append(f"<td class='{kind}'>{mark} {showing.row(gallery, ids[gallery][row])}</td>")
    return f"<tr>{''.join(cells)}</tr>"
