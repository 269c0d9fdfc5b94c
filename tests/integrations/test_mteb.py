"""mteb's numbers are ours: R@K and mAP, one model of each family, on images, texts and speech."""

import importlib.util
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

if importlib.util.find_spec("mteb"):
    os.environ["HF_HUB_OFFLINE"] = "1"  # read when mteb is imported
mteb = pytest.importorskip("mteb", reason="`make test-mteb` installs it")

from crossmodal.cli import app  # noqa: E402
from crossmodal.config import plugins  # noqa: E402
from crossmodal.datasets.flickr8k import Flickr8k  # noqa: E402
from crossmodal.errors import CrossmodalError  # noqa: E402
from crossmodal.integrations.mteb import (  # noqa: E402
    check_task,
    load_model,
    retrieval_tasks,
    tasks_of,
    trained_on,
)
from crossmodal.io.hub_repository import Repository, publish  # noqa: E402
from crossmodal.models.embedding_file import read_embeddings  # noqa: E402
from crossmodal.steps.evaluate import evaluate  # noqa: E402
from crossmodal.workflow.specs import EvaluateSpec  # noqa: E402
from tests import test_load  # noqa: E402
from tests.methods import test_multimodal_embedding  # noqa: E402

ROOT = Path(__file__).parents[2]
COSINE = test_multimodal_embedding.OPTIONS
FAMILIES = {
    "cca": "Encoder",
    "sam": "Encoder",
    "vase": "Encoder",
    "sh": "Encoder",
    "order": "SearchModel",
    "cmolrs": "SearchModel",
    "misa": "SearchModel",
    "sisa": "SearchModel",
}
MODELS = test_load.MODELS | {
    "sh": ("multimodal_embedding", {"image": "fne", "text": "tokens"}, COSINE)
}
RECALLS = {f"R@{k}": f"hit_rate_at_{k}" for k in (1, 5, 10)}
QUICK = {"cache": None, "show_progress_bar": False, "co2_tracker": False}
BATCHES = {"batch_size": 4, "show_progress_bar": False}  # fewer than there are items


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """All models, fitted on twelve items, and twenty items to test on."""
    with pytest.MonkeyPatch.context() as patch:
        splits = ["train"] * 12 + ["validation"] * 6 + ["test"] * 20
        patch.setattr(test_load, "SPLITS", splits)
        models = {name: MODELS[name] for name in FAMILIES}
        yield from test_load.make_studio(tmp_path_factory.mktemp("studio"), models)


@pytest.fixture
def project(studio, tmp_path, monkeypatch):
    """The folder that the page's examples speak of."""
    for link, target in {
        "data/prepared/scenes": "prepared",
        "data/raw/weights": "weights",
        "models/scenes_sam/seed0": "models/sam",
        "models/scenes_order/seed0": "models/order",
    }.items():
        (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / link).symlink_to(studio.root / target)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def has_ties(studio, name, direction):
    embedded = read_embeddings(studio.root / f"{name}.h5")
    scores = embedded.scorer("test", *direction)(slice(None)).astype(np.float32)
    return any(len(np.unique(row)) < len(row) for row in scores)


def measured(model, task):
    result = mteb.evaluate(model, task, encode_kwargs=BATCHES, **QUICK)
    return result.task_results[0].scores["test"][0]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_numbers_of_mteb_are_ours(studio, tmp_path, name):
    metrics = tmp_path / "metrics.json"
    evaluate(EvaluateSpec(), metrics, studio.root / f"{name}.h5", seed=0)
    ours = json.loads(metrics.read_text())["test"]
    model = load_model(studio.root / "models" / name, studio.root / "weights")
    assert type(model).__name__ == FAMILIES[name]
    own = tasks_of(str(studio.dataset.folder), model.model)
    unit = "item" if name in ("cca", "sam", "cmolrs") else "caption"
    by_item = retrieval_tasks(studio.dataset.folder, model.model.modalities, unit=unit)
    by_category = model.model.method.task == "category"
    assert {task.relevance for task in own} == {"category" if by_category else "item"}
    for task in (*own, *by_item):
        assert not has_ties(studio, name, task.direction)
        theirs, mine = measured(model, task), ours["-to-".join(task.direction)]
        if task.relevance == "item":
            pairs = [(mine[r] / 100, theirs[rate]) for r, rate in RECALLS.items()]
        else:
            pairs = [(mine["mAP"], theirs["main_score"])]
        for expected, found in pairs:
            assert found == pytest.approx(expected, abs=1e-5)


