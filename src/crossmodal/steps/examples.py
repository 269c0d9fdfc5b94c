"""A page of retrieved examples: queries and their first results, right and wrong marked."""

from html import escape
from pathlib import Path
from typing import Any

from crossmodal.evaluation.embedded import read_embedded
from crossmodal.evaluation.examples import Example, draw_examples
from crossmodal.files import write_text
from crossmodal.prepared import Prepared
from crossmodal.showing import Showing

STYLE = """
body { font-family: sans-serif; margin: 2em; }
td { vertical-align: top; padding: 4px; width: 170px; overflow-wrap: anywhere; }
td.right { border-top: 4px solid #1a7f37; } td.wrong { border-top: 4px solid #cf222e; }
audio { width: 160px; } small { color: #555; }
"""
PARTS = {
    "random": "Queries drawn at random",
    "failures": "Failures: the first right result comes last",
}


def examples(spec: dict[str, Any], output: Path, folder: Path, embeddings: Path) -> None:
    """Write the page, one HTML file that needs no other one.

    Args:
        spec: `label` of the experiment.
        output: The page.
        folder: Folder of the prepared dataset.
        embeddings: Embedding file of the run.

    Raises:
        CrossmodalError: If an input is missing or damaged.
    """
    embedded, showing = read_embedded(embeddings), Showing(Prepared(folder))
    parts = [f"<h1>{escape(spec['label'])}</h1>"]
    for pair in embedded.directions():
        drawn = draw_examples(
            *(embedded.splits["test"][m] for m in pair),
            embedded.scorer("test", *pair),
            embedded.by_label,
            embedded.facts["seed"],
        )
        for name, title in PARTS.items():
            rows = [_row(showing, pair, embedded.ids, example) for example in drawn[name]]
            parts += [f"<h2>{' to '.join(pair)}</h2><h3>{title}</h3>", _table(rows)]
    body = "\n".join(parts)
    write_text(
        output,
        f"<!doctype html>\n<html><head><meta charset='utf-8'><title>{escape(spec['label'])}</title>"
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
