"""Your own data: a CSV of images, texts, recordings and labels, and the files it names.

A row is a caption, and rows with the same id are captions of one item. Columns, of which `id` and
two of `image`, `text` and `audio` are needed:

- `id`: name of the item;
- `text`: what the caption says;
- `audio`: path of the spoken caption, from the CSV's folder;
- `image`: path of the item's image, from the CSV's folder;
- `labels`: separated by `;`, the first is the item's category;
- `split`: train, validation or test; without the column, splits are drawn.

The last three belong to the item: they may stay empty in all of its rows but one. An item has
something of each of `image`, `text` and `audio` that is a column.
"""

import io
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from crossmodal.datasets.base import Dataset
from crossmodal.errors import CrossmodalError
from crossmodal.prepared import SPLITS
from crossmodal.progress import track
from crossmodal.spreadsheets import Row, read_rows
from crossmodal.writer import Writer

MODALITIES = ("image", "text", "audio")
COLUMNS = ("id", *MODALITIES, "labels", "split")

Share = Annotated[float, Field(gt=0, lt=1)]


class Folder(Dataset):
    """A user's own data; see the module for the columns.

    Args:
        csv: Path of the CSV, from the project's folder.
        validation: Share of the items that is drawn for validation if no column says.
        test: Share of the items that is drawn for testing if no column says.
        seed: Seeds the draw.
    """

    licence = citation = "the user's own"

    def __init__(
        self,
        csv: Annotated[str, Field(pattern=r"\.csv$")],
        validation: Share,
        test: Share,
        seed: Annotated[int, Field(ge=0)],
    ) -> None:
        if validation + test >= 1:
            raise ValueError("validation and test leave nothing to train on")
        self.csv = Path(csv)
        self.shares = {"validation": validation, "test": test}
        self.seed = seed

    def counts(self) -> None:
        """Any number of items will do."""

    def files(self) -> list[Path]:
        """The CSV and the files it names, as far as they are there; `prepare` tells what is not."""
        try:
            rows = read_rows(self.csv, COLUMNS)
            named = [row.path(column) for row in rows for column in READABLE if row[column]]
        except CrossmodalError:
            named = []
        return [path for path in dict.fromkeys([self.csv, *named]) if path.is_file()]

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the CSV and the files it names; nothing is read from `raw`."""
        items = _items(self.csv)
        splits = self._splits(items)
        for id, rows in track(items.items(), len(items), f"prepare {self.csv}"):
            names = map(str.strip, _stating(rows, "labels")["labels"].split(";"))
            labels = tuple(filter(None, names))
            image, suffix = _media(_stating(rows, "image"), "image")
            out.item(id, splits[id], labels[0] if labels else "", labels, image, suffix)
            for number, row in enumerate(rows):
                audio, suffix = _media(row, "audio")
                if row["text"] or audio:
                    out.caption(f"{id}#{number}", id, row["text"], audio, suffix)

    def _splits(self, items: dict[str, list[Row]]) -> dict[str, str]:
        """Split of each item, as its column says or by a draw."""
        rows = {id: _stating(rows, "split") for id, rows in items.items()}
        stated = any("split" in row.values for row in rows.values())
        splits = _stated_splits(rows) if stated else self._drawn([*items])
        for split in SPLITS:
            if split not in splits.values():
                raise CrossmodalError(f"{self.csv}: no item for split {split!r}; add some")
        return splits

    def _drawn(self, ids: list[str]) -> dict[str, str]:
        order = np.random.default_rng(self.seed).permutation(ids).tolist()
        splits = dict.fromkeys(ids, "train")
        for split, share in self.shares.items():
            count = max(1, int(share * len(ids)))
            splits |= dict.fromkeys(order[:count], split)
            del order[:count]
        return splits


def _media(row: Row, column: str) -> tuple[bytes | None, str]:
    """Content and suffix of the file that a column names, if it names one."""
    if not row[column]:
        return None, ""
    path = row.path(column)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise row.error(column, f"{path}: {error.strerror}; correct the path") from error
    if not READABLE[column](content):
        raise row.error(column, f"{path} cannot be read as {column}; replace the file")
    return content, path.suffix


def _is_image(content: bytes) -> bool:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as image:
            image.verify()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False
    return True


def _is_audio(content: bytes) -> bool:
    import soundfile

    try:
        soundfile.info(io.BytesIO(content))
    except soundfile.SoundFileError:
        return False
    return True


READABLE = {"image": _is_image, "audio": _is_audio}


def _items(path: Path) -> dict[str, list[Row]]:
    """Rows of each item, by id."""
    rows = read_rows(path, COLUMNS)
    columns = rows[0].values if rows else {}
    if "id" not in columns or len({*MODALITIES} & {*columns}) < 2:
        raise CrossmodalError(
            f"{path}: {len(rows)} rows with the columns {', '.join(columns) or 'none'}; need id "
            f"and two of {', '.join(MODALITIES)}"
        )
    items: dict[str, list[Row]] = {}
    captions: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        if not row["id"]:
            raise row.error("id", "is empty; name the item")
        first = captions.setdefault((row["id"], row["text"], row["audio"]), row)
        if first is not row:
            raise row.error(
                "id", f"{row['id']!r} is also in row {first.number}, with the same caption"
            )
        items.setdefault(row["id"], []).append(row)
    for column in MODALITIES:
        for id, group in items.items():
            if column in group[0].values and not any(row[column] for row in group):
                raise group[0].error(column, f"is empty for item {id!r}; fill it in")
    return items


def _stating(rows: list[Row], column: str) -> Row:
    """The row of an item that states a column; other rows agree or are empty."""
    stating = next((row for row in rows if row[column]), rows[0])
    for row in rows:
        if row[column] not in ("", stating[column]):
            raise row.error(
                column,
                f"item {row['id']!r} has {row[column]!r} here, but {stating[column]!r} in row "
                f"{stating.number}",
            )
    return stating


def _stated_splits(rows: dict[str, Row]) -> dict[str, str]:
    for row in rows.values():
        if row["split"] not in SPLITS:
            raise row.error("split", f"{row['split']!r} is not one of {', '.join(SPLITS)}")
    return {id: row["split"] for id, row in rows.items()}
