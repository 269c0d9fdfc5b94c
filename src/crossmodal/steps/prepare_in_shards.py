"""`prepare` with media in shards: a step of its own, whose code makes no other dataset due."""

from pathlib import Path

from crossmodal.data.shard_writer import ShardWriter
from crossmodal.steps.prepare import write
from crossmodal.workflow.specs import PrepareSpec


def prepare_in_shards(spec: PrepareSpec, raw: Path, output: Path, max_shard_size: int) -> None:
    """Write the prepared dataset into the folder `output`.

    Args:
        spec: The dataset's plug-in and options.
        raw: Folder of the published files.
        output: Folder that gets items.csv, captions.csv, splits.csv, media.zip and media.
        max_shard_size: Bytes of a shard, at most.

    Raises:
        CrossmodalError: If a file is not as published, or a split has another size than declared.
    """
    write(ShardWriter(output, max_shard_size), spec, raw)
