"""Set up arrays of the user's own: a CSV of their ids, an overlay of params.yaml, one command."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from crossmodal.commands.init import FEATURES, keep_out_of_git
from crossmodal.commands.own_overlay import (
    OTHERS,
    check_name,
    default_name,
    overlay_text,
    quoted,
    refuse_another,
    to_run,
)
from crossmodal.commands.own_rows import rows_on_vectors
from crossmodal.config.overlays import read_files
from crossmodal.datasets._own_csv import LEAST
from crossmodal.datasets._own_table import COLUMNS, MODALITIES, check_languages, items_of
from crossmodal.errors import CrossmodalError
from crossmodal.features._array_rows import ORDER, Part
from crossmodal.io.arrays import TABLES, file_and_name, read_id_rows
from crossmodal.io.files import write_csv, write_text
from crossmodal.io.spreadsheets import Findings, Row

FEATURE = (
    "  {name}_{modality}: {{plugin: array, modality: {modality}, file: {file}, "
    "{inside}ids: {ids}{unit}}}\n"
)


@dataclass(frozen=True)
class OwnArray:
    """The matrix of a modality.

    Args:
        part: Its file, and where its ids are.
        shape: Rows and columns.
        unit: What a row is.
    """

    part: Part
    shape: tuple[int, ...]
    unit: str


def init_arrays(files: dict[str, Path], ids: str | None, name: str | None, path: Path) -> None:
    """Write <name>_table/items.csv and <name>.yaml; print what was read.

    Args:
        files: Files of matrices by modality, with `:NAME` where a file has several.
        ids: A file of ids, an array in each matrix's own file, or `order`.
        name: Name of dataset, experiment and table; by default what the files' names begin with.
        path: params.yaml.

    Raises:
        CrossmodalError: If a matrix cannot be read or does not suit the ids, another overlay
            exists, or the name is taken; nothing is written then.
    """
    if ids is None:
        raise CrossmodalError("give --ids: a file, an array in each file, or `order` for none")
    places = {modality: file_and_name(file) for modality, file in files.items()}
    name = name or _default_name([file for file, _ in places.values()])
    content = read_files([path])
    check_name(name, content)
    if taken := [m for m in files if f"{name}_{m}" in content["features"]]:
        raise CrossmodalError(f"'{name}_{taken[0]}' is a feature of params.yaml; give --name")
    overlay, csv = Path(f"{name}.yaml"), Path(f"{name}_table/items.csv")
    parts = {m: Part(*places[m], ids) for m in MODALITIES if m in files}
    arrays = {m: OwnArray(part, part.open().shape, "item") for m, part in parts.items()}
    rows = _rows(ids, next(iter(arrays.values())))
    columns = [column for column in COLUMNS if column in rows[0].values]
    arrays = {m: _suited(array, [row["id"] for row in rows]) for m, array in arrays.items()}
    text = _overlay(name, csv, arrays, rows, Path(ids).parent)
    refuse_another(overlay, text)
    keep_out_of_git(csv.parent)
    write_csv(csv, columns, ([row[column] for column in columns] for row in rows))
    write_text(overlay, text)
    print(f"wrote {csv}: {len({row['id'] for row in rows}):,} items; {', '.join(columns)}")
    print(f"wrote {overlay}: dataset, experiment and table `{name}`")
    for modality, array in arrays.items():
        size = " x ".join(f"{n:,}" for n in array.shape)
        inside = f":{array.part.name}" if array.part.name else ""
        print(
            f"read {array.part.file}{inside}: {size}, a row is the {modality} of one {array.unit}"
        )
    if unread := rows[0].unread:
        print(f"left out: columns {', '.join(unread)} of {ids}")
    print(f"now run:\n  {to_run(name)}")


def _default_name(files: list[Path]) -> str:
    """Return the letters that the files' names begin with, or what the working folder is called."""
    stems = [file.stem for file in files]
    common = os.path.commonprefix(stems) if len(stems) > 1 else ""  # noqa: RUF071 - by letters
    return default_name(Path(common.strip("_-. ") or "."))


def _rows(ids: str, first: OwnArray) -> list[Row]:
    """Return the rows of the CSV.

    Raises:
        CrossmodalError: If `prepare` would refuse them, or there are fewer items than something
            can be learnt of.
    """
    if Path(ids).suffix.lower() in TABLES:
        rows = read_id_rows(Path(ids), COLUMNS)
        check_languages(rows)
    else:
        order = [str(number) for number in range(first.shape[0])]
        names = order if ids == ORDER else first.part.read_ids()
        rows = [Row(Path(ids), number, {"id": id}) for number, id in enumerate(names, 1)]
    findings = Findings()
    items = items_of(rows, findings)
    findings.report()
    if len(items) < LEAST:
        raise CrossmodalError(f"{ids}: names {len(items)} items; {LEAST} are needed")
    return rows


def _suited(array: OwnArray, ids: list[str]) -> OwnArray:
    """Return an array with what its rows are: of items or, where ids repeat, of captions.

    Raises:
        CrossmodalError: If it has as many rows as neither.
    """
    count, items, part = array.shape[0], len({*ids}), array.part
    if count == items:
        # the CSV has the items in the order in which they first occur
        return replace(array, part=replace(part, ids=part.ids if items == len(ids) else ORDER))
    if count == len(ids):
        return replace(array, unit="caption")
    rows = f", in {len(ids):,} rows" if items < len(ids) else ""
    raise CrossmodalError(
        f"{part.file}: has {count:,} rows, but {part.ids} names {items:,} items{rows}; give one "
        "row for each"
    )


def _overlay(name: str, csv: Path, arrays: dict[str, OwnArray], rows: list[Row], root: Path) -> str:
    """Return the overlay: views of arrays and, where there is one alone, of what the CSV has."""
    views = {modality: f"{name}_{modality}" for modality in arrays}
    views |= {m: FEATURES[m] for m in MODALITIES if m in rows[0].values and m not in arrays}
    if len(views) < 2:
        raise CrossmodalError(
            f"{csv}: {' and '.join(views)} alone; give features of another modality, or a column "
            f"of the ids' file, of {', '.join(MODALITIES)}"
        )
    names_files = {"image", "speech"} & {*rows[0].values}
    dataset = f"csv: {quoted(csv.as_posix())}, "
    dataset += f"root: {quoted(root.as_posix())}, " if names_files else ""
    chosen = dict([*views.items()][:2])
    widths = {arrays[m].shape[1] for m in chosen if m in arrays}
    in_one_space = {*chosen} <= {*arrays} and len(widths) == 1
    is_labelled = any(row["labels"] for row in rows)
    methods = rows_on_vectors(
        "As they are" if in_one_space else "", is_labelled, network=True, width=min(widths)
    )
    return overlay_text(
        name,
        rows,
        dataset=dataset,
        features="".join(_feature(name, m, array) for m, array in arrays.items()),
        views=chosen,
        methods=OTHERS + methods,
    )


def _feature(name: str, modality: str, array: OwnArray) -> str:
    return FEATURE.format(
        name=name,
        modality=modality,
        file=quoted(array.part.file.as_posix()),
        inside=f"name: {quoted(array.part.name)}, " if array.part.name else "",
        ids=quoted(array.part.ids),
        unit=", unit: caption" if array.unit == "caption" else "",
    )
