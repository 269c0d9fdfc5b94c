import pytest
import yaml

from crossmodal.config import params
from crossmodal.errors import CrossmodalError
from crossmodal.pretrained.weights import official
from tests.config.small_params import ABSENT, DIMS, EXPERIMENT, VALID, changed, message
from tests.project_params import PARAMS


def test_the_valid_parameters_are_valid():
    assert params.parse(yaml.safe_load(VALID)).suite == "small"


def test_the_parameters_of_the_project_are_valid():
    assert PARAMS.suites[PARAMS.suite]


def weights_of(feature):
    """Files of weights that a feature and all that it is made of begin with."""
    facts = PARAMS.feature_of(feature)
    return {facts.weights} - {""} | {w for source in facts.of for w in weights_of(source)}


# networks of VASE's Table IV, which a user has or their rows stay empty
UNRELEASED = {"sisa_audioset.safetensors", "sisa_natural_sounds.safetensors"}


@pytest.mark.parametrize("suite", [s for s in PARAMS.suites if s == "demo" or s.endswith("_paper")])
def test_paper_suites_need_only_downloadable_weights(suite):
    shown = {e for table in PARAMS.suites[suite] for e in PARAMS.shown_in(table)}
    views = {view for e in shown for view in PARAMS.experiments[e].views.values()}
    needed = {weights for view in views for weights in weights_of(view)}
    needed |= {PARAMS.facts_of(e).weights for e in shown} - {""}
    assert needed
    assert needed <= {*official(), *UNRELEASED}


