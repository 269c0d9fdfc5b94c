"""Set up arrays of the user's own: a CSV of their ids, an overlay of params.yaml, one command."""

from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from crossmodal.commands.init import (
    FEATURES,
    as_key,
    check_name,
    default_name,
    keep_out_of_git,
    one_or_list,
    quoted,
    refuse_another,
    to_run,
)
from crossmodal.commands.own_rows import rows_on_vectors
from crossmodal.config.overlays import read_files
from crossmodal.datasets._own_csv import LEAST
from crossmodal.datasets._own_table import COLUMNS, MODALITIES, check_languages
from crossmodal.errors import CrossmodalError
from crossmodal.features._array_rows import ORDER, Part
from crossmodal.features._language import guess_language
from crossmodal.io.arrays import file_and_name, read_id_rows
from crossmodal.io.files import write_csv, write_text

Row = dict[str, str]
OVERLAY = """\
# Laid over params.yaml: {command}
datasets:
  {key}: {{plugin: folder, csv: {csv}, {root}validation: 0.1, test: 0.2, seed: 0,
    language: {language}, duplicates: refuse}}
features:
{features}experiments:
  {key}:
    dataset: {key}
    views: {{{views}}}
    relevance: {relevance}  # `category`: the first label is the same; `labels`: any in common
    rows:  # `crossmodal methods` lists others
{rows}tables:
  {key}: {{title: {title}, experiments: {key}, metrics: {metrics}}}
"""
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
    arrays = {m: _opened(Part(*places[m], ids)) for m in MODALITIES if m in files}
    rows, left_out = _rows(ids, next(iter(arrays.values())))
    columns = [column for column in COLUMNS if column in rows[0]]
    arrays = {m: _suited(array, [row["id"] for row in rows]) for m, array in arrays.items()}
    command = to_run(name, overlay)
    text = _overlay(name, csv, arrays, rows, columns, _root(ids, columns), command)
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
    if left_out:
        print(f"left out: columns {', '.join(left_out)} of {ids}")
    print(f"now run:\n  {command}")


def _default_name(files: list[Path]) -> str:
    """Return the letters that the files' names begin with, or what the working folder is called."""
    alike = takewhile(
        lambda letters: len({*letters}) == 1, zip(*(f.stem for f in files), strict=False)
    )
    common = "".join(letters[0] for letters in alike) if len(files) > 1 else ""
    return default_name(Path(common.strip("_-. ") or "."))


def _opened(part: Part) -> OwnArray:
    return OwnArray(part, part.open().shape, "item")


def _rows(ids: str, first: OwnArray) -> tuple[list[Row], list[str]]:
    """Return the rows of the CSV, and columns of the file of ids that it does not have.

    Raises:
        CrossmodalError: If there are fewer items than something can be learnt of.
    """
    left_out: list[str] = []
    if ids == ORDER:
        rows = [{"id": str(number)} for number in range(first.shape[0])]
    elif ids.lower().endswith(".csv"):
        rows, left_out = _table(Path(ids))
    else:
        rows = [{"id": id} for id in first.part.read_ids()]
    items = {row["id"] for row in rows}
    if len(items) < LEAST:
        raise CrossmodalError(f"{ids}: names {len(items)} items; {LEAST} are needed")
    return rows, left_out


def _table(csv: Path) -> tuple[list[Row], list[str]]:
    """Return rows of a CSV, and the columns that are left out."""
    rows = read_id_rows(csv, COLUMNS)
    check_languages(rows)
    return [row.values for row in rows], [*rows[0].unread] if rows else []


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


def _root(ids: str, columns: list[str]) -> str:
    """Return the folder of the files that the CSV names, if it names some."""
    if not {"image", "speech"} & {*columns}:
        return ""
    return f"root: {quoted(Path(ids).parent.as_posix())}, "


def _overlay(
    name: str,
    csv: Path,
    arrays: dict[str, OwnArray],
    rows: list[Row],
    columns: list[str],
    root: str,
    command: str,
) -> str:
    """Return the overlay: views of arrays and, where there is one alone, of what the CSV has."""
    views = {modality: f"{name}_{modality}" for modality in arrays}
    views |= {m: FEATURES[m] for m in MODALITIES if m in columns and m not in arrays}
    if len(views) < 2:
        raise CrossmodalError(
            f"{csv}: {' and '.join(views)} alone; give features of another modality, or a column "
            f"of the ids' file, of {', '.join(MODALITIES)}"
        )
    first, second = [*views][:2]
    widths = {arrays[m].shape[1] for m in (first, second) if m in arrays}
    in_one_space = {first, second} <= {*arrays} and len(widths) == 1
    labels = {row["labels"] for row in rows if row.get("labels")}
    texts = [row["text"] for row in rows if row.get("text")]
    stated = sorted({row["language"] for row in rows if row.get("language")})
    return OVERLAY.format(
        command=command,
        key=as_key(name),
        csv=quoted(csv.as_posix()),
        root=root,
        language=one_or_list(stated or [guess_language(texts)]),
        features="".join(_feature(name, m, array) for m, array in arrays.items()),
        views=", ".join(f"{m}: {views[m]}" for m in (first, second)),
        relevance="labels" if any(";" in label for label in labels) else "category",
        rows=rows_on_vectors(
            "As they are" if in_one_space else "", bool(labels), network=True, width=min(widths)
        ),
        title=quoted(name.replace("_", " ")),
        metrics="'mAP, R@10'" if labels else "'R@1, R@10, MedR'",
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
