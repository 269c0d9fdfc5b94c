"""From a folder of the user's own files to a CSV, an overlay of params.yaml, and one command."""

import json
import re
from importlib.util import find_spec
from itertools import compress
from pathlib import Path

from crossmodal.config.overlays import read_files
from crossmodal.datasets._own_files import OwnItem, files_of, items_of
from crossmodal.datasets._own_table import COLUMNS, MODALITIES, named_rows
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_csv, write_text

CSV = ("id", *MODALITIES, "labels")
FEATURES = {"image": "lite0_fne_z", "text": "bow_item", "speech": "logmel_statistics"}
LEAST = 10  # items of which something can be learnt
SMALL = 1000  # items, up to which a sentence encoder knows more of words than these teach
OVERLAY = """\
# Laid over params.yaml: {command}
datasets:
  {name}: {{plugin: folder, csv: {csv}, validation: 0.1, test: 0.2, seed: 0,
    duplicates: refuse}}  # `refuse` or `warn`: equal items in two of your own splits
experiments:
  {name}:
    dataset: {name}
    views: {{{views}}}  # `crossmodal features` lists others
    relevance: {relevance}  # `category`: the first label is the same; `labels`: any in common
    rows: {{{methods}}}  # `crossmodal methods` lists others
tables:
  {name}: {{title: {title}, experiments: {name}, metrics: {metrics}}}
"""


def init(folder: Path, name: str | None, path: Path) -> None:
    """Write what is missing of a CSV in the folder and <name>.yaml, and print what to do next.

    Args:
        folder: Pictures, sound files and texts in any sub-folders; or a CSV that names them.
        name: Of the dataset, the experiment and the table; by default that of the folder.
        path: params.yaml.

    Raises:
        CrossmodalError: If the overlay exists, the name is taken, or there is too little in the
            folder; nothing is written then.
    """
    if not folder.is_dir():
        raise CrossmodalError(f"{folder}: no such folder")
    name = name or re.sub(r"\W+", "_", folder.resolve().name, flags=re.ASCII).strip("_")
    overlay = Path(f"{name}.yaml")
    _check_name(name, overlay, read_files([path]))
    command = f"snakemake --cores 8 results/tables/{name}.md --configfile {overlay}"
    tables = sorted(folder.glob("*.csv"))
    if len(tables) > 1:
        raise CrossmodalError(f"{folder}: {len(tables)} CSVs; leave the one that names the files")
    csv = tables[0] if tables else _write_csv(folder)
    write_text(overlay, _overlay(name, csv, command))
    print(f"wrote {overlay}: dataset, experiment and table `{name}`\nnow run:\n  {command}")
    _keep_out_of_git(folder)


def _check_name(name: str, overlay: Path, said: dict) -> None:
    if overlay.exists():
        raise CrossmodalError(f"{overlay}: is there already; edit or delete it, or give --name")
    taken = {key for section in ("datasets", "experiments", "tables") for key in said[section]}
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise CrossmodalError(f"{name!r} is more than letters, digits, _ and -; give --name")
    if any(name == key or key.startswith(f"{name}_") for key in taken):
        raise CrossmodalError(f"{name!r} is taken by an entry of params.yaml; give --name")


def _write_csv(folder: Path) -> Path:
    """Write items.csv, and say what was found and what was made of it."""
    found = files_of(folder)
    items = items_of(folder, found)
    counts = {m: sum(m in item.has() for item in items) for m in MODALITIES}
    used = [m for m, count in counts.items() if count > len(items) / 2]
    kept = [item for item in items if {*used} <= item.has()]
    seen = ", ".join(f"{len(paths)} {kind}" for kind, paths in found.items() if paths)
    print(f"{folder}: {seen}")
    if len(used) < 2 or len(kept) < LEAST:
        have = ", ".join(f"{count} with {m}" for m, count in counts.items())
        raise CrossmodalError(
            f"{folder}: {len(items)} items, {have}; {LEAST} with the same two are needed. Name "
            "files by what they show, put a text or sound file of the same name beside each, sort "
            "them into sub-folders, or write a CSV with the columns " + ", ".join(COLUMNS)
        )
    labelled = any(item.label for item in kept)
    shown = [True, *(m in used for m in MODALITIES), labelled]
    path = folder / "items.csv"
    rows = (compress(row, shown) for item in kept for row in item.rows())
    write_csv(path, [*compress(CSV, shown)], rows)
    print(f"wrote {path}: {_told(kept, len(items), used)}")
    return path


def _told(kept: list[OwnItem], all_items: int, used: list[str]) -> str:
    """What the CSV holds, in words."""
    labels = {item.label for item in kept} - {""}
    parts = [f"{len(kept)} items", "modalities " + " and ".join(used)]
    parts += [f"{sum(len(item.text) for item in kept)} captions"] if "text" in used else []
    parts += [f"{len(labels)} labels, the names of the sub-folders"] if labels else ["no labels"]
    parts += [f"{all_items - len(kept)} left out, which lack one"] if all_items > len(kept) else []
    return "; ".join(parts)


def _overlay(name: str, csv: Path, command: str) -> str:
    """The overlay for a CSV: the features that pip brings weights for, methods that suit it."""
    rows = named_rows(csv)
    columns = [m for m in MODALITIES if rows and m in rows[0].values]
    if len(columns) < 2:
        raise CrossmodalError(f"{csv}: needs rows, and two of the columns {', '.join(MODALITIES)}")
    labels = {row["labels"] for row in rows} - {""}
    known = "text" in columns[:2] and len({row["id"] for row in rows}) <= SMALL and has_encoder()
    features = FEATURES | ({"text": "sentence_item"} if known else {})
    alone = "cca: {}" if known else "ridge: {}"
    return OVERLAY.format(
        name=name,
        command=command,
        csv=json.dumps(csv.as_posix(), ensure_ascii=False),
        views=", ".join(f"{m}: {features[m]}" for m in columns[:2]),
        relevance="labels" if any(";" in label for label in labels) else "category",
        methods="cca: {}, sam: {}" if labels else alone,
        metrics="'mAP, R@10'" if labels else "'R@1, R@10, MedR'",
        title=json.dumps(name.replace("_", " ")),
    )


def has_encoder() -> bool:
    """Whether the sentence encoder of `sentence_item` is installed."""
    if not find_spec("transformers"):
        return False
    from crossmodal.nn.sentence_transformer import OFFICIAL

    return all(model.installed() for model in OFFICIAL.values())


def _keep_out_of_git(folder: Path) -> None:
    """Ignore the folder where `git add --all` would take it."""
    ignored = folder / ".gitignore"
    if folder.resolve().is_relative_to(Path.cwd()) and not ignored.exists():
        write_text(ignored, "# your files stay yours: `git add --all` does not take them\n*\n")