TWICE = yaml.safe_load(VALID)["experiments"]["wiki_cca"] | {"grid": {"dims": [5, 6]}}
MESSAGES = [
    # what does not belong there
    ("sede", 1, ["params.yaml: sede: unknown key", "suite, suites, seeds, deterministic"]),
    (f"{EXPERIMENT}/metod", "cca", ["experiments.wiki_cca.metod: unknown key", "dataset, views"]),
    (f"{EXPERIMENT}/published/row", "a", ["wiki_cca.published.row", "'paper', 'table'"]),
    ("methods/cca/margin", 1.0, ["methods.cca.margin: unknown key", "dims, ridge, power"]),
    (f"{EXPERIMENT}/options", {"rigde": 0.0}, ["wiki_cca.options.rigde: unknown key", "ridge"]),
    (f"{EXPERIMENT}/search", {"dim": [7]}, ["wiki_cca.search.dim: unknown key", "dims, ridge"]),
    (
        "tables/wiki/cited",
        {"paper": "VASE", "table": "Table II", "dataset": "Flickr8K", "methods": "x"},
        ["tables.wiki.cited: no row", "'SISA (P)'"],
    ),
    # what is missing
    ("suite", ABSENT, ["params.yaml: suite: this key is missing"]),
    (f"{EXPERIMENT}/relevance", ABSENT, ["wiki_cca.relevance: this key is missing"]),
    ("methods/cca/power", ABSENT, ["methods.cca.power: this key is missing"]),
    ("datasets/wikipedia", None, ["datasets.wikipedia", "dictionary", "None"]),
    ("tables/wiki/experiments", [], ["tables.wiki.experiments", "at least 1 item"]),
    ("suites/small", [], ["suites.small", "at least 1 item"]),
    (f"{EXPERIMENT}/views", {"image": "sift"}, ["wiki_cca.views", "at least 2 items"]),
    (f"{EXPERIMENT}/search", {"dims": []}, ["wiki_cca.search.dims", "at least 1 item"]),
    # wrong types
    ("seeds", "3", ["seeds", "integer", "'3'"]),
    ("seeds", True, ["seeds", "integer", "True"]),
    ("mirror", ["a"], ["mirror", "string", "['a']"]),
    ("suites/small", 5, ["suites.small", "list", "5"]),
    (f"{EXPERIMENT}/views", ["sift", "lda"], ["experiments.wiki_cca.views", "dictionary"]),
    (f"{EXPERIMENT}/search", {"dims": 7}, ["experiments.wiki_cca.search.dims", "list", "7"]),
    ("methods/cca/ridge", "1e-3", ["methods.cca.ridge", "number", "'1e-3'"]),
    ("methods/cca/dims", True, ["methods.cca.dims", "integer", "True"]),
    (f"{EXPERIMENT}/options", {"ridge": "0"}, ["wiki_cca.options.ridge", "number", "'0'"]),
    (f"{EXPERIMENT}/search", {"dims": [7, "8"]}, ["wiki_cca.search.dims", "integer", "'8'"]),
    ("methods/cca/label", ["a"], ["methods.cca.label: must be a text", "['a']"]),
    ("features/sift/label", False, ["features.sift.label: must be a text", "False; quote it"]),
    ("methods/cca/published", None, ["methods.cca.published: must be a text", "None"]),
    # out of range
    ("seeds", 0, ["seeds", "greater than 0", "0"]),
    (f"{EXPERIMENT}/gpus", 0, ["experiments.wiki_cca.gpus", "greater than 0", "0"]),
    (f"{EXPERIMENT}/gpus", 2, ["experiments.wiki_cca.gpus: is 2", "'cca' trains on one"]),
    ("datasets/wikipedia/validation", 2173, ["wikipedia.validation", "less than 2173", "2173"]),
    ("methods/cca/dims", 0, ["methods.cca.dims", "greater than 0", "0"]),
    (f"{EXPERIMENT}/search", {"ridge": [0, -1.0]}, ["wiki_cca.search.ridge", "equal to 0", "-1.0"]),
    (
        f"{EXPERIMENT}/changes",
        {"wrong_labels": 2.0},
        ["wiki_cca.changes.wrong_labels", "equal to 1"],
    ),
    ("tables/wiki/readout", ["theirs"], ["tables.wiki.readout", "'own' or 'posteriors'"]),
    (
        "tables/wiki",
        {"title": "Wiki", "experiments": "wiki_cca", "metrics": "mAP"}
        | {"retrieval": "intra-modal", "readout": "own, posteriors"},
        ["tables.wiki: readout", "intra-modal"],
    ),
    (
        "tables/wiki",
        {"title": "Wiki", "experiments": "wiki_cca", "metrics": "mAP, R@1"}
        | {"retrieval": "intra-modal"},
        ["tables.wiki: metrics", "no R@1, but mAP, mAP@50"],
    ),
    (EXPERIMENT, TWICE, ["experiments.wiki_cca: 'dims' is in `grid` and in `search`"]),
    (
        EXPERIMENT,
        TWICE | {"search": {}, "published": TWICE["published"] | {"variant": "k={k}"}},
        ["experiments.wiki_cca.published.variant: 'k={k}': 'k'", "options of the grid: dims"],
    ),
    # names that do not exist
    ("suite", "smal", ["suite", "'smal' is unknown", "known: small"]),
    ("suites/small", ["wik"], ["suites.small", "'wik' is unknown", "known: wiki"]),
    ("tables/wiki/experiments", ["cca"], ["tables.wiki.experiments", "'cca'", "known: wiki_cca"]),
    ("tables/wiki/metrics", ["mAP@70"], ["tables.wiki.metrics", "'mAP@70'", "'mAP@50'", "'R@1'"]),
    (f"{EXPERIMENT}/dataset", "wiki", ["wiki_cca.dataset", "'wiki'", "known: wikipedia"]),
    (f"{EXPERIMENT}/method", "sam", ["wiki_cca.method", "'sam'", "known: cca"]),
    (f"{EXPERIMENT}/views/text", "bow", ["wiki_cca.views.text", "'bow'", "known: lda, sift"]),
    (f"{EXPERIMENT}/views/video", "lda", ["views.video", "'image', 'text' or 'speech'"]),
    (f"{EXPERIMENT}/relevance", "all", ["relevance", "'category' or 'labels'", "'all'"]),
    (f"{EXPERIMENT}/published/method", "CCCA", ["wiki_cca.published", "CCCA", "ml-CCA"]),
    ("datasets/mine", {}, ["datasets.mine.plugin", "'mine' is unknown", "flickr8k"]),
    ("methods/cca/plugin", "ccca", ["methods.cca.plugin", "'ccca'", "cca"]),
    ("methods/cca/plugin", 5, ["methods.cca.plugin", "5", "cca"]),
    ("tables/wiki/figures", ["dims"], ["tables.wiki.figures", "'dims'", "known: none"]),
    (
        "tables/wiki/map",
        {"experiment": "cca", "labels": ["a", "b"]},
        ["wiki.map.experiment: 'cca'"],
    ),
    ("tables/wiki/map", {"experiment": "wiki_cca", "labels": ["a"]}, ["at least 2 items"]),
    # what does not fit together
    (f"{EXPERIMENT}/views/text", "sift", ["wiki_cca.views.text", "'sift' describes image"]),
    ("features/lda/jobs", 0, ["features.lda.jobs: must be a whole number of at least 1", "is 0"]),
    ("features/lda/jobs", True, ["features.lda.jobs: must be a whole number", "is True"]),
    ("methods/cca/jobs", 2, ["methods.cca.jobs: unknown key"]),
    (
        "datasets/wikipedia/max_shard_size",
        0,
        ["datasets.wikipedia.max_shard_size: must be a size", "is 0"],
    ),
    (
        "datasets/wikipedia/max_shard_size",
        True,
        ["max_shard_size: must be a size", "is True"],
    ),
    ("datasets/wikipedia/max_shard_size", "3GB", ["max_shard_size: must be a size of at most 2GB"]),
    ("datasets/wikipedia/max_shard_size", "big", ["must be a size of at most 2GB, such as 1GB"]),
    ("features/lda/max_shard_size", "1GB", ["features.lda.max_shard_size: unknown key"]),
    ("features/lda/modality", "image", ["wiki_cca.views.text", "'lda' describes image"]),
]


