"""Hostile names in everything that comes from others: refused or without effect, never opened."""

import io
import json
import os
import sys
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
import torch

from crossmodal.commands.compare import _dataset as compared_dataset
from crossmodal.commands.export import export
from crossmodal.commands.why import why
from crossmodal.config import plugins
from crossmodal.data.feature_file import write_features
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import SPLITS, Prepared
from crossmodal.data.split import Split, View
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.io import hdf5
from crossmodal.io.archives import Archive
from crossmodal.io.bundles import small_files, write_bundle
from crossmodal.io.files import read_json, sha256, write_csv, write_json, write_text
from crossmodal.io.first_use import RECORD, check_or_record
from crossmodal.io.hub import Model as HubModel
from crossmodal.io.hub import model_of, pack
from crossmodal.io.hub_repository import Repository
from crossmodal.io.hub_repository import _checked as checked_files
from crossmodal.learning.method import Run
from crossmodal.models.embedding_file import SPLITS as EMBEDDED
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.models.extractor import Extractor
from crossmodal.models.model import load
from crossmodal.models.model_folder import write_model
from crossmodal.reporting.query_values import read_query_values
from crossmodal.reporting.rows import CONTROLS
from crossmodal.search.index import read_rows
from crossmodal.steps.average_curves import average_curves
from crossmodal.steps.merge import COLUMNS as MERGED
from crossmodal.steps.merge import merge
from crossmodal.steps.tabulate import tabulate
from crossmodal.workflow import records, sharing
from crossmodal.workflow.carrier import CARRIER, name_of
from crossmodal.workflow.listings import _files as read_listing
from crossmodal.workflow.report_specs import TabulateSpec

VIEWS = {"image": "pixels", "text": "words"}
TOY = {"label": "CCA", "dataset": "toy", "views": VIEWS, "relevance": "category", "method": "cca"}
TABLE = TabulateSpec(
    table={"title": "Toy", "experiments": ["toy"], "metrics": ["mAP"]},
    experiments={"toy": TOY},
    deterministic=[],
    departures=[],
    figures={},
    code="0123",
)
OPTIONS = {"dims": 2, "ridge": 0.1, "power": 1.0}  # of CCA
SECRET = "secret.json"
NAMES = {
    "up": f"../outside/{SECRET}",
    "down and up": f"a/../../outside/{SECRET}",
    "absolute": f"{{outside}}/{SECRET}",
    "link": f"link/{SECRET}",
    "device": "/dev/zero",
    "NUL": f"{SECRET}\0.json",
    "backslash": f"..\\outside\\{SECRET}",
    "drive": f"C:{SECRET}",
    "line": f"a\n../outside/{SECRET}",
    "long": "x" * 5000 + ".json",
    "module": "os.path",
    "dunder": "__main__",
    "empty": "",
}
WATCH = SimpleNamespace(outside=None, opened=[])


def _watch(event, arguments):
    """Note what is opened outside, and of devices."""
    if WATCH.outside and event == "open" and not isinstance(arguments[0], int):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path.startswith((f"{WATCH.outside}/", "/dev/zero")):
            WATCH.opened.append(path)


sys.addaudithook(_watch)


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """A folder that no reader may open, beside the reader's, which has a link to it."""
    folder = tmp_path / "project"
    folder.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    (outside / SECRET).write_text('{"a": 1}')
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(WATCH, "outside", os.path.realpath(outside))
    yield outside
    WATCH.outside, opened, WATCH.opened = None, WATCH.opened, []
    assert opened == []
    assert {path.name for path in tmp_path.iterdir()} == {"project", "outside"}
    assert {path.name for path in outside.iterdir()} == {SECRET}
    assert (outside / SECRET).read_text() == '{"a": 1}'


def read_carrier(name):
    folder = Path("results/runs")
    folder.mkdir(parents=True)
    (folder / "link").symlink_to(Path("../outside").resolve())
    entry = {"record": {"endtime": 1.0}, "sha256": "0" * 64}
    for key in (name, name_of(folder / name)):
        (folder / CARRIER).write_text(json.dumps({key: entry}))
        refused(records.take_over)
    refused(records.carry)


def read_inputs_of_record(name):
    path = Path("results/runs/a.json")
    record = {"endtime": 1.0, "rule": "a", "input": [name, f"models/{name}"]}
    stored = records.STORE / name_of(path)
    stored.parent.mkdir(parents=True)
    stored.write_text(json.dumps(record))
    write_json(path, {"made": {"inputs": {name: "0", f"models/{name}": "0"}}})
    why(path)


def read_dvc_listing(name):
    content = json.dumps([{"relpath": name, "md5": "0" * 32}]).encode()
    refused(read_listing, content, "0.dir")
    with pytest.raises(CrossmodalError):
        read_listing(json.dumps([{"relpath": "a", "md5": name}]).encode(), "0.dir")


