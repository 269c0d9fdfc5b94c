"""Recognition of formats, from names and content."""

import json
from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats import (
    coco_captions,
    hugging_face_folder,
    karpathy_splits,
    webdataset,
)
from crossmodal.datasets._formats.column_names import PAGE, suffices
from crossmodal.datasets._formats.item_records import Keep, Record, Source
from crossmodal.datasets._formats.item_tables import KINDS, columns_of, table_records
from crossmodal.datasets._formats.named_files import NamedFiles
from crossmodal.errors import CrossmodalError, listed
from crossmodal.io.files import JsonObject
from crossmodal.io.folders import list_files

TABLES = (".parquet", ".jsonl", ".ndjson", ".xlsx")  # that are looked for in folders
JSON_NAMES = ("captions", "dataset")  # begin the names of JSON files that are looked for

JSON_KINDS = (
    (coco_captions.KIND, coco_captions.is_coco, coco_captions.coco_records),
    (karpathy_splits.KIND, karpathy_splits.is_karpathy, karpathy_splits.karpathy_records),
)


def read_source(path: Path, root: Path | None = None, keep: Keep | None = None) -> Source | None:
    """Return the items at a path, if it is in a format that is known.

    Args:
        path: A file, or a folder of files in one format.
        root: Folder in which the files are looked up that it names; None: by the format.
        keep: Stores pictures and sounds that can only be read in order; without, they are not read.

    Raises:
        CrossmodalError: If the file is in no such format, or a library is not installed.
    """
    folder = path if path.is_dir() else path.parent
    files = [folder / file for file in list_files(folder).files] if path.is_dir() else [path]
    source = Source(path, "", root or folder)
    for reader in (_metadata, _shards, _json, _tables):
        records = reader(source, files, folder, keep)
        if records is not None:
            source.fill(records)
            return source
    if not path.is_dir():
        kinds = ", ".join(KINDS)
        raise CrossmodalError(f"{path}: is empty, or in no format that is read: {kinds}, .tar")
    return None


def _metadata(
    source: Source, files: list[Path], folder: Path, keep: Keep | None
) -> Iterator[Record] | None:
    tables = hugging_face_folder.metadata(files)
    source.kind = hugging_face_folder.KIND
    return (
        hugging_face_folder.folder_records(tables, folder, source.root, source.bad, keep)
        if tables
        else None
    )


def _shards(
    source: Source, files: list[Path], folder: Path, keep: Keep | None
) -> Iterator[Record] | None:
    shards = webdataset.shards(files)
    source.kind = f"{webdataset.KIND}, {len(shards):,} shards"
    count, failed = webdataset.downloads(files)
    source.notes += [f"img2dataset failed on {failed:,} of {count:,} downloads"] if count else []
    return webdataset.shard_records(shards, folder, source.bad) if shards else None


def _json(
    source: Source, files: list[Path], folder: Path, keep: Keep | None
) -> Iterator[Record] | None:
    tables = [
        file
        for file in files
        if file.suffix.lower() == ".json"
        and (len(files) == 1 or file.name.lower().startswith(JSON_NAMES))
    ]
    contents = {table: _content(table) for table in tables}
    for kind, fits, records in JSON_KINDS:
        chosen = {table: content for table, content in contents.items() if fits(content)}
        if chosen:
            source.kind = kind
            pictures = NamedFiles(source.root)
            if not pictures.paths and source.root == folder and not source.path.is_dir():
                source.root = folder.parent  # `annotations` beside the folders of the pictures
                pictures = NamedFiles(source.root)
            return (
                record
                for table, content in chosen.items()
                for record in records(table, content, pictures, source.bad)
            )
    return None


def _content(table: Path) -> JsonObject:
    try:
        content = json.loads(table.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _tables(
    source: Source, files: list[Path], folder: Path, keep: Keep | None
) -> Iterator[Record] | None:
    alone = not source.path.is_dir()
    tables = [f for f in files if (alone or f.suffix.lower() in TABLES) and _is_table(f, alone)]
    kinds = sorted({KINDS[table.suffix.lower()] for table in tables})
    source.kind = f"{' and '.join(kinds)}, {len(tables):,} tables"
    return table_records(tables, folder, source.root, source.bad, keep) if tables else None


def _is_table(file: Path, alone: bool) -> bool:
    """Return whether a file is a table of items; in a folder, others are no mistake."""
    try:
        names = columns_of(file)
    except CrossmodalError:
        if alone:
            raise
        return False
    if alone and names and not suffices(names):
        raise CrossmodalError(
            f"{file}: has the columns {listed(names)}; two of image, text and speech are needed, "
            f"in names that {PAGE} has"
        )
    return suffices(names)
