import pytest
import yaml

from crossmodal.config import params
from crossmodal.config.fit import non_defaults
from tests.config.small_params import DIMS, EXPERIMENT, VALID, changed, message


def test_grid_expands_wherever_it_is_named():
    config = changed(f"{EXPERIMENT}/grid", {"power": [0.0, 2.0], "dims": [5, 7]})
    config["experiments"]["wiki_cca"]["search"] = {"ridge": [0.0, 0.1]}
    config["tables"]["wiki"]["figures"] = ["dims"]
    config["figures"]["dims"] = DIMS
    read = params.parse(config)
    names = ["wiki_cca-0_0-5", "wiki_cca-0_0-7", "wiki_cca-2_0-5", "wiki_cca-2_0-7"]
    for found in (read.experiments, read.shown_in("wiki"), read.figures["dims"].experiments):
        assert list(found) == names
    assert read.fit(names[1]).options == {"dims": 7, "ridge": 0.0, "power": 0.0}
    assert read.experiments[names[2]].row() == "CCA, power 2.0, dims 5"
    assert read.experiments[names[2]].row("dims") == "CCA, power 2.0"


@pytest.mark.parametrize("key", ["mirror", "checkpoints"])
def test_a_place_may_begin_with_the_home_folder(monkeypatch, tmp_path, key):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert getattr(params.parse(changed(key, "~/data")), key) == str(tmp_path / "data")
    assert getattr(params.parse(changed(key, "https://host/~a")), key) == "https://host/~a"


def test_a_label_shows_options_of_any_type():
    config = changed(f"{EXPERIMENT}/grid", {"ridge": [0.0, 1e-6], "dims": [1234567]})
    config["experiments"]["wiki_cca"] |= {"search": {}, "label": "CCA, {dims} at {ridge}"}
    first, second = params.parse(config).experiments.values()
    assert [first.row(), second.row()] == ["CCA, 1234567 at 0", "CCA, 1234567 at 1e-06"]
    words = first.model_copy(update={"grid": {"dims": ["raw"], "ridge": [None]}})
    assert words.row() == "CCA, raw at None"


def test_changes_without_a_label_add_nothing_to_the_row():
    read = params.parse(changed(f"{EXPERIMENT}/changes", {"imbalance": 10}))
    assert read.experiments["wiki_cca"].row() == "CCA"


def test_an_experiment_of_a_grid_may_name_its_own_published_row():
    config = changed(f"{EXPERIMENT}/grid", {"dims": [8, 16]})
    config["experiments"]["wiki_cca"]["search"] = {}
    row = {"paper": "CMOLRS", "table": "Table VII", "dataset": "PASCAL VOC 2007", "method": "CCA"}
    config["experiments"]["wiki_cca"]["published"] = row | {"variant": "rank={dims}"}
    read = params.parse(config)
    assert read.experiments["wiki_cca-16"].published.variant == "rank=16"


@pytest.mark.parametrize("values", [[0.5, 0.5], [-0.5, "0.5"]])
def test_a_value_that_is_there_twice_is_refused(values):
    found = message(changed(f"{EXPERIMENT}/grid", {"power": [*values, 0.5]}))
    assert "a grid makes 'wiki_cca-0_5' again" in found


def test_two_experiments_of_one_name_are_refused():
    config = changed(f"{EXPERIMENT}/grid", {"power": [0.0, 0.5]})
    config["experiments"]["wiki_cca-0_5"] = config["experiments"]["wiki_cca"] | {"grid": {}}
    assert "a grid makes 'wiki_cca-0_5' again" in message(config)


def test_experiment_options_precede_those_of_its_method():
    read = params.parse(yaml.safe_load(VALID))
    assert non_defaults(read.fit("wiki_cca")) == {
        "plugin": "cca",
        "options": {"dims": 10, "ridge": 0.0, "power": 0.0},
        "search": {"dims": [7, 8]},
        "views": {"image": "sift", "text": "lda"},
        "relevance": "category",
    }
    assert read.methods["cca"]["ridge"] == 0.01


def test_a_fit_depends_on_nothing_but_its_own_keys():
    before = params.parse(yaml.safe_load(VALID)).fit("wiki_cca")
    for path, value in [
        ("seeds", 9),
        (f"{EXPERIMENT}/label", "Other"),
        ("methods/ridge", {"penalty": 1.0, "whitening": 0.0}),
        ("tables/wiki/metrics", ["R@1"]),
    ]:
        assert params.parse(changed(path, value)).fit("wiki_cca") == before


def test_embeddings_of_others_are_features_that_are_frozen():
    config = yaml.safe_load(VALID)
    config["methods"]["frozen"] = {"label": "Frozen"}
    files = {"image": {"file": "i.npy", "ids": "i.csv"}, "text": {"file": "t.npy", "ids": "order"}}
    config["experiments"]["clip"] = config["experiments"]["wiki_cca"] | {"embeddings": files}
    for key in ("views", "method", "options", "search", "grid", "published", "label"):
        config["experiments"]["clip"].pop(key, None)
    read = params.parse(config)
    clip = read.experiments["clip"]
    assert (clip.row(), clip.method) == ("clip", "frozen")
    assert clip.views == {"image": "clip_image_embeddings", "text": "clip_text_embeddings"}
    assert read.feature_of(clip.views["text"]).files == ("t.npy",)
    assert read.plugin("features", clip.views["image"])["options"]["modality"] == "image"
    assert not read.experiments["wiki_cca"].embeddings
    config["features"]["clip_text_embeddings"] = {"plugin": "lda"}
    assert "'clip_text_embeddings' is a feature already" in message(config)


def test_a_wrong_key_of_embeddings_has_the_address_of_its_row():
    config = yaml.safe_load(VALID)
    files = {"image": {"file": "i.npy", "ids": "order"}, "text": {"fil": "t.npy", "ids": "order"}}
    shared = {"dataset": "wikipedia", "relevance": "category"}
    config["experiments"]["clip"] = shared | {"rows": {"own": {"embeddings": files}}}
    assert "experiments.clip.rows.own.embeddings.text.fil: unknown key" in message(config)