def test_a_search_model_ranks_again_what_another_found(studio):
    model = load_model(studio.root / "models/order", studio.root / "weights")
    (task, _) = retrieval_tasks(studio.dataset.folder)
    task.load_data()
    data = task.dataset["default"]["test"]
    how = {"task_metadata": task.metadata, "encode_kwargs": BATCHES}
    model.index(data["corpus"], **how)
    every = model.search(data["queries"], top_k=100, **how)
    few = {query: sorted(found)[:3] for query, found in every.items()}
    again = model.search(data["queries"], top_k=2, top_ranked=few, **how)
    for query, found in again.items():
        best = sorted(few[query], key=every[query].get, reverse=True)[:2]
        assert found == {document: every[query][document] for document in best}


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "eng-Latn"),
        ("fr", "fra-Latn"),
        ("pt-BR", "por-Latn"),
        ("zh", "zho-Hans"),
        ("zh-Hant", "zho-Hant"),
        ("mul", "mul-Zyyy"),
        ("und", "und-Zyyy"),
    ],
)
def test_mteb_is_told_the_language(studio, language, expected):
    for task in retrieval_tasks(studio.dataset.folder, language=language):
        assert task.metadata.eval_langs == [expected]


@pytest.mark.parametrize(("name", "expected"), [("scenes", "eng-Latn"), ("other", "fra-Latn")])
def test_the_command_tells_the_dataset_s_language(project, monkeypatch, name, expected):
    options = "csv: a.csv, validation: 0.1, test: 0.1, seed: 0, duplicates: warn, language: fr"
    (project / "own.yaml").write_text(f"datasets: {{other: {{plugin: folder, {options}}}}}\n")
    (project / "data/prepared/other").symlink_to(project / "data/prepared/scenes")
    told = []

    def load(task):
        told.extend(task.metadata.eval_langs)
        raise CrossmodalError("enough")

    monkeypatch.setattr("crossmodal.commands.mteb._load", load)
    call = ["mteb", "models/scenes_sam/seed0", "--tasks", name, "--configfile", "own.yaml"]
    CliRunner().invoke(app, [*call, "--params", str(ROOT / "params.yaml")])
    assert told == [expected]


