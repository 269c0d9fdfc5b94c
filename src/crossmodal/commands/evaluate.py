"""Evaluate embeddings, codes or scores that other programs wrote."""

import json
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import cast

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.arrays import file_and_name, open_matrix, read_ids, take_rows
from crossmodal.io.files import readable
from crossmodal.io.stored_arrays import Stored
from crossmodal.metrics import evaluation
from crossmodal.metrics.relevances import Ids, Relevance
from crossmodal.metrics.scoring import Scoring

QRELS = (".txt", ".qrels", ".tsv", ".qrel")  # of TREC: query, 0, document, grade


@dataclass(frozen=True)
class FileRows:
    """Rows of a matrix in a file, read when a slice of them is taken."""

    path: Path
    matrix: Stored

    @property
    def shape(self) -> tuple[int, ...]:
        """Return numbers of rows and columns."""
        return self.matrix.shape

    @property
    def dtype(self) -> np.dtype:
        """Return the type of the numbers."""
        return self.matrix.dtype

    def __getitem__(self, rows: slice, /) -> np.ndarray:
        places = np.arange(self.shape[0])[rows]
        return take_rows(self.path, self.matrix, places)


def evaluate(
    files: list[Path],
    relevance: Path | None,
    query_ids: Path | None,
    gallery_ids: Path | None,
    score: str | None,
    as_json: bool,
) -> None:
    """Print all metrics, with intervals.

    Args:
        files: Embeddings of queries and of the gallery, or one matrix of scores; with `:NAME`
            where a file has several.
        relevance: Qrels of TREC, or a matrix of grades.
        query_ids: A file with the id, or label, of each query.
        gallery_ids: The same of each document.
        score: See `crossmodal.evaluate`.
        as_json: Print JSON.

    Raises:
        CrossmodalError: If a file is missing or corrupt, or files do not fit together.
    """
    if len(files) > 2:
        raise CrossmodalError(f"{len(files)} files; give queries and gallery, or scores alone")
    if (query_ids is None) != (gallery_ids is None):
        raise CrossmodalError("give both of --query-ids and --gallery-ids, or none")
    ids = None
    if query_ids and gallery_ids:
        ids = (read_ids(query_ids), read_ids(gallery_ids))
    places = [file_and_name(file) for file in files]
    queries, *gallery = (FileRows(path, open_matrix(path, name)) for path, name in places)
    result = evaluation.evaluate(
        queries,
        gallery[0] if gallery else None,
        ids if relevance is None else _relevance(relevance, ids),
        ids=ids,
        score=cast(Scoring | None, score),
    )
    if as_json:
        # JSON has no infinite rank
        metrics = {name: v if isfinite(v) else None for name, v in result.metrics.items()}
        print(json.dumps({"metrics": metrics, "intervals": result.intervals}, indent=1))
    else:
        print(result)


def _relevance(path: Path, ids: Ids | None) -> Relevance:
    """Return qrels, or a matrix of grades."""
    if path.suffix.lower() not in QRELS:
        return FileRows(path, open_matrix(path))[:]
    sides = [{*side} for side in ids or ()]
    qrels: dict[str, dict[str, float]] = {}
    for number, line in enumerate(readable(path).read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            query, _, document, grade = line.decode("utf-8-sig").split()
            if not 0 <= (value := float(grade)) < inf:
                raise ValueError(grade)
        except ValueError as error:
            reason = "is no line of qrels: query, 0, document, and a grade of 0 or above"
            raise CrossmodalError(f"{path}: line {number} {reason}") from error
        pairs = zip((query, document), sides, strict=False)
        strange = [name for name, side in pairs if name not in side]
        if strange or document in qrels.get(query, {}):
            reason = f"names {document!r} of {query!r} again; keep one of the lines"
            if strange:
                reason = f"names {strange[0]!r}, which is no id; add it, or leave the line out"
            raise CrossmodalError(f"{path}: line {number} {reason}")
        qrels.setdefault(query, {})[document] = value
    return qrels
