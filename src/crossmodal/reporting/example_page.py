"""A page of queries and their first results, right and wrong marked, which needs no other file."""

from html import escape
from math import isfinite

from crossmodal.reporting.examples import RESULTS, Example
from crossmodal.reporting.html import Showing
from crossmodal.reporting.site import PAGE

# beside the style of the site
STYLE = """
:root { --right: #1a7f37; --wrong: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --right: #3fb950; --wrong: #ff7b72; } }
table { table-layout: fixed; }
td { overflow-wrap: anywhere; }
td > div { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 6; }
td > div { overflow: hidden; }
td.right { border-top: 4px solid var(--right); } td.wrong { border-top: 4px dashed var(--wrong); }
td img { display: block; width: 100%; aspect-ratio: 1; object-fit: contain; }
audio { width: 100%; }
@media (max-width: 40rem) {
  tr { display: grid; grid-template-columns: 1fr 1fr; padding: .5rem 0; }
  th { display: none; }
}
"""
RULES = {
    "category": "A result is right if its first label is that of the query, whatever else it has.",
    "labels": "A result is right if it has a label in common with the query.",
    "item": "A result is right if it is of the query's own item.",
}


def to_page(title: str, rule: str, parts: list[str]) -> str:
    """Return the page.

    Args:
        title: Of the page.
        rule: Sentence on what is relevant, as HTML.
        parts: What follows, as HTML.
    """
    body = "\n".join(parts)
    style = (PAGE / "site.css").read_text(encoding="utf-8") + STYLE
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta name='color-scheme' content='light dark'>"
        f"<title>{escape(title)}</title>"
        f"<style>{style}</style></head><body>\n<header><h1>{escape(title)}</h1></header>\n"
        f"<main>\n<p>{rule}</p>\n{body}\n</main></body></html>\n"
    )


def to_table(rows: list[str]) -> str:
    """Return a table of rows.

    Args:
        rows: From `to_row`.
    """
    if not rows:
        return "<p>None.</p>"
    header = f"<tr><th>query</th><th>its pair</th><th colspan='{RESULTS}'>results</th></tr>"
    table = f"<table>{header}{''.join(rows)}</table>"
    return f"<div class='wide' tabindex='0' role='group' aria-label='Results'>{table}</div>"


def to_row(
    showing: Showing,
    direction: tuple[str, str],
    ids: dict[str, list[str]],
    example: Example,
    label: str,
) -> str:
    """Return a query, its pair and its results; each result says whether it is right.

    Args:
        showing: Shows items of the dataset.
        direction: Modalities of query and results.
        ids: Of the test split's rows, by modality.
        example: What is shown.
        label: Whose results they are; empty where there is no other.
    """
    query, gallery = direction
    by = f"{escape(label)}: " if label else ""
    rank = f"{example.rank:g}" if isfinite(example.rank) else "none"
    cells = [
        f"<td>{showing.row(query, ids[query][example.query])}"
        f"<br><small>{by}first right result: {rank}</small></td>",
        f"<td>{showing.row(gallery, ids[gallery][example.pair])}</td>",
    ]
    for row, right in zip(example.results, example.right, strict=True):
        kind, mark = ("right", "\u2713") if right else ("wrong", "\u2717")
        cells.append(f"<td class='{kind}'>{mark} {showing.row(gallery, ids[gallery][row])}</td>")
    return f"<tr>{''.join(cells)}</tr>"
