"""The same items in each format that is read: pictures of noise, two captions each."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from crossmodal.commands.init import init
from crossmodal.data.prepared import Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import PrepareSpec
from tests.project_params import PATH

COUNT = 12
TEXTS = [[f"a dog {n}", f"the brown dog {n}"] for n in range(COUNT)]
SPLITS = ["train"] * 8 + ["val"] * 2 + ["test"] * 2


def content(number):
    """A PNG that looks like no other one."""
    cells = np.random.default_rng(number).integers(256, size=(16, 16, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(cells).save(stream, "PNG")
    return stream.getvalue()


def photos(folder, names):
    """Write a picture for each name; their paths as they were given."""
    for number, name in enumerate(names):
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(number))
    return names


def lines(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def hugging_face(folder):
    names = photos(folder, [f"{split}/{n}.png" for n, split in enumerate(SPLITS)])
    for split in ("train", "val", "test"):
        chosen = [(n, name) for n, name in enumerate(names) if name.startswith(split)]
        records = ({"file_name": Path(name).name, "text": TEXTS[n]} for n, name in chosen)
        lines(folder / split / "metadata.jsonl", records)


def hugging_face_csv(folder):
    photos(folder, [f"{split}/{n}.png" for n, split in enumerate(SPLITS)])
    rows = [
        f'{split}/{n}.png,"{json.dumps(TEXTS[n]).replace(chr(34), chr(34) * 2)}"\n'
        for n, split in enumerate(SPLITS)
    ]
    (folder / "metadata.csv").write_text("file_name,text\n" + "".join(rows))


def coco(folder):
    for split, name in {"train": "train2014", "val": "val2014", "test": "test2014"}.items():
        numbers = [n for n, each in enumerate(SPLITS) if each == split]
        for n in numbers:
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / f"{n}.png").write_bytes(content(n))
        captions = [(n, text) for n in numbers for text in TEXTS[n]]
        described = {
            "images": [{"id": n, "file_name": f"{n}.png"} for n in numbers],
            "annotations": [{"image_id": n, "caption": text} for n, text in captions],
        }
        (folder / "annotations").mkdir(exist_ok=True)
        path = folder / "annotations" / f"captions_{name}.json"
        path.write_text(json.dumps(described))


def karpathy(folder):
    photos(folder / "images", [f"{n}.png" for n in range(COUNT)])
    images = [
        {"filename": f"{n}.png", "split": split, "sentences": [{"raw": t} for t in TEXTS[n]]}
        for n, split in enumerate(SPLITS)
    ]
    (folder / "dataset_own.json").write_text(json.dumps({"images": images, "dataset": "own"}))


def json_lines(folder):
    photos(folder, [f"p/{n}.png" for n in range(COUNT)])
    records = (
        {"image": f"p/{n}.png", "caption": text, "split": split}
        for n, split in enumerate(SPLITS)
        for text in TEXTS[n]
    )
    lines(folder / "all.jsonl", records)


def parquet_of_bytes(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    for split in ("train", "val", "test"):
        numbers = [n for n, each in enumerate(SPLITS) if each == split]
        columns = {
            "image": [{"bytes": content(n), "path": f"{n}.png"} for n in numbers],
            "captions": [TEXTS[n] for n in numbers],
            "image_id": numbers,
        }
        pq.write_table(pa.table(columns), folder / f"{split}-00000-of-00001.parquet")


def parquet_of_paths(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    photos(folder, [f"p/{n}.png" for n in range(COUNT)])
    columns = {
        "image_path": [f"p/{n}.png" for n in range(COUNT)],
        "caption": TEXTS,
        "split": SPLITS,
    }
    pq.write_table(pa.table(columns), folder / "all.parquet")


def excel(folder):
    from openpyxl import Workbook

    photos(folder, [f"p/{n}.png" for n in range(COUNT)])
    book = Workbook()
    book.active.append(["Image", "Caption", "Split"])
    for n, split in enumerate(SPLITS):
        book.active.append([f"p/{n}.png", json.dumps(TEXTS[n]), split])
    book.save(folder / "all.xlsx")


def tar(path, members):
    """Write (name, bytes) into a tar file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def sample(n, key=None):
    """Members of a sample."""
    key = f"{n:04}" if key is None else key
    yield f"{key}.png", content(n)
    yield f"{key}.txt", "\n".join(TEXTS[n]).encode()


def webdataset(folder):
    for split in ("train", "val", "test"):
        numbers = [n for n, each in enumerate(SPLITS) if each == split]
        for part in (0, 1):
            members = [m for n in numbers[part::2] for m in sample(n)]
            tar(folder / f"{split}-{part:04}.tar", members)


EVERY = {
    function.__name__: function
    for function in (
        *(hugging_face, hugging_face_csv, coco, karpathy, json_lines, parquet_of_bytes),
        *(parquet_of_paths, excel, webdataset),
    )
}


def parquet(path, records):
    import pyarrow as pa
    import pyarrow.parquet as pq

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), path)


def prepared(path, **options):
    """What is prepared by the overlay that init writes for a path."""
    init(Path(path), "mine", options.get("skip_bad", False), PATH)
    said = yaml.safe_load(Path("mine.yaml").read_text())["datasets"]["mine"]
    del said["plugin"]
    prepare(PrepareSpec(plugin="folder", options=said | options), Path("unread"), Path("prepared"))
    return Prepared("prepared")


def refused(path):
    """What `init` says of a folder or file that it refuses; it writes no overlay then."""
    with pytest.raises(CrossmodalError) as caught:
        init(Path(path), "mine", False, PATH)
    assert not Path("mine.yaml").exists()
    return str(caught.value)
