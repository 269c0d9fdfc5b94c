"""Hugging Face's folders of pictures or sounds, whose `metadata` names each file."""

from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats.item_records import Keep, Record, split_of_folders
from crossmodal.datasets._formats.item_tables import table_records
from crossmodal.io.spreadsheets import Findings

KIND = "Hugging Face folder"
NAMES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")


def metadata(files: list[Path]) -> list[Path]:
    """Return the files that name the pictures or sounds."""
    return [file for file in files if file.name.lower() in NAMES and _names_files(file)]


def _names_files(table: Path) -> bool:
    if table.suffix.lower() == ".parquet":
        return True
    with table.open("rb") as stream:  # of UTF-16, too
        return b"file_name" in stream.readline(1 << 16).replace(b"\0", b"")


def folder_records(
    tables: list[Path], folder: Path, root: Path, bad: Findings, keep: Keep | None
) -> Iterator[Record]:
    """Yield the records of metadata; splits are names of folders."""
    for record in table_records(tables, folder, root, bad, keep):
        values = record.values
        if not values.get("split"):
            file = values.get("image") or values.get("speech")
            values["split"] = split_of_folders(Path(file)) if isinstance(file, str) else ""
        yield record
