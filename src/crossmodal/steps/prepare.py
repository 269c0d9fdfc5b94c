"""Turn a dataset's published files into items, captions, splits and media."""

from pathlib import Path

from crossmodal.config import plugins
from crossmodal.data.writer import Writer
from crossmodal.workflow.records import verified
from crossmodal.workflow.specs import PrepareSpec

CHECKED = (".zip", ".gz", ".tgz")  # have checksums inside, and may have hundreds of gigabytes


def prepare(spec: PrepareSpec, raw: Path, output: Path) -> None:
    """Write the prepared dataset into the folder `output`.

    Args:
        spec: The dataset's plug-in and options.
        raw: Folder of the published files.
        output: Folder that gets items.csv, captions.csv, splits.csv and media.zip.

    Raises:
        CrossmodalError: If a file is not as published, or a split has another size than declared.
    """
    write(Writer(output), spec, raw)


def write(writer: Writer, spec: PrepareSpec, raw: Path) -> None:
    """Write the prepared dataset with a writer; see `prepare`."""
    where = f"datasets.{writer.folder.name}"
    dataset = plugins.make("datasets", spec.plugin, spec.options, where)
    named = [raw / source.file for source in dataset.sources]
    verified(path for path in named if path.suffix not in CHECKED)
    with writer as out:
        dataset.prepare(raw, out)
        out.check(dataset.counts())
