"""Export of runs to the formats of TREC, which ir-measures, ranx and trec_eval read."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np

from crossmodal.io.files import replacing
from crossmodal.metrics.retrieval import Pool, same_item, shares_label
from crossmodal.models.embedding_file import Embedded, read_embeddings
from crossmodal.reporting.run_files import EMBEDDINGS, run_files

QUERIES = 100  # scored at a time
Relevance = Callable[[Pool, Pool, slice], np.ndarray]


def export(run: str, output: Path, depth: int) -> None:
    """Write a run file and qrels files of the test split, for each seed and direction.

    Files are `<output>/<experiment>/seed<n>/<direction>.run`, `<direction>.item.qrels`, in which an
    item's own rows are relevant, and, where there are labels, `<direction>.label.qrels`, in which
    rows with a shared label are.

    Args:
        run: `<experiment>/seed<n>` or `<experiment>`.
        output: Folder.
        depth: Documents that a run file lists for each query.

    Raises:
        CrossmodalError: If the embeddings are missing or corrupt.
    """
    for seed, path in run_files(run, EMBEDDINGS).items():
        embedded = read_embeddings(path)
        folder = output / path.parent.name / f"seed{seed}"
        for direction in embedded.directions():
            queries, gallery = embedded.pools("test", direction)
            ids = [[_token(id) for id in embedded.ids[modality]] for modality in direction]
            stem = "-to-".join(direction)
            lines = _run_lines(embedded, direction, ids, path.parent.name, depth)
            _write(folder / f"{stem}.run", lines)
            by_item = _qrels_lines(queries, gallery, ids, same_item)
            _write(folder / f"{stem}.item.qrels", by_item)
            if queries.labels is not None:
                by_label = _qrels_lines(queries, gallery, ids, shares_label)
                _write(folder / f"{stem}.label.qrels", by_label)
        print(folder)


def _run_lines(
    embedded: Embedded, direction: tuple[str, str], ids: list[list[str]], tag: str, depth: int
) -> Iterator[str]:
    scorer, (queries, documents) = embedded.scorer("test", *direction), ids
    for rows in _blocks(len(queries)):
        for query, scores in zip(queries[rows], scorer(rows), strict=True):
            first = np.argsort(-scores, kind="stable")[:depth]
            for rank, place in enumerate(first, 1):
                # nine digits tell all numbers of single precision apart
                yield f"{query} Q0 {documents[place]} {rank} {scores[place]:.9g} {tag}\n"


def _qrels_lines(
    queries: Pool, gallery: Pool, ids: list[list[str]], relevance: Relevance
) -> Iterator[str]:
    for rows in _blocks(len(queries)):
        for query, place in np.argwhere(relevance(queries, gallery, rows)):
            yield f"{ids[0][rows.start + query]} 0 {ids[1][place]} 1\n"


def _blocks(queries: int) -> Iterator[slice]:
    starts = range(0, queries, QUERIES)
    return (slice(start, min(start + QUERIES, queries)) for start in starts)


def _token(id: str) -> str:
    """Return an id without white space, which separates columns."""
    return quote(id, safe="/#:@!$&'()*+,;=[]")


def _write(path: Path, lines: Iterator[str]) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.writelines(lines)
