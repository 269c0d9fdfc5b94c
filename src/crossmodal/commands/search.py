"""Search with a fitted model, and print what is found."""

import json
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.io.text_table import print_table
from crossmodal.search.searcher import Found, Place, Searcher

TEXT = 80  # letters of an item's text that the table shows


def search(
    folder: Path,
    text: str | None,
    image: Path | None,
    speech: Path | None,
    place: Path | None,
    split: str,
    among: str | None,
    count: int,
    as_json: bool,
    approximate: bool,
    threads: int,
    weights: Path,
    params: Path,
    overlays: Sequence[Path],
) -> None:
    """Print the best items for one query.

    Args:
        folder: The model folder.
        text: The query, if it is a text.
        image: File of the query, if it is an image.
        speech: File of the query, if it is speech.
        place: Folder to be searched; None: the dataset that the model was fitted on.
        split: Split of that dataset.
        among: Modality of the items; None: the model's other one.
        count: How many items are wanted.
        as_json: Print JSON instead of a table.
        approximate: Search the neighbourhood of the query alone, by FAISS.
        threads: Processors to be used.
        weights: Folder of networks' weights.
        params: The params.yaml that names the dataset.
        overlays: Files laid over it.

    Raises:
        CrossmodalError: If not exactly one query is given, or the model cannot answer it.
    """
    queries = {"text": text, "image": image, "speech": speech}
    given = [modality for modality, query in queries.items() if query is not None]
    if len(given) != 1:
        raise CrossmodalError("give exactly one of --text, --image and --speech")
    searcher = Searcher(folder, weights, Place(place, split, params, overlays))
    found = searcher.find(
        given[0],
        queries[given[0]],
        among=among,
        count=count,
        threads=threads,
        approximate=approximate,
    )
    if unknown := searcher.unknown_words(given[0], queries[given[0]]):
        print(f"unknown to the model: {_printable(', '.join(unknown))}", file=sys.stderr)
    if as_json:
        print(json.dumps([asdict(item) for item in found], indent=2, ensure_ascii=False))
    else:
        title = f"{searcher.name}: best items by {given[0]}"
        print_table(title, ("rank", "score", "item", "labels", "text"), map(_row, found))


def _row(item: Found) -> tuple[str, ...]:
    text = textwrap.shorten(item.text, TEXT, placeholder=" ...")
    texts = map(_printable, (item.id, ", ".join(item.labels), text))
    return str(item.rank), f"{item.score:.4g}", *texts


def _printable(text: str) -> str:
    """Without control characters: what an item says must not reach the terminal as commands."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
