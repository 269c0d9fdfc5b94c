"""Parts of the cards of models and datasets on the hub: their YAML, and the page below it."""

import re
from collections.abc import Sequence

from crossmodal.data.dataset import Dataset

# identifiers of the hub's that the text of a licence may be
LICENCES = re.compile(r"mit|apache-2\.0|cc0-1\.0|odc-by|cc-by(-nc)?(-sa|-nd)?-[234]\.0")
UNKNOWN = {"und", "mul"}  # languages
LIBRARY = "crossmodal"


def licence(terms: str) -> tuple[str, str | None]:
    """Return the hub's name of a licence, and one for terms that it has none for."""
    name = "-".join(terms.lower().split())
    return (name, None) if LICENCES.fullmatch(name) else ("other", "terms-of-the-data")


def languages(dataset: Dataset) -> list[str]:
    """Return the codes of a dataset's languages that are known."""
    code = dataset.language.partition("-")[0].lower()
    return [] if code in UNKNOWN else [code]


def page(head: str, parts: Sequence[str]) -> bytes:
    """Return a card: YAML, and paragraphs in Markdown."""
    body = "\n\n".join(parts)
    return f"---\n{head}\n---\n\n{body}\n".encode()


def fenced(language: str, lines: Sequence[str]) -> str:
    """Return an example of code."""
    return "\n".join([f"```{language}", *lines, "```"])


def rows(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    cells = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
