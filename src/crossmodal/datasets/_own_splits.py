"""Splits of a user's own items, stated or drawn; equal items belong in one of them."""

import os
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from crossmodal.datasets._duplicates import grouped
from crossmodal.datasets._own_items import stating
from crossmodal.datasets._own_media import COLUMNS as FILES
from crossmodal.datasets._own_table import Table
from crossmodal.errors import CrossmodalError
from crossmodal.io.spreadsheets import Findings, Row

NAMED = 10  # items in a warning
LARGEST = 5  # groups in a message
OWN = "write a column `split`"

Pairs = Iterable[tuple[str, str]]


def with_test_rows(rows: list[Row], tested: list[Row], folder: str) -> list[Row]:
    """Return rows of items that are not for testing, and of others that are.

    Args:
        rows: The former.
        tested: The latter.
        folder: Where the files of the latter are, from where those of the former are looked up.

    Raises:
        RowError: If one of the former says that it is for testing, or has the id of a latter.
    """
    if wrong := next((row for row in rows if row["split"] == "test"), None):
        reason = f"item {wrong['id']!r} is for testing, but `test_csv` has the items for that"
        raise wrong.error("split", f"{reason}; leave out its rows, or `test_csv`")
    ids = {row["id"] for row in rows}
    if wrong := next((row for row in tested if row["id"] in ids), None):
        reason = f"{wrong['id']!r} is an item of {rows[0].table}, too; call one of both otherwise"
        raise wrong.error("id", reason)
    split = "split" in rows[0].values
    former = rows if split else [replace(r, values=r.values | {"split": "train"}) for r in rows]
    return [*former, *(_for_testing(row, folder) for row in tested)]


def _for_testing(row: Row, folder: str) -> Row:
    paths = {column: os.path.join(folder, row[column]) for column in FILES if row[column]}
    return replace(row, values=row.values | paths | {"split": "test"})


def stated_splits(csv: Path, table: Table) -> dict[str, str]:
    """Return the split of each item, as its rows state it; empty without such a column.

    Raises:
        CrossmodalError: If no item is for training.
    """
    stated = {id: stating(rows, "split") for id, rows in table.items.items()}
    splits = {id: row["split"] for id, row in stated.items() if "split" in row.values}
    if splits and "train" not in splits.values():
        raise CrossmodalError(f"{csv}: no item for split 'train'; add some")
    return splits


def drawn_splits(
    csv: Path, ids: list[str], shares: dict[str, float], seed: int, pairs: Pairs, near: bool
) -> dict[str, str]:
    """Return the split of each item, drawn; warn of items that stay together.

    Args:
        csv: Where the items are from.
        ids: The items.
        shares: Share of the items for each split but 'train', which gets the others.
        seed: Of the draw.
        pairs: Items that stay together.
        near: Whether they are equal or nearly equal, and not only equal.

    Raises:
        CrossmodalError: If a split gets no item.
    """
    groups = grouped(pairs)
    wanted = {split: max(1, int(share * len(ids))) for split, share in shares.items()}
    splits = _draw(ids, groups, wanted, seed)
    sizes = Counter(splits.values())
    kind, way = "equal", OWN
    if near:
        kind = "equal or nearly equal"
        way = f"set `duplicates: warn` to part those that are only nearly equal, or {OWN}"
    largest = Counter(groups.values()).most_common(LARGEST)
    together = f"most are {kind} to " + ", ".join(f"{id!r} ({size})" for id, size in largest)
    for split in ("train", *shares):
        if not sizes[split]:
            why = f"items that are {kind} stay in one split, and {together}; {way}"
            raise CrossmodalError(
                f"{csv}: no item of {len(splits)} for split {split!r}: "
                + (why if groups else "they are too few; add some")
            )
    if groups:
        named = ", ".join([*groups][:NAMED]) + (", ..." if len(groups) > NAMED else "")
        short = [f"{s} has {sizes[s]} of {n} items" for s, n in wanted.items() if sizes[s] < n / 2]
        warnings.warn(
            f"{csv}: {len(groups)} items are {kind} to others and stay in their split: {named}"
            + (f"; so {' and '.join(short)}; {together}; {way}" if short else ""),
            stacklevel=2,
        )
    return splits


def parted(table: Table, splits: dict[str, str], pairs: Pairs, advice: str) -> tuple[Findings, int]:
    """Return findings on pairs of alike items in different splits, and the number of items."""
    findings, items = Findings(), set()
    for first, second in pairs:
        if splits[first] != splits[second]:
            items |= {first, second}
            findings.errors.append(
                table.items[second][0].error(
                    "split",
                    f"{second!r} ({splits[second]}) is equal or nearly equal to {first!r} "
                    f"({splits[first]}){advice}",
                )
            )
    return findings, len(items)


def _draw(
    ids: list[str], groups: dict[str, str], wanted: dict[str, int], seed: int
) -> dict[str, str]:
    """Return a draw of the sizes that are wanted, or less; the others are for training.

    Args:
        ids: All items.
        groups: The group of each item that equals another one.
        wanted: Number of items of each split.
        seed: Of the draw.
    """
    order = np.random.default_rng(seed).permutation(ids).tolist()
    members: dict[str, list[str]] = {}
    for id in order:
        members.setdefault(groups.get(id, id), []).append(id)
    splits = dict.fromkeys(ids, "train")
    for split, room in wanted.items():
        for group in [*members]:
            if len(members[group]) <= room:
                room -= len(members[group])
                splits |= dict.fromkeys(members.pop(group), split)
    return splits
