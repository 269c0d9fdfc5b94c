"""Qrels: which documents answer a query, and how well, as people judged them.

A CSV with the columns `query` and `document`, ids of items or of captions, and `grade`, 0 for no
answer and more for a better one; without it, each line is an answer. An item's id means its image
and all of its captions; a caption's id means the caption and, where a row stands for all captions
of an item, that row.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossmodal.data.prepared import Items
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import replacing, write_csv
from crossmodal.io.spreadsheets import Findings, Row, read_rows

if TYPE_CHECKING:  # what only checks params.yaml needs no SciPy, which takes long to import
    from scipy.sparse import csr_array

COLUMNS = ("query", "document", "grade")


class Judgement(NamedTuple):
    """A grade of how well a document answers a query; 0: not at all."""

    query: str
    document: str
    grade: float = 1.0


def write_qrels(path: Path, judgements: Iterable[Judgement]) -> None:
    """Write judgements atomically."""
    with replacing(path) as temporary:
        rows = ([j.query, j.document, f"{j.grade:g}"] for j in judgements)
        write_csv(temporary, [*COLUMNS], rows)


def read_qrels(path: Path, dataset: Items) -> list[Judgement]:
    """Read judgements on a dataset.

    Args:
        path: The CSV, also as a spreadsheet saves it.
        dataset: Its items and captions are what ids name.

    Raises:
        CrossmodalError: With all rows whose id is unknown, whose grade is no number of 0 or above,
            or that judge a pair again; or if there are none.
    """
    rows = read_rows(path, COLUMNS)
    if not rows:
        raise CrossmodalError(f"{path}: judges no pair; give query, document and grade in each row")
    ids = {item.id for item in dataset.items} | {caption.id for caption in dataset.captions}
    judged: dict[tuple[str, str], Judgement] = {}
    findings = Findings()
    for row in rows:
        with findings.collect():
            judgement = _judgement(row, ids)
            pair = judgement.query, judgement.document
            if pair in judged:
                raise row.error("document", f"{pair[1]!r} was judged for {pair[0]!r} before")
            judged[pair] = judgement
    findings.report()
    return [*judged.values()]


def _judgement(row: Row, ids: set[str]) -> Judgement:
    for column in COLUMNS[:2]:
        if row[column] not in ids:
            reason = f"{row[column]!r} is no id of an item or a caption"
            raise row.error(column, reason)
    if "grade" not in row.values:
        return Judgement(row["query"], row["document"])
    try:
        grade = float(row["grade"])
    except ValueError:
        grade = math.nan
    if not 0 <= grade < math.inf:
        raise row.error("grade", f"{row['grade']!r} is no number of 0 or above")
    return Judgement(row["query"], row["document"], grade)


class Side(NamedTuple):
    """Queries or documents of a retrieval: the modality of the rows, and their ids."""

    modality: str
    ids: Sequence[str]


class Grades(NamedTuple):
    """Judgements on the rows of a retrieval.

    Attributes:
        matrix: The grades, 0 where nothing was judged, (q, n).
        asked: The queries of which something was judged, in order.
    """

    matrix: "csr_array"
    asked: np.ndarray


def grades_of(
    judgements: Iterable[Judgement], queries: Side, documents: Side, dataset: Items
) -> Grades:
    """Return the judgements on some queries and documents; those on others are left out.

    A pair that several judgements are about, such as those on captions of one row, has the best.
    """
    sides = [_rows_of(side, dataset) for side in (queries, documents)]
    cells = [
        (query, document, judgement.grade)
        for judgement in judgements
        for query in sides[0].get(judgement.query, ())
        for document in sides[1].get(judgement.document, ())
    ]
    from scipy.sparse import csr_array

    shape = len(queries.ids), len(documents.ids)
    queried, answers, grades = np.array(cells or np.zeros((0, 3))).T
    places = (queried * shape[1] + answers).astype(int)
    order = np.lexsort((-grades, places))
    first = order[np.unique(places[order], return_index=True)[1]]  # the best of each pair
    rows, columns = queried[first].astype(int), answers[first].astype(int)
    matrix = csr_array((grades[first], (rows, columns)), shape=shape)
    return Grades(matrix, np.unique(rows))


def _rows_of(side: Side, dataset: Items) -> dict[str, list[int]]:
    """Return the rows that each id means."""
    places = {id: row for row, id in enumerate(side.ids)}
    rows = {id: [row] for id, row in places.items()}
    for caption in dataset.captions:
        if caption.id in places and caption.id != caption.item:
            rows.setdefault(caption.item, []).append(places[caption.id])
        elif caption.item in places and side.modality != "image":
            rows[caption.id] = [places[caption.item]]
    return rows
