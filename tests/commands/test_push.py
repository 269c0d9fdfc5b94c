"""Models and datasets on a hub: what licences open goes there, and comes back the same."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from safetensors.numpy import load_file
from safetensors.torch import save_file

import crossmodal
from crossmodal.commands.push import push
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import read_csv, sha256
from crossmodal.pretrained.backbones import random_network
from crossmodal.reporting.run_metrics import read_metrics
from crossmodal.steps.embed import embed
from crossmodal.steps.evaluate import evaluate
from crossmodal.steps.extract import extract
from crossmodal.steps.train import train
from crossmodal.workflow.specs import EmbedSpec, EvaluateSpec, ExtractSpec, TrainSpec
from tests.test_load import CCA, FEATURES, WEIGHTS, write_dataset

PARAMS = Path("params.yaml")
TOY = {"plugin": "scenes", "train": 20, "spoken": 0, "seed": 0}
OWN = {"plugin": "folder", "csv": "a.csv", "validation": 0.1, "test": 0.1, "seed": 0}
ROW = {"dataset": "toy", "views": {"image": "fc7", "text": "bow"}, "relevance": "category"}
TABLE = {"title": "Toy", "experiments": ["toy_cca"], "metrics": ["mAP"]}
CONFIG = {
    **{"suite": "toy", "suites": {"toy": ["toy"]}, "seeds": 1, "figures": {}},
    **{"tables": {"toy": TABLE}, "methods": {"cca": CCA}},
    "datasets": {"toy": TOY},
    "features": {
        name: {"plugin": FEATURES[name][0], **FEATURES[name][1]}
        for name in ("layers", "fc7", "bow")
    },
    "experiments": {"toy_cca": ROW | {"method": "cca", "label": "CCA"}},
}
CLOSED = {"toy": OWN | {"duplicates": "warn", "licence": "mine alone"}}
RUN = "results/runs/toy_cca/seed0.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project with a prepared dataset, its features and a fit."""
    root = tmp_path_factory.mktemp("project")
    dataset, features, weights = map(
        Path, ("data/prepared/toy", "features/toy", "data/raw/weights")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr(torch.cuda, "is_available", lambda: False)
        write_dataset(dataset)
        weights.mkdir(parents=True)
        save_file(random_network("squeezenet1_1", seed=1).state_dict(), weights / WEIGHTS)
        for name in CONFIG["features"]:
            spec = ExtractSpec(plugin=FEATURES[name][0], options=FEATURES[name][1])
            extract(spec, features / f"{name}.h5", dataset, features, weights)
        how = {"views": ROW["views"], "relevance": "category"}
        model, embeddings = Path("models/toy_cca/seed0/model.safetensors"), Path("toy.h5")
        fit = TrainSpec(plugin="cca", options=CCA, search={}, **how)
        train(fit, model, dataset, features, weights, seed=0)
        embed(EmbedSpec(**how), embeddings, dataset, features, model)
        evaluate(EvaluateSpec(), Path(RUN), embeddings, seed=0)
    return root


@pytest.fixture
def project(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def send(name, address="team/toy", dry_run=False, private=False, **changes):
    PARAMS.write_text(json.dumps(CONFIG | changes))
    push(name, address, private, dry_run, PARAMS)


def card(files):
    head, body = re.fullmatch(r"---\n(.*?)\n---\n(.*)", files["README.md"].decode(), re.S).groups()
    return yaml.safe_load(head), body


@pytest.mark.parametrize("name", ["toy_cca", "toy_cca/seed0", "models/toy_cca/seed0"])
def test_a_pushed_model_is_the_one_that_is_loaded(project, hub, name):
    send(name)
    files = hub.repositories["models", "team/toy"].files
    assert {*files} == {".gitattributes", "README.md", "model.json", "model.safetensors"}
    texts = [caption.text for caption in Prepared(Path("data/prepared/toy")).captions[:9]]
    ours, theirs = crossmodal.load("models/toy_cca/seed0"), crossmodal.load("hf://team/toy")
    assert np.array_equal(ours.embed(texts=texts), theirs.embed(texts=texts))
    assert theirs.facts == ours.facts


def test_the_card_has_the_metrics_of_the_run_with_intervals(project, hub):
    send("toy_cca")
    head, body = card(hub.repositories["models", "team/toy"].files)
    assert head["license"] == "cc0-1.0"
    assert (head["library_name"], head["datasets"]) == ("crossmodal", ["toy"])
    (result,) = head["model-index"][0]["results"]
    assert result["dataset"] == {"name": "toy", "type": "toy", "split": "test"}
    found = {metric["name"]: metric for metric in result["metrics"]}
    expected = read_metrics(Path(RUN))["test"]
    assert found["mAP, average of both directions"]["value"] == expected["average"]["mAP"]
    assert found["rsum, both directions"]["value"] == expected["both"]["rsum"]
    intervals = [metric["args"]["interval"] for metric in found.values()]
    for metric, (low, high) in zip(found.values(), intervals, strict=True):
        assert low <= metric["value"] <= high
    assert any(low < high for low, high in intervals)
    assert found["R@10, image to text"]["type"] == "recall_at_10"
    for part in ('crossmodal.load("hf://team/toy")', "Generated by crossmodal", "Hotelling 1936"):
        assert part in body


def test_the_card_names_weights_that_are_not_pushed(project, hub):
    send("toy_cca")
    (weights,) = re.findall(
        r"crossmodal weights (\S+)", card(hub.repositories["models", "team/toy"].files)[1]
    )
    assert Path(weights).is_file()


def test_metrics_of_another_fit_are_not_put_on_the_card(project, hub):
    content = Path(RUN).read_text()
    try:
        metrics = json.loads(content)
        metrics["model"]["seed"] = 1
        Path(RUN).write_text(json.dumps(metrics))
        with pytest.raises(CrossmodalError, match="of another fit than the model; evaluate the"):
            send("toy_cca")
    finally:
        Path(RUN).write_text(content)
    assert not hub.repositories


def test_a_model_of_closed_data_is_refused_with_its_licence(project, hub):
    with pytest.raises(
        CrossmodalError, match="toy does not let models of it be shared: mine alone"
    ):
        send("toy_cca", datasets=CLOSED)
    assert not hub.asked


def test_a_model_of_other_data_than_params_say_is_refused(project, hub):
    row = CONFIG["experiments"]["toy_cca"] | {"dataset": "other"}
    with pytest.raises(CrossmodalError, match="was not fitted on other with bow, fc7 alone"):
        send("toy_cca", datasets={"other": TOY}, experiments={"toy_cca": row})
    experiments = {"others_cca": CONFIG["experiments"]["toy_cca"]}
    tables = {"toy": TABLE | {"experiments": ["others_cca"]}}
    with pytest.raises(CrossmodalError, match=r"toy_cca is no experiment of params\.yaml"):
        send("toy_cca", experiments=experiments, tables=tables)
    assert not hub.asked


def test_an_unknown_name_is_refused(project, hub):
    with pytest.raises(CrossmodalError, match=r"no model folder .* 'toys' is unknown.*'toy'\?"):
        send("toys")


def test_a_dry_run_says_what_would_be_sent(project, hub, capsys):
    send("toy_cca", dry_run=True)
    said = capsys.readouterr().out
    size = Path("models/toy_cca/seed0/model.safetensors").stat().st_size
    assert re.search(rf"model\.safetensors +{size / 1000:.1f} kB", said)
    assert said.endswith("nothing was sent\n")
    assert not hub.asked


def test_a_dataset_that_may_be_passed_on_is_sent_as_a_whole(project, hub):
    send("toy")
    files = hub.repositories["datasets", "team/toy"].files
    for name in ("items.csv", "splits.csv", "captions.csv", "media.zip"):
        assert files[name] == Path("data/prepared/toy", name).read_bytes()
    features = read_features(Path("features/toy/bow.h5"))
    (project / "sent.safetensors").write_bytes(files["features/bow.safetensors"])
    (project / "sent.csv").write_bytes(files["features/bow.csv"])
    assert np.array_equal(load_file("sent.safetensors")["features"], features.features)
    assert [row["id"] for row in read_csv(Path("sent.csv"), ["id", "item"])] == features.ids


def test_media_in_shards_are_sent_where_a_file_would_be(project, hub):
    shard = Path("data/prepared/toy/media/media-00000.zip")
    shard.parent.mkdir()
    shard.write_bytes(b"shard")
    send("toy", datasets=CLOSED)
    files = hub.repositories["datasets", "team/toy"].files
    assert "media-00000.zip" not in files["croissant.json"].decode() + " ".join(files)
    send("toy")
    files = hub.repositories["datasets", "team/toy"].files
    assert files["media/media-00000.zip"] == b"shard"
    assert '"@id": "media/media-00000.zip"' in files["croissant.json"].decode()


def test_of_a_closed_dataset_ids_and_splits_are_sent(project, hub, capsys):
    send("toy", datasets=CLOSED)
    files = hub.repositories["datasets", "team/toy"].files
    assert {*files} == {".gitattributes", "README.md", "croissant.json", "items.csv", "splits.csv"}
    said, (head, body) = capsys.readouterr().out, card(files)
    assert "left out: media.zip: the licence of toy does not let its texts and media" in said
    assert "left out: features/bow: toy does not let its features be shared: mine alone" in said
    assert (head["license"], head["license_name"]) == ("other", "terms-of-the-data")
    assert "mine alone" in body


def test_croissant_describes_every_file_and_column(project, hub):
    send("toy")
    files = hub.repositories["datasets", "team/toy"].files
    said = json.loads(files["croissant.json"])
    assert (said["@type"], said["conformsTo"]) == (
        "sc:Dataset",
        "http://mlcommons.org/croissant/1.0",
    )
    assert (said["license"], said["url"]) == ("CC0-1.0", f"{hub.url}/datasets/team/toy")
    described = {entry["@id"]: entry for entry in said["distribution"]}
    assert {*described} == {*files} - {".gitattributes", "README.md", "croissant.json"}
    for name, entry in described.items():
        (project / "sent").write_bytes(files[name])
        assert entry["sha256"] == sha256(project / "sent")
        assert entry["contentSize"] == f"{len(files[name])} B"
    records = {record["@id"]: record for record in said["recordSet"]}
    fields = {field["@id"]: field for record in records.values() for field in record["field"]}
    assert {*records} == {"items", "captions", "splits"}
    for name, record in records.items():
        source = {f["source"]["fileObject"]["@id"] for f in record["field"]}
        assert source == {f"{name}.csv"}
        columns = [field["source"]["extract"]["column"] for field in record["field"]]
        assert files[f"{name}.csv"].splitlines()[0].decode() == ",".join(f'"{c}"' for c in columns)
        assert record["key"]["@id"] in fields
    for field in fields.values():
        assert field.get("references", {"field": {"@id": "items/id"}})["field"]["@id"] in fields
