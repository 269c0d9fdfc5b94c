"""List the datasets with their files and the next step for each."""

import os
from collections.abc import Sequence
from pathlib import Path

from rich.filesize import decimal

from crossmodal.config.params import Params, read
from crossmodal.config.workflow_files import program
from crossmodal.data.dataset import Source
from crossmodal.data.fetching import MIRROR
from crossmodal.data.prepared import FILES, PREPARED, is_prepared
from crossmodal.io.first_use import recorded
from crossmodal.io.text_table import print_table
from crossmodal.steps.download import instructions, missing

RAW = Path("data/raw")
COLUMNS = (
    "dataset",
    "raw files",
    "to download",
    "no published checksum",
    "prepared",
    "on disk",
    "redistributable",
    "licence",
)


def datasets(path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print a line and the next step for each entry of `datasets`, and what to cite."""
    params = read(path, *overlays)
    rows, advice = survey(params)
    print_table("datasets", COLUMNS, rows)
    for name, text in advice.items():
        print(f"{name}: {text}")
    for citation, names in citations(params).items():
        print(f"to cite {', '.join(names)}: {citation}")


def survey(params: Params) -> tuple[list[tuple[str, ...]], dict[str, str]]:
    """Return a row of `COLUMNS` and the next step for each dataset."""
    rows: list[tuple[str, ...]] = []
    advice: dict[str, str] = {}
    for name in params.datasets:
        if name not in params.usable("datasets"):
            advice[name] = f"not usable: {params.broken[f'datasets.{name}']}"
            continue
        dataset = params.dataset_of(name)
        raw = RAW / params.plugin("datasets", name)["plugin"]
        lacking = missing(dataset.sources, raw)
        prepared = is_prepared(name)
        rows.append(
            (
                name,
                f"{len(dataset.sources) - len(lacking)}/{len(dataset.sources)}",
                _download(lacking),
                _unstated(raw.name, dataset.sources),
                "yes" if prepared else "no",
                decimal(size_of(raw) + size_of(PREPARED / name)),
                "yes" if dataset.redistribution else "no",
                dataset.licence,
            )
        )
        mirror = os.environ.get(MIRROR) or params.mirror
        asked = [s for s in lacking if not s.urls and not is_mirrored(mirror, raw.name, s)]
        advice[name] = f"crossmodal check {name}" if prepared else _to_prepare(name, asked, raw)
    return rows, advice


def citations(params: Params) -> dict[str, list[str]]:
    """Return the datasets of each citation."""
    names: dict[str, list[str]] = {}
    for name in params.usable("datasets"):
        names.setdefault(params.dataset_of(name).citation, []).append(name)
    return names


def _unstated(folder: str, sources: Sequence[Source]) -> str:
    """Count the files without a published checksum, and those of them with a recorded one."""
    unstated = [f"{folder}/{source.file}" for source in sources if not source.sha256]
    count = len(recorded().keys() & unstated)
    return f"{len(unstated)}, recorded {count}" if unstated else ""


def to_prepare(name: str) -> str:
    """Return the command that downloads and prepares a dataset."""
    return f"{program()} --cores 8 {PREPARED / name / FILES[0]}"


def _to_prepare(name: str, asked: list[Source], raw: Path) -> str:
    return f"{instructions(asked, raw)}\n  then {to_prepare(name)}" if asked else to_prepare(name)


def is_mirrored(mirror: str | None, folder: str, source: Source) -> bool:
    """Return whether a mirror has a file of a dataset's `folder`; any file may be at a URL."""
    path = Path(mirror or "", source.folder or folder, source.file)
    return bool(mirror and ("://" in mirror or path.is_file()))


def _download(lacking: list[Source]) -> str:
    """Return the size of the missing files."""
    sizes = [source.bytes for source in lacking if source.bytes is not None]
    return decimal(sum(sizes)) if len(sizes) == len(lacking) else "unknown"


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder, or of a file."""
    files = (path for path in (folder, *folder.rglob("*")) if path.is_file())
    return sum(path.stat().st_size for path in files)
