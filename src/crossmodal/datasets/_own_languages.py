"""Languages of a user's captions: which of a CSV's rows are read."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from crossmodal.datasets._own_table import OF_ITEM
from crossmodal.errors import CrossmodalError, listed
from crossmodal.io.spreadsheets import Row

SEVERAL = "mul"  # BCP 47: several languages


def rows_in(csv: Path, rows: list[Row], languages: Sequence[str]) -> list[Row]:
    """Return the rows that are in some languages, by their column `language`, all without one.

    The first row that is left of an item states what any one did. Items without such a row are left
    out.

    Args:
        csv: Where the rows are from, for messages.
        rows: All rows.
        languages: By BCP 47; `pt` includes `pt-BR`.

    Raises:
        CrossmodalError: If no row is in these languages.
    """
    if not any(row["language"] for row in rows):
        return rows
    stated: dict[str, dict[str, str]] = {}
    for row in rows:
        facts = {column: row[column] for column in OF_ITEM if row[column]}
        stated[row["id"]] = facts | stated.get(row["id"], {})
    chosen = [row for row in rows if not row["language"] or _is_in(row["language"], languages)]
    if not chosen:
        others = listed(sorted({row["language"] for row in rows} - {""}))
        raise CrossmodalError(
            f"{csv}: has no row in {' or '.join(languages)}; set `language` of the dataset to some "
            f"of {others}"
        )
    return [_completed(row, stated.pop(row["id"], {})) for row in chosen]


def _completed(row: Row, facts: dict[str, str]) -> Row:
    """Return a row that states what belongs to its item."""
    return replace(row, values=row.values | {c: v for c, v in facts.items() if not row[c]})


def _is_in(language: str, languages: Sequence[str]) -> bool:
    return any(f"{language}-".lower().startswith(f"{each}-".lower()) for each in languages)
