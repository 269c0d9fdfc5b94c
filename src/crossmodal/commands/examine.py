"""Statistics of a prepared dataset, and leakage between its splits."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from rich.table import Table

from crossmodal.data.prepared import SPLITS, Caption, Item, Prepared
from crossmodal.io.image_files import open_image
from crossmodal.io.progress import track
from crossmodal.io.sound_files import decode_speech


@dataclass
class Media:
    """Properties of the images and clips of a dataset, by item or caption id.

    Args:
        digests: SHA-256 of each image.
        widths: In pixels.
        heights: In pixels.
        seconds: Of each clip.
        corrupt: Errors of unreadable files.
    """

    digests: dict[str, bytes] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    heights: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    corrupt: list[str] = field(default_factory=list)


def examine(
    dataset: Prepared, declared: dict[str, int] | None
) -> tuple[Table, list[str], list[str]]:
    """Return statistics, warnings and errors of a prepared dataset.

    Args:
        dataset: The prepared dataset.
        declared: Items that each split must have; None: any number.
    """
    groups = {split: dataset.split(split) for split in SPLITS}
    media = _measure(dataset)
    owners = {c.id: dataset.splits.get(c.item, "") for c in dataset.captions}
    errors = _wrong_counts(groups, declared) + media.corrupt
    errors += [f"caption {id!r} has no item" for id, split in owners.items() if not split]
    for ids in _shared(media.digests, dataset.splits):
        where = ", ".join(f"{id} ({dataset.splits[id]})" for id in ids)
        errors.append(f"one image in two splits: {where}")
    repeated = len(_shared({c.id: c.text for c in dataset.captions if c.text}, owners))
    warnings = [f"{repeated} captions are the same in two splits"] if repeated else []
    return _statistics(groups, dataset.captions, media), warnings, errors


def _wrong_counts(groups: dict[str, list[Item]], declared: dict[str, int] | None) -> list[str]:
    return [
        f"split {split!r} has {len(items)} items, the dataset declares {declared.get(split, 0)}"
        for split, items in groups.items()
        if declared is not None and len(items) != declared.get(split, 0)
    ]


def _shared(values: Mapping[str, Hashable], splits: dict[str, str]) -> list[list[str]]:
    """Return groups of ids of one value that are in several splits."""
    groups = defaultdict(list)
    for id, value in values.items():
        groups[value].append(id)
    return [ids for ids in groups.values() if len({splits[id] for id in ids}) > 1]


def _measure(dataset: Prepared) -> Media:
    """Return the properties of all images and clips."""
    media = Media()
    rows = [(item.id, item.image, _measure_image) for item in dataset.items if item.image]
    rows += [(c.id, c.audio, _measure_clip) for c in dataset.captions if c.audio]
    for id, member, measure in track(rows, len(rows), f"check {dataset.folder.name}"):
        try:
            measure(media, id, dataset.read(member))
        except Exception as error:  # Pillow's readers raise anything on corrupt files
            media.corrupt.append(f"{member} cannot be opened: {error}")
    return media


def _measure_image(media: Media, id: str, content: bytes) -> None:
    media.digests[id] = hashlib.sha256(content).digest()
    with open_image(content) as image:
        media.widths[id], media.heights[id] = image.size


def _measure_clip(media: Media, id: str, content: bytes) -> None:
    samples, rate = decode_speech(content, id)  # headers may have no or a wrong length
    media.seconds[id] = len(samples) / rate


def _statistics(groups: dict[str, list[Item]], captions: list[Caption], media: Media) -> Table:
    """Return a table of one column per split, one row per statistic."""
    described = defaultdict(list)
    for caption in captions:
        described[caption.item].append(caption)
    columns = [_column(items, described, media) for items in groups.values()]
    table = Table("min / mean / max", *groups)
    for name in columns[0]:
        cells = [column[name] for column in columns]
        if not set(cells) <= {"", "0", "0 / 0 / 0"}:
            table.add_row(name, *cells)
    return table


def _column(items: list[Item], described: dict[str, list[Caption]], media: Media) -> dict[str, str]:
    """Return the statistics of one split."""
    captions = [caption for item in items for caption in described[item.id]]
    ids, spoken = [item.id for item in items], [caption.id for caption in captions]
    per_label = Counter(label for item in items for label in item.labels)
    return {
        "items": str(len(items)),
        "captions": str(len(captions)),
        "captions of an item": _spread(len(described[id]) for id in ids),
        "words of a caption": _spread(len(c.text.split()) for c in captions if c.text),
        "labels": str(len(per_label)),
        "labels of an item": _spread(len(item.labels) for item in items),
        "items of a label": _spread(per_label.values()),
        "image width": _spread(media.widths[id] for id in ids if id in media.widths),
        "image height": _spread(media.heights[id] for id in ids if id in media.heights),
        "clips": str(sum(id in media.seconds for id in spoken)),
        "seconds of a clip": _spread(media.seconds[id] for id in spoken if id in media.seconds),
    }


def _spread(values: Iterable[float]) -> str:
    """Return minimum, mean and maximum."""
    array = np.fromiter(values, float)
    if not len(array):
        return ""
    return f"{array.min():.4g} / {array.mean():.4g} / {array.max():.4g}"