@pytest.mark.parametrize(("path", "value", "fragments"), MESSAGES)
def test_a_wrong_parameter_is_named_with_what_is_allowed(path, value, fragments):
    found = message(changed(path, value))
    assert [fragment for fragment in fragments if fragment not in found] == []


@pytest.mark.parametrize(
    ("key", "value", "fragments"),
    [
        ("x", "dim", ["figures.dims.x: 'dim' is unknown", "dims, epoch, power, ridge, step"]),
        ("x", "step", ["figures.dims.y: 'mAP' is unknown", "loss, seconds, validation"]),
        ("y", "loss", ["figures.dims.y: 'loss' is unknown", "mAP, mAP@100, mAP@50"]),
        ("direction", "text-to-speech", ["dims.direction: 'text-to-speech'", "text-to-image"]),
        ("experiments", ["cca"], ["figures.dims.experiments: 'cca'", "known: wiki_cca"]),
        ("y", "rsum", ["figures.dims: direction: rsum is of both directions"]),
    ],
)
def test_a_figure_shows_what_its_experiments_have(key, value, fragments):
    found = message(changed("figures/dims", DIMS | {key: value}))
    assert [fragment for fragment in fragments if fragment not in found] == []


@pytest.mark.parametrize(
    ("methods", "labels"),
    [
        ("SISA (P), MISA (P)", ["SISA (P)", "MISA (P)"]),
        ({"Our SISA, cited": "SISA (P)", "MISA": "MISA (P)"}, ["Our SISA, cited", "MISA"]),
    ],
)
def test_cited_methods_have_published_names_or_labels(methods, labels):
    columns = {"paper": "VASE", "table": "Table II", "dataset": "Flickr8K"}
    columns["variant"] = "vgg16/DAVEnet"
    read = params.parse(changed("tables/wiki/cited", columns | {"methods": methods}))
    found = read.tables["wiki"].cited.rows()
    assert list(found) == labels
    assert [row.method for row in found.values()] == ["SISA (P)", "MISA (P)"]
    assert all(row.model_dump().items() >= columns.items() for row in found.values())


@pytest.mark.parametrize(("first", "way"), [("a", "a from a"), ("b", "a from b from a")])
def test_a_feature_computed_from_itself_is_refused(first, way):
    activations = {"plugin": "fc7", "normalise": True}
    config = changed("features/a", activations | {"activations": first})
    config["features"]["b"] = activations | {"activations": "a"}
    assert f"features.a: it is computed from itself, {way}" in message(config)


@pytest.mark.parametrize("entry", [None, "x", ["x"]])
def test_an_entry_that_is_no_mapping_is_the_only_error(entry):
    config = changed("tables/wrong", entry)
    config["tables"]["based"] = {"base": "wiki", "title": "Based"}
    assert message(config).startswith("params.yaml: tables.wrong: ")


