"""What there is of each dataset, and what to do next."""

import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from crossmodal.params import Params, read
from crossmodal.prepared import FILES
from crossmodal.steps.acquire import MIRROR, instructions, missing

RAW, PREPARED = Path("data/raw"), Path("data/prepared")
COLUMNS = ("dataset", "raw files", "prepared", "on disk", "may be passed on", "licence")


def inventory(path: Path) -> None:
    """Print what there is of each entry of `datasets` in params.yaml, and what to do next."""
    table, advice = survey(read(path))
    Console().print(table)
    for name, text in advice.items():
        print(f"{name}: {text}")


def survey(params: Params) -> tuple[Table, dict[str, str]]:
    """A row per dataset; and what to do next with each."""
    table, advice = Table(*COLUMNS), {}
    for name in params.datasets:
        dataset = params.dataset_of(name)
        raw = RAW / params.plugin("datasets", name)["plugin"]
        lacking = missing(dataset.sources, raw)
        prepared = is_prepared(name)
        table.add_row(
            name,
            f"{len(dataset.sources) - len(lacking)}/{len(dataset.sources)}",
            "yes" if prepared else "no",
            decimal(_size(raw) + _size(PREPARED / name)),
            "yes" if dataset.redistribution else "no",
            dataset.licence,
        )
        mirror = os.environ.get(MIRROR) or params.mirror
        asked = [s for s in lacking if not s.urls and not _is_mirrored(mirror, raw.name, s.file)]
        advice[name] = f"crossmodal check {name}" if prepared else _to_prepare(name, asked, raw)
    return table, advice


def is_prepared(name: str) -> bool:
    """Whether all files of a prepared dataset are there."""
    return all((PREPARED / name / file).exists() for file in FILES)


def to_prepare(name: str) -> str:
    """The command that downloads and prepares a dataset."""
    return f"snakemake --cores 8 {PREPARED / name / FILES[0]}"


def _to_prepare(name: str, asked: list[Any], raw: Path) -> str:
    return f"{instructions(asked, raw)}\n  then {to_prepare(name)}" if asked else to_prepare(name)


def _is_mirrored(mirror: str | None, folder: str, file: str) -> bool:
    """Whether a mirror has a file; one at an address may have it."""
    return bool(mirror) and ("://" in mirror or Path(mirror, folder, file).is_file())


def _size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
