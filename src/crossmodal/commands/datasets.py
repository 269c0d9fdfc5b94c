"""Which files of each dataset exist, and what to do next."""

import os
from collections.abc import Sequence
from pathlib import Path

from rich.filesize import decimal

from crossmodal.config.params import Params, read
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
    "may be passed on",
    "licence",
)


def datasets(path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print which files of each entry of `datasets` exist, and what to do next."""
    rows, advice = survey(read(path, *overlays))
    print_table("datasets", COLUMNS, rows)
    for name, text in advice.items():
        print(f"{name}: {text}")


def survey(params: Params) -> tuple[list[tuple[str, ...]], dict[str, str]]:
    """A row of `COLUMNS` per dataset; and what to do next with each."""
    rows, advice = [], {}
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
                decimal(_size(raw) + _size(PREPARED / name)),
                "yes" if dataset.redistribution else "no",
                dataset.licence,
            )
        )
        mirror = os.environ.get(MIRROR) or params.mirror
        asked = [s for s in lacking if not s.urls and not is_mirrored(mirror, raw.name, s.file)]
        advice[name] = f"crossmodal check {name}" if prepared else _to_prepare(name, asked, raw)
    return rows, advice


def _unstated(folder: str, sources: Sequence[Source]) -> str:
    """How many files have no published checksum, and how many of these have a recorded one."""
    unstated = [f"{folder}/{source.file}" for source in sources if not source.sha256]
    known = len(recorded().keys() & unstated)
    return f"{len(unstated)}, recorded {known}" if unstated else ""


def to_prepare(name: str) -> str:
    """The command that downloads and prepares a dataset."""
    return f"snakemake --cores 8 {PREPARED / name / FILES[0]}"


def _to_prepare(name: str, asked: list[Source], raw: Path) -> str:
    return f"{instructions(asked, raw)}\n  then {to_prepare(name)}" if asked else to_prepare(name)


def is_mirrored(mirror: str | None, folder: str, file: str) -> bool:
    """Whether a mirror has a file; one at an address may have it."""
    return bool(mirror) and ("://" in mirror or Path(mirror, folder, file).is_file())


def _download(lacking: list[Source]) -> str:
    """Size of the files that are not there yet, as far as it is known."""
    sizes = [source.bytes for source in lacking]
    return "unknown" if None in sizes else decimal(sum(sizes))


def _size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
