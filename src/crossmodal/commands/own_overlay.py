"""Overlay of params.yaml with a user's own dataset, an experiment and a table, all of one name."""

import json
import re
import unicodedata
from pathlib import Path

import yaml

from crossmodal.config.workflow_files import program
from crossmodal.datasets._own_items import labels_of
from crossmodal.errors import CrossmodalError
from crossmodal.features._language import guess_language
from crossmodal.io.spreadsheets import Row

LONGEST = 60  # characters of a default name, which becomes part of file names
OF_SUITES = {"all", "claims"}  # pages among the tables
OVERLAY = """\
# Laid over params.yaml: {command}
datasets:
  {key}: {{plugin: folder, {dataset}validation: 0.1, test: 0.2, seed: 0,
    language: {language},  # of the captions, by BCP 47; `und`: not known
    duplicates: refuse}}  # `refuse` or `warn`: equal items in two of your own splits
{features}experiments:
  {key}:
    dataset: {key}
    views: {{{views}}}  # `crossmodal features` lists others
    relevance: {relevance}  # `category`: the first label is the same; `labels`: any in common
    rows:{methods}{encoded}tables:
  {key}: {{title: {title}, experiments: {shown}, metrics: {metrics}}}
"""
OTHERS = "  # `crossmodal methods` lists others\n"  # behind the methods


def overlay_text(
    name: str,
    rows: list[Row],
    *,
    dataset: str,
    features: str,
    views: dict[str, str],
    methods: str,
    encoded: str = "",
) -> str:
    """Return the overlay as YAML; `methods` is what follows `rows:`."""
    key, is_labelled = as_key(name), any(row["labels"] for row in rows)
    codes = [*map(as_key, languages_of(rows))]
    return OVERLAY.format(
        key=key,
        command=to_run(name),
        dataset=dataset,
        language=codes[0] if len(codes) == 1 else f"[{', '.join(codes)}]",
        features=f"features:\n{features}" if features else "",
        views=", ".join(f"{modality}: {view}" for modality, view in views.items()),
        relevance=relevance_of(rows),
        methods=methods,
        encoded=encoded,
        title=quoted(name.replace("_", " ")),
        shown=f"'{name}, {name}_encoder'" if encoded else key,
        metrics="'mAP, R@10'" if is_labelled else "'R@1, R@10, MedR'",
    )


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
    if name in OF_SUITES or any(f"{key}_".startswith(f"{name}_") for key in taken):
        where = "by an entry of params.yaml, or by a page of its suites"
        raise CrossmodalError(f"{name!r} is taken {where}; give --name")


def to_run(name: str) -> str:
    """Return the command that makes the table."""
    return f"{program()} --cores 8 results/tables/{name}.md --configfile {name}.yaml"


def refuse_another(overlay: Path, text: str) -> None:
    """Check that the overlay is not there, or is as it would be written.

    Raises:
        CrossmodalError: If it has another content.
    """
    if overlay.exists() and overlay.read_text(encoding="utf-8") != text:
        raise CrossmodalError(f"{overlay}: exists already; edit or delete it, or give --name")


def languages_of(rows: list[Row]) -> list[str]:
    """Return the languages that rows state, or else a guess by their texts."""
    stated = sorted({row["language"] for row in rows} - {""})
    return stated or [guess_language(row["text"] for row in rows if row["text"])]


def relevance_of(rows: list[Row]) -> str:
    """Return what decides which items are right for a query."""
    return "labels" if any(len(labels_of([row])) > 1 for row in rows) else "category"


def as_key(name: str) -> str:
    """Return a name as YAML has it, where 2024 is a number and `no` is false."""
    return name if yaml.safe_load(name) == name else quoted(name)


def quoted(text: str) -> str:
    """Return a text as YAML has it on one line."""
    return json.dumps(text, ensure_ascii=False)