def test_the_page_s_examples_run(project, capsys):
    page = (ROOT / "docs/mteb.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in blocks] == ["sh", "python"]
    (_, command), (_, program) = blocks
    assert command.startswith("crossmodal ")
    found = CliRunner().invoke(app, command.split()[1:], catch_exceptions=False)
    assert found.exit_code == 0
    written = [Path(line) for line in found.output.splitlines() if line.endswith(".json")]
    assert [path.stem for path in written] == [
        "scenes-image-to-text-by-category",
        "scenes-text-to-image-by-category",
    ]
    scores = [json.loads(path.read_text())["scores"]["test"][0] for path in written]
    exec(compile(program, "docs/mteb.md", "exec"), {})
    printed = [line.split() for line in capsys.readouterr().out.splitlines() if "-to-" in line]
    assert [float(line[-1]) for line in printed[:2]] == [s["main_score"] for s in scores]
    assert [line[0] for line in printed[2:]] == ["mteb/baseline-random-encoder"] * 2


def test_sound_of_mteb_s_own_tasks_needs_a_decoder(studio, monkeypatch):
    model = load_model(studio.root / "models/misa", studio.root / "weights")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    check_task(retrieval_tasks(studio.dataset.folder, ("image", "speech"))[0], model)
    with pytest.raises(CrossmodalError, match=r"SpeechCocoA2IRetrieval: .* pip install torchcodec"):
        check_task(mteb.get_task("SpeechCocoA2IRetrieval"), model)


@pytest.mark.parametrize(
    ("model", "task", "message"),
    [
        ("sam", "Flickr30kT2IRetrieval", r"Flickr30kT2IRetrieval: mteb cannot load its data"),
        ("sam", "Flickr30kT2IRetrieva", r"none of mteb's tasks: .*Did you mean"),
        ("sam", "SpeechCocoA2IRetrieval", r"the task is about .*audio.* choose another task"),
        ("order", "CIFAR10", r"choose a retrieval task"),
    ],
)
def test_a_task_that_cannot_be_done_is_refused(project, model, task, message):
    with pytest.raises(CrossmodalError, match=message):
        CliRunner().invoke(
            app, ["mteb", f"models/scenes_{model}/seed0", "--tasks", task], catch_exceptions=False
        )
    assert not list(project.glob("results/**/*.json"))


def test_mteb_is_told_what_its_leaderboard_shows(studio):
    folder = studio.root / "models/cca"
    known = {"prepared": Flickr8k()}  # the name of the folder that the model was fitted on
    meta = load_model(folder, studio.root / "weights", known).mteb_model_meta
    files = [folder / "model.safetensors"]
    arrays = [array for file in files for array in load_file(file).values()]
    assert meta.n_parameters == sum(array.size for array in arrays)  # its network is a random one
    assert meta.memory_usage_mb == round(files[0].stat().st_size / 2**20, 3)
    assert meta.embed_dim == test_load.CCA["dims"]
    assert meta.training_datasets == {"prepared", *Flickr8k.mteb_tasks}
    assert (meta.languages, meta.license) == (["eng-Latn"], None)
    assert {*meta.modalities} == {"image", "text"}
    assert meta.framework == ["PyTorch", "safetensors"]


def test_a_network_s_weights_count_as_parameters(studio):
    folder, weights = studio.root / "models/sam", studio.root / "weights"
    meta = load_model(folder, weights).mteb_model_meta
    files = [folder / "model.safetensors", weights / test_load.WEIGHTS]
    assert meta.n_parameters == sum(array.size for f in files for array in load_file(f).values())
    elsewhere = load_model(folder, weights / "none").mteb_model_meta
    assert (elsewhere.n_parameters, elsewhere.training_datasets) == (None, None)


def test_a_model_of_the_hub_has_the_repository_s_name(studio, hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    files = ("model.json", "model.safetensors")
    repository = Repository("team/toy")
    publish(repository, {name: studio.root / "models/cca" / name for name in files}, False)
    meta = load_model("hf://team/toy", studio.root / "weights").mteb_model_meta
    commit = hub.repositories["models", "team/toy"].name_of(1)
    assert (meta.name, meta.revision, meta.open_weights) == ("team/toy", commit, True)
    assert meta.reference == f"{hub.url}/team/toy"


def test_training_items_in_a_prepared_dataset_are_counted(studio, project):
    (project / "data/prepared/prepared").symlink_to(studio.root / "prepared")
    model = load_model(studio.root / "models/sam", studio.root / "weights")
    found = {
        split: {trained_on(t, model) for t in retrieval_tasks(studio.dataset.folder, split=split)}
        for split in ("train", "test")
    }
    assert found == {"train": {"12 of its 12 items"}, "test": {""}}


def test_training_items_in_a_task_of_mteb_are_told(studio):
    folder, weights = studio.root / "models/misa", studio.root / "weights"
    model = load_model(folder, weights, {"prepared": Flickr8k()})
    task, other = map(mteb.get_task, ("FlickrAudioToImageRetrieval", "SpeechCocoA2IRetrieval"))
    assert trained_on(task, model) == "items of prepared"
    assert trained_on(other, model) == ""
    assert trained_on(task, load_model(folder, weights)) == ""


def test_tasks_that_datasets_name_are_those_of_mteb():
    named = {t for name in plugins.names("datasets") for t in _class(name).mteb_tasks}
    assert {mteb.get_task(name).metadata.name for name in named} == named


def _class(name):
    return plugins.load("datasets", name)


def test_rankings_of_each_query_are_kept(studio, project):
    (project / "data/prepared/prepared").symlink_to(studio.root / "prepared")
    call = ["mteb", "models/scenes_sam/seed0", "--tasks", "scenes", "--split", "train"]
    found = CliRunner().invoke(app, call, catch_exceptions=False)
    assert "warning: scenes-image-to-text-by-category: the model was trained on 12" in found.stderr
    (folder,) = Path("results/mteb/predictions").glob("*/*")  # of the model and its revision
    for direction in ("image-to-text", "text-to-image"):
        path = folder / f"scenes-{direction}-by-category_predictions.json"
        rankings = json.loads(path.read_text())["default"]["train"]
        assert len(rankings) == 12
        assert all(len(documents) == 12 for documents in rankings.values())