def test_a_relabelled_method_needs_its_published_name():
    config = changed(f"{EXPERIMENT}/published/method", "My CCA")
    assert "by its `published` there, else by its label" in message(config)


def test_no_table_may_be_called_all():
    table = yaml.safe_load(VALID)["tables"]["wiki"]
    assert "tables.all: 'all' is taken" in message(changed("tables/all", table))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("tables", "a/b"),
        ("experiments", ".."),
        ("datasets", "a+b"),
        ("features", "a/b"),
        ("methods", ".."),
    ],
)
def test_a_name_that_cannot_be_a_file_name_is_refused(kind, name):
    config = yaml.safe_load(VALID)
    key, entry = next(iter(config[kind].items()))
    config[kind][name] = {"plugin": key} | entry if kind in ("datasets", "methods") else entry
    assert f"params.yaml: {kind}.{name}" in message(config)


@pytest.mark.parametrize("config", [["suite"], 5])
def test_parameters_that_are_no_mapping_are_refused(config):
    assert "dictionary" in message(config)


def test_every_wrong_key_has_its_line():
    config = changed("seeds", 0) | {"sede": 1}
    del config["suite"]
    keys = [line.split(": ")[1] for line in message(config).splitlines()]
    assert sorted(keys) == ["sede", "seeds", "suite"]


@pytest.mark.parametrize("content", ["suite: [", "suite: \x00", None])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "mine.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CrossmodalError, match=str(path)):
        params.read(path)


def test_an_empty_file_lacks_every_required_key(tmp_path):
    (tmp_path / "params.yaml").write_text("# nothing yet\n")
    with pytest.raises(CrossmodalError) as caught:
        params.read(tmp_path / "params.yaml")
    keys = {line.split(": ")[1] for line in str(caught.value).splitlines()}
    fields = params.Params.model_fields.items()
    assert keys == {field.alias or name for name, field in fields if field.is_required()}


def test_an_exponent_without_a_point_is_text_to_yaml_and_refused(tmp_path):
    (tmp_path / "params.yaml").write_text(VALID.replace("ridge: 0.01", "ridge: 1e-2"))
    with pytest.raises(CrossmodalError, match=r"methods\.cca\.ridge: .*number.*'1e-2'"):
        params.read(tmp_path / "params.yaml")


def test_an_entry_is_its_own_plugin_unless_it_names_one():
    read = params.parse(yaml.safe_load(VALID))
    assert read.plugin("methods", "cca")["plugin"] == "cca"
    lda = {"plugin": "published", "options": {"matrix": "lda", "modality": "text"}}
    assert read.plugin("features", "lda") == lda
    assert read.feature_of("lda").modality == "text"
    assert read.dataset_of("wikipedia").counts()["validation"] == 231


@pytest.mark.parametrize(("own", "seeds"), [(None, range(3)), (1, range(1)), (5, range(5))])
def test_an_experiment_may_have_its_own_number_of_seeds(own, seeds):
    config = changed(f"{EXPERIMENT}/seeds", own)
    config["methods"]["cca"] = PARAMS.methods["full_sgd"]
    config["experiments"]["wiki_cca"] |= {"options": {}, "search": {}}
    assert params.parse(config).seeds_of("wiki_cca") == seeds


def test_a_method_without_randomness_runs_once():
    assert params.parse(changed(f"{EXPERIMENT}/seeds", 5)).seeds_of("wiki_cca") == range(1)
    drawn = {name for name in PARAMS.experiments if PARAMS.fit(name).plugin == "lrbs"}
    assert {name for name in drawn if len(PARAMS.seeds_of(name)) > 1} == {"nuswide_lrbs"}


@pytest.fixture
def checked(tmp_path):
    """Facts of a check of `VALID`."""
    path = tmp_path / "state" / "checked.json"
    params.parse(yaml.safe_load(VALID), path)
    return path


def test_what_was_checked_is_not_imported_again(checked, monkeypatch):
    monkeypatch.setattr(params.plugins, "make", lambda *_: pytest.fail("made again"))
    again = params.parse(yaml.safe_load(VALID), checked)
    assert again.feature_of("lda").modality == "text"
    assert not again.facts_of("wiki_cca").gpu


