"""Search with a fitted model, and print the results."""

import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.arrays import read_row
from crossmodal.io.text_table import print_table, shorten
from crossmodal.reporting.expectation import expectation
from crossmodal.search.place import Place
from crossmodal.search.result import Result
from crossmodal.search.searcher import Searcher

OPTIONS = ("--text", "--image", "--speech", "--item", "--row")
COLUMNS = ("rank", "score", "z-score", "item", "labels", "text")
TEXT, UNKNOWN = 80, 1_000  # characters of an item's text in the table, and of unknown words


def search(
    folder: Path,
    queries: dict[str, str | Path | None],
    place: Place,
    *,
    among: str | None,
    count: int,
    as_json: bool,
    approximate: bool,
    threads: int,
    weights: Path,
) -> None:
    """Print the best items for one query.

    Args:
        folder: The model folder.
        queries: The text, or the file of the image or speech, by modality; or `item`, the id of
            one, or `row`, a file of features, with the row's number behind a colon. Items and rows
            are of the modality that is not searched. One is not None.
        place: The items to search.
        among: Modality of the items; None: the model's other one.
        count: Number of items.
        as_json: Print JSON instead of a table.
        approximate: Use approximate nearest-neighbour search (FAISS).
        threads: Number of threads.
        weights: Folder of networks' weights.

    Raises:
        CrossmodalError: If not exactly one query is given, or the model cannot answer it.
    """
    given = {modality: query for modality, query in queries.items() if query is not None}
    if len(given) != 1:
        raise CrossmodalError(f"give exactly one of {', '.join(OPTIONS)}")
    ((kind, query),) = given.items()
    searcher = Searcher(folder, weights, place)
    modality = kind if kind not in ("item", "row") else searcher.other_than(among)
    match kind:
        case "item":
            ask = partial(searcher.search_like, modality, str(query))
        case "row":
            ask = partial(searcher.search_by_row, modality, _row_of(str(query)))
        case _:
            ask = partial(searcher.search, modality, query)
    results = ask(among=among, count=count, threads=threads, approximate=approximate)
    if unknown := searcher.unknown_words(kind, query):
        words = shorten(", ".join(unknown), UNKNOWN)
        print(f"unknown to the model: {_printable(words)}", file=sys.stderr)
    if note := expectation(searcher.name, place.training_pairs(searcher.name)):
        print(f"{searcher.name}: {note}", file=sys.stderr)
    if as_json:
        print(json.dumps([asdict(result) for result in results], indent=2, ensure_ascii=False))
    else:
        title = f"{searcher.name}: best items by {kind}"
        print_table(title, COLUMNS, map(_row, results))


def _row_of(place: str) -> np.ndarray:
    """Return the row that `FILE:NUMBER` names, or the only one of `FILE`."""
    file, _, number = place.rpartition(":")
    return (
        read_row(Path(file), int(number)) if file and number.isdecimal() else read_row(Path(place))
    )


def _row(result: Result) -> tuple[str, ...]:
    texts = map(_printable, (result.id, ", ".join(result.labels), shorten(result.text, TEXT)))
    above = "" if result.z_score is None else f"{result.z_score:+.1f}"
    return str(result.rank), f"{result.score:.4g}", above, *texts


def _printable(text: str) -> str:
    """Replace control characters, which a terminal would obey."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