def read_dvc_lock(name):
    for key, value in (("path", "features"), ("md5", "0" * 32 + ".dir")):
        out = {"path": name, "md5": name} | {key: value}
        Path("dvc.lock").write_text(json.dumps({"stages": {"a": {"outs": [out]}}}))
        with pytest.raises(CrossmodalError):
            sharing.pull([])


def read_bundle(name):
    write_bundle(Path("a.safetensors"), {"a": torch.zeros(1)}, {name: '{"b": 2}'}, {})
    with small_files(Path("a.safetensors")) as folder:
        assert all(path.is_relative_to(folder) for path in folder.rglob("*"))


def read_zip(name):
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr(name or "a", "content")
    read_archive("a.zip")


def read_tar(name):
    with tarfile.open("a.tar", "w") as archive:
        for kind, target in ((tarfile.REGTYPE, ""), (tarfile.SYMTYPE, name)):
            member = tarfile.TarInfo(name if kind == tarfile.REGTYPE else "b")
            member.type, member.linkname = kind, target
            archive.addfile(member, io.BytesIO())
    read_archive("a.tar")


def read_archive(path):
    with Archive(Path(path)) as archive:
        for member in archive.names:
            archive.read(member)


def read_prepared(name):
    folder = Path("prepared")
    with Writer(folder) as out:
        for number, split in enumerate(SPLITS):
            out.item(str(number), split, "dog", ("dog",), b"image", ".jpg")
            out.caption(f"{number}#0", str(number), "A dog", b"audio", ".wav")
    for file, before in (
        ("items.csv", '"0"'),
        ("items.csv", "images/"),
        ("captions.csv", "audio/"),
    ):
        path = folder / file
        path.write_text(path.read_text().replace(before, name.replace("\0", "") or "b", 1))
    dataset = Prepared(folder)
    for item in dataset.items:
        refused(dataset.read, item.image)
    for caption in dataset.captions:
        refused(dataset.read, caption.audio)
    refused(dataset.published, name)
    refused(dataset.split, "train")


def fit():
    """A model folder of images and texts."""
    items, ids = np.arange(9), [str(row) for row in range(9)]
    rng = np.random.default_rng(0)
    made = {"plugin": "sentence_encoder", "options": {"weights": "a.safetensors", "language": "en"}}
    meta = {"extractor": made, "sources": {}, "mean": [0.5, 1.5]}
    views = {m: View(rng.random((9, 3)), items, ids, meta) for m in ("image", "text")}
    split = Split(ids, np.zeros((9, 1), bool), views, ("dog",))
    method = plugins.make("methods", "cca", OPTIONS, "options")
    method.fit(split, split, Run(seed=0))
    write_model(Path("model"), method, {"plugin": "cca", "options": OPTIONS}, split)
    return read_json(Path("model/model.json"))


def read_model(name):
    whole = fit()
    for change in (
        lambda m: m["fit"].update(plugin=name),
        lambda m: m["fit"]["options"].update({name: name}),
        lambda m: m["views"][1].update(modality=name),
        lambda m: m["views"][1].update(dtype=name),
        lambda m: m["views"][1]["meta"].update(mean={"array": name}),
        lambda m: m["views"][1]["meta"]["extractor"].update(plugin=name),
        lambda m: m["views"][1]["meta"]["extractor"]["options"].update(weights=name),
        lambda m: m["views"][1]["meta"].update(sources={name: {}}),
        lambda m: m["views"][1].update(meta=name),
    ):
        model = json.loads(json.dumps(whole))
        change(model)
        write_json(Path("model/model.json"), model)
        refused(lambda: load("model", "weights").embed(texts=["a dog"]))


def read_feature(name):
    meta = {"extractor": {"plugin": name, "options": {"weights": name}}, "sources": {}, "made": {}}
    write_features(Path("a.h5"), [name or "a"], [name or "a"], [np.ones((1, 2))], meta)
    found = read_features(Path("a.h5"), [name])
    with pytest.raises(CrossmodalError):
        Extractor(found.meta, Path("weights"))


def read_links_of_hdf5(name):
    with h5py.File("a.h5", "w") as file:
        file["ids"] = h5py.ExternalLink(name.replace("\0", "") or "b", "ids")
    with pytest.raises(CrossmodalError):
        read_features(Path("a.h5"))


def read_embedding_file(name):
    with hdf5.create(Path("a.h5")) as file:
        for attribute, value in (("model", {"plugin": name, "options": {}}), ("made", {})):
            hdf5.describe(file, attribute, json.dumps(value))
        hdf5.describe(file, "modalities", json.dumps([name, "text"]))
        for split in EMBEDDED:
            file.create_group(f"{split}/text")
    with pytest.raises(CrossmodalError):
        read_embeddings(Path("a.h5"))