def test_content_in_another_order_is_not_checked_again(checked, monkeypatch):
    monkeypatch.setattr(params.plugins, "make", lambda *_: pytest.fail("made again"))
    config = yaml.safe_load(VALID)
    assert params.parse(dict(reversed(config.items())), checked)


def test_a_change_makes_its_own_plug_ins_alone(checked, monkeypatch):
    made = []
    make = params.plugins.make
    monkeypatch.setattr(params.plugins, "make", lambda *entry: made.append(entry) or make(*entry))
    config = yaml.safe_load(VALID)
    config["features"]["sift"]["matrix"] = "lda"
    params.parse(config, checked)
    assert [kind for kind, *_ in made] == ["features"]
    made.clear()
    config["experiments"]["wiki_cca"]["options"] = {"ridge": 0.5}
    params.parse(config, checked)
    assert {kind for kind, *_ in made} == {"methods"}
    made.clear()
    params.parse(config, checked)
    assert made == []


def test_mistakes_are_found_after_an_earlier_check_too(checked):
    note = checked.read_text()
    for path, value, parts in MESSAGES:
        checked.write_text(note)
        with pytest.raises(CrossmodalError) as caught:
            params.parse(changed(path, value), checked)
        assert all(part in str(caught.value) for part in parts)


def test_initial_weights_are_known_of_each_experiment(tmp_path):
    config = yaml.safe_load(VALID)
    config["methods"]["vase"] = PARAMS.methods["vase"]
    config["features"]["logmel"] = PARAMS.features["logmel"]
    config["features"]["pictures"] = {}
    weights = "vgg16-397923af.safetensors"
    for network, image, file in (("vgg16", "pictures", weights), (None, "sift", "")):
        config["experiments"]["spoken"] = config["experiments"]["wiki_cca"] | {
            "views": {"image": image, "speech": "logmel"},
            "method": "vase",
            "options": {"image_network": network},
            "published": None,
            "search": {},
        }
        for _ in range(2):  # the second time from what the first one noted
            found = params.parse(config, tmp_path / "checked.json")
            assert found.facts_of("spoken").weights == file
            assert found.facts_of("wiki_cca").weights == ""


def test_a_check_needs_no_place_for_its_note(tmp_path):
    (tmp_path / "state").touch()
    assert params.parse(yaml.safe_load(VALID), tmp_path / "state/checked.json")


def test_another_value_or_another_source_is_checked_again(checked, monkeypatch):
    config = yaml.safe_load(VALID)
    config["methods"]["cca"]["dims"] = -1
    with pytest.raises(CrossmodalError, match=r"methods\.cca\.dims"):
        params.parse(config, checked)
    monkeypatch.setattr(params, "_source", lambda: "another one")
    monkeypatch.setattr(params.plugins, "make", lambda *_: pytest.fail("made again"))
    with pytest.raises(pytest.fail.Exception, match="made again"):
        params.parse(yaml.safe_load(VALID), checked)


def test_a_corrupt_note_of_the_last_check_is_overwritten(checked):
    good = checked.read_text()
    checked.write_text("{")
    params.parse(yaml.safe_load(VALID), checked)
    assert checked.read_text() == good


@pytest.mark.parametrize("entry", ["datasets.wikipedia", "features.sift", "methods.cca"])
def test_described__a_new_option_with_a_default_changes_nothing(entry):
    small = params.parse(yaml.safe_load(VALID))
    before = small.described("wiki_cca")
    small._facts.entries[entry].defaults["new"] = [1, 2.0]
    assert small.described("wiki_cca") == before


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{EXPERIMENT}/options", {"ridge": 0.5}),
        (f"{EXPERIMENT}/search", {"dims": [7]}),
        ("methods/cca/power", 1.0),
        ("features/sift/matrix", "lda"),
        ("datasets/wikipedia/seed", 1),
    ],
)
def test_described__another_value_changes_it(path, value):
    small = params.parse(yaml.safe_load(VALID))
    other = params.parse(changed(path, value))
    assert small.described("wiki_cca") != other.described("wiki_cca")


def test_described__a_stated_default_is_as_none_stated():
    small = params.parse(yaml.safe_load(VALID))
    before = small.described("wiki_cca")
    small._facts.entries["methods.cca"].defaults["power"] = 0.0
    stated = small.described("wiki_cca")
    del small.methods["cca"]["power"]
    assert small.described("wiki_cca") == stated != before
