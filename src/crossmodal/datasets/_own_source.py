"""Items in a format of others, as a table of the dataset `folder`."""

from pathlib import Path

from crossmodal.datasets._formats.column_names import PAGE
from crossmodal.datasets._formats.hugging_face_folder import metadata
from crossmodal.datasets._formats.item_records import MODALITIES
from crossmodal.datasets._formats.reading import read_source
from crossmodal.datasets._formats.table_members import unkept
from crossmodal.datasets._own_csv import Table, is_own_csv, own_columns, suffices, unnamed
from crossmodal.datasets._own_files import files_of
from crossmodal.datasets._own_table import named_rows
from crossmodal.datasets._unread import listed as listed_files
from crossmodal.errors import CrossmodalError, listed


def table_of_source(path: Path, skip_bad: bool) -> Table | None:
    """Return the table of a file, or of a folder in a format of others; None of another folder.

    A folder's own CSV has precedence.

    Raises:
        CrossmodalError: If records are malformed and not to be skipped, or there are too few.
    """
    if path.is_dir():
        tables = [file for file in path.iterdir() if is_own_csv(file)]
        if len(tables) > len(metadata(tables)):
            return None
    elif is_own_csv(path) and suffices(own_columns(path)):
        rows = named_rows(path)
        return Table(path, rows, facts=[f"{path}: {len({row['id'] for row in rows}):,} items"])
    source = read_source(path, keep=unkept)
    if source is None:
        return None
    bad = str(source.bad).splitlines()
    columns = source.rows[0].values if source.rows else {}
    if bad and not (skip_bad and columns):
        advice = f"{len(source.bad.errors):,} records are malformed; --skip-bad leaves them out"
        raise CrossmodalError("\n".join([*bad, f"{path}: {source.kind}: {advice}"]))
    if len({*MODALITIES} & {*columns}) < 2:
        need = f"two of {', '.join(MODALITIES)} are needed"
        if source.unread:
            need += f"; not read: {listed([*source.unread])}; {PAGE} has names that are"
        raise CrossmodalError("\n  ".join([f"{source.facts()}; {need}", *source.notes]))
    facts = [source.facts(), *source.notes]
    left_out = [f"not read: {listed([*source.unread])}"] if source.unread else []
    if path.is_dir():
        left_out += listed_files(unnamed(files_of(path), source.rows, path))
    return Table(path, source.rows, facts=facts, option="source", left_out=[*bad, *left_out])