def read_modalities(name):
    path = Path("embeddings/toy/seed0.h5")
    path.parent.mkdir(parents=True)
    modalities = [name.replace("\0", "") or "b", "text"]
    with hdf5.create(path) as file:
        hdf5.describe(file, "model", json.dumps({"plugin": "cca", "options": OPTIONS}))
        hdf5.describe(file, "modalities", json.dumps(modalities))
        for pool in (file.create_group(f"{s}/{m}") for s in EMBEDDED for m in modalities):
            hdf5.store(pool, "embeddings", np.ones((1, 2), np.float32))
            hdf5.store(pool, "items", np.zeros(1, int))
            hdf5.store_strings(pool, "ids", ["a"])
    refused(export, "toy", Path("out"), 10)
    assert {p.parent for p in Path().rglob("*.run")} <= {Path("out/toy/seed0")}


def read_dataset_of_embeddings(name):
    with hdf5.create(Path("a.h5")) as file:
        made = {"inputs": {name.replace(SECRET, "items.csv"): ""}}
        hdf5.describe(file, "made", json.dumps(made))
    with pytest.raises(CrossmodalError):
        compared_dataset(Path("a.h5")).split("test")


def read_values_per_query(name):
    rows = {"ids": np.array([name]), "items": np.zeros(1, int), "AP": np.ones(1, np.float32)}
    for keys in ((name, "text-to-image"), ("image-to-text", name)):
        np.savez("a.npz", **{f"{key}/{field}": rows[field] for key in keys for field in rows})
        with pytest.raises(CrossmodalError):
            read_query_values(Path("a.npz"))
    np.savez("a.npz", **{"image-to-text/ids": np.array([{"a": name}], object)})
    with pytest.raises(CrossmodalError):
        read_query_values(Path("a.npz"))


def read_metrics(name):
    path = Path("results/runs/toy/seed0.json")
    numbers = {name: {name: 0.5}, "both": {"rsum": 1.0}}
    run = {"test": numbers, "controls": dict.fromkeys(CONTROLS, numbers)}
    run["model"] = {"plugin": name, "options": {name: name}, "validation": 0.5, "remarks": [name]}
    run |= {"precision_scope": {name: {"1": 0.5}}, "precision_by_chance": {name: 0.5}}
    write_json(path, run)
    write_csv(Path("models/toy/seed0/curve.csv"), [name.replace("\0", "")], [["1"]])
    with suppress(CrossmodalError, KeyError, ValueError):
        average_curves(Path("learning.csv"), Path("precision.csv"), [path], Path("models"))
    with suppress(CrossmodalError, KeyError, ValueError):
        tabulate(TABLE, Path("toy.md"), Path("toy.csv"), [path])


def read_numbers_of_tables(name):
    table = Path("results/tables/toy.md")
    write_text(table, name)
    row = dict.fromkeys(MERGED, name) | {"reproduced": "0.5"}
    write_csv(table.with_suffix(".csv"), [*row], [row.values()])
    refused(merge, Path("all.md"), Path("metrics.json"), [table])


def read_index(name):
    folder = Path("index")
    folder.mkdir()
    np.save(folder / "ids.npy", np.array([name.encode() or b"a"]))
    np.save(folder / "rows.npy", np.ones((1, 2), np.float32))
    write_json(folder / "index.json", {"form": name})
    with pytest.raises(CrossmodalError):
        read_rows(folder)


def read_pickles_in_index(name):
    folder = Path("index")
    folder.mkdir()
    for file in ("ids", "rows"):
        np.save(folder / f"{file}.npy", np.array([{"a": name}], object), allow_pickle=True)
    write_json(folder / "index.json", {"form": None})
    with pytest.raises(CrossmodalError):
        read_rows(folder)


def read_checksums(name):
    Path("file").write_text("content")
    write_json(RECORD, {name: sha256(Path("file")), "a": name})
    refused(check_or_record, "a", Path("file"))
    check_or_record(name, Path("file"))


def read_file_of_hub(name):
    model = model_of(f"ORG--{name}.safetensors")
    assert model is None or Path(model.file).name == model.file
    pack_folder = Path("repository")
    pack_folder.mkdir()
    (pack_folder / "config.json").mkdir()
    refused(pack, HubModel("ORG/NAME"), pack_folder, Path("a.safetensors"), {})


def read_model_of_hub(name):
    """What is fetched has names of its own, and is read as `read_model` does."""
    files = [SimpleNamespace(rfilename=name), SimpleNamespace(rfilename="model.json")]
    refused(checked_files, Repository("team/toy"), SimpleNamespace(siblings=files))


READERS = [value for name, value in globals().items() if name.startswith("read_")]
READERS = [r for r in READERS if getattr(r, "__module__", "") == __name__ and r != read_archive]


def refused(act, *given):
    """Call a reader, which may refuse what it reads."""
    with suppress(CrossmodalError):
        act(*given)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__.removeprefix("read_"))
def test_hostile_names_open_nothing_outside(watched, read, kind):
    refused(read, NAMES[kind].format(outside=watched))
