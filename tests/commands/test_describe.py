import re

import pytest

from crossmodal.commands import describe as step
from crossmodal.config.params import parse
from crossmodal.errors import CrossmodalError
from tests.config.small_params import changed
from tests.project_params import PARAMS, PATH


@pytest.fixture
def described(monkeypatch, capsys):
    """Header and lines of each table that is printed of a name, as words between two spaces."""
    monkeypatch.setattr(step, "read", lambda *files: PARAMS)
    monkeypatch.setenv("COLUMNS", "300")

    def call(name, *overlays):
        step.describe(name, PATH, overlays)
        text = capsys.readouterr().out
        return [re.split(r"  +", line) for line in text.splitlines()]

    return call


def test_experiment_options_have_address_and_meaning(described):
    title, header, *lines = described("wikipedia_462_sam_constant")
    assert title == ["wikipedia_462_sam_constant, of experiments.wikipedia_462"]
    assert header == ["option", "value", "where", "meaning"]
    here = "experiments/sam.yaml:experiments.wikipedia_462"
    found = {line[0]: line[1:] for line in lines}
    for option, value, where in (
        ("dataset", "wikipedia_462", f"{here}.dataset"),
        ("options.margin", "1.0", "methods.sam.margin"),
        ("options.decay", "0.000001", "methods.sam.decay"),
        ("options.feature_share", "0.05", f"{here}.rows.sam.options.feature_share"),
        ("options.schedule", "constant", f"{here}.rows.sam_constant.options.schedule"),
    ):
        assert found[option][:2] == [value, where]
        assert len(found[option][2]) > 10


def test_changes_of_the_dataset_are_shown(described):
    found = {line[0]: line[1:] for line in described("sam_margins_scenes_wrong_10_sam")[2:]}
    margins = "experiments/studies/margins.yaml:experiments.sam_margins_scenes"
    where = f"{margins}.variants.wrong_10.changes.wrong_labels"
    assert found["changes.wrong_labels"][:2] == ["0.1", where]
    assert not any(name.startswith("changes.imbalance") for name in found)


def test_experiment_of_an_overlay_is_edited(described, tmp_path):
    overlay = tmp_path / "holiday.yaml"
    overlay.write_text("experiments: {wikipedia_462: {label: mine}}")
    lines = [" ".join(line) for line in described("wikipedia_462_sam", overlay)]
    assert f"to change a value: edit {overlay}" in lines
    assert not any("dvc" in line for line in lines)


def test_group_has_no_member_of_another_that_begins_like_it():
    params = parse(changed("experiments/wiki_cca-2", {"base": "wiki_cca"}))
    assert not step.is_of(params, "wiki_cca-2", "wiki_cca")
    assert step.is_of(params, "wiki_cca", "wiki_cca")


@pytest.mark.parametrize(
    ("name", "file", "alone"),
    [
        ("wikipedia_462_sam", "experiments/sam.yaml", True),
        ("flickr30k_fc7_mh", "", False),
        ("wikipedia_462_schedule-0_0-0_2", "", False),
    ],
)
def test_group_experiment_has_its_own_address(described, name, file, alone):
    address = f"dvc exp run -S {file}:+experiments.{name}.options.<option>=<value>"
    assert any(address in " ".join(line) for line in described(name)) == alone


def test_an_experiment__an_override_ready_to_paste(described):
    lines = [" ".join(line) for line in described("wikipedia_sam")]
    command = "dvc exp run -S experiments/sam.yaml:experiments.wikipedia_462.seeds=5"
    assert f"to change a value: {command}" in lines


@pytest.mark.parametrize(("name", "key"), [("pascal_cca", "label"), ("pascal_ccl", "published")])
def test_published_method_defaults_to_that_of_the_method(described, name, key):
    lines = {line[0]: line[1:3] for line in described(name)}
    method = name.split("_")[1]
    assert lines["published.method"] == [method.upper(), f"methods.{method}.{key}"]


def test_a_method_has_each_option_with_type_value_and_meaning(described):
    title, header, *lines = described("mh")
    assert title[0].startswith("methods.mh: ")
    assert header == ["option", "type", "value", "where", "meaning"]
    found = {line[0]: line[1:] for line in lines if line[0]}
    assert found["loss"][:3] == ["sum | max | sum-max", "max", "methods.mh.loss"]
    assert found["batch"][:3] == ["integer", "128", "methods.sh.batch"]
    assert found["drop_epoch"][:2] == ["integer | null", "null"]
    assert all(len(line) == 4 and len(line[3]) > 3 for line in found.values() if line)


def test_features_and_datasets_are_described_too(described):
    (thresholds,) = (line for line in described("lite0_fne") if line[0] == "thresholds")
    assert thresholds[2].startswith('{"positive": 0.15')
    kinds = [line[0].split(":")[0] for line in described("scenes") if "." in line[0]]
    assert kinds == ["experiments.scenes", "datasets.scenes"]


@pytest.mark.parametrize("name", ["sh", "vase_small", "lite0_activations"])
def test_the_processors_that_gain_by_bfloat16_are_named(described, name):
    (line,) = (line for line in described(name) if line[0] == "precision")
    assert line[1:3] == ["float32 | bfloat16", "float32"]
    assert "processors with AMX" in line[4]


def test_the_layers_of_a_network_are_shown_with_their_columns(described):
    lines = described("lite0_fc7")
    start = lines.index(["layers of efficientnet_lite0"])
    assert lines[start + 1 : start + 3] == [["layer", "first column", "end"], ["bn1", "0", "32"]]
    assert ["bn2", "1840", "3120"] in lines


def test_a_group_has_a_line_for_each_experiment(described):
    title, header, *lines = described("pascal")
    assert title == ["experiments.pascal: 14 experiments"]
    assert header == ["experiment", "row", "method", "dataset"]
    assert ["pascal_sam", "SAM", "sam", "pascal_sentences"] in lines


def test_the_page_on_parameters_shows_what_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(step, "read", lambda *files: PARAMS)
    monkeypatch.setenv("COLUMNS", "118")
    page = (PATH.parent / "docs/parameters.md").read_text()
    (name, shown), *_ = re.findall(r"\$ crossmodal describe (\w+)\n(.*?)```", page, re.DOTALL)
    step.describe(name, PATH)
    assert set(shown.splitlines()) - {"..."} <= set(capsys.readouterr().out.splitlines())


def test_an_unknown_name_has_similar_ones(described):
    with pytest.raises(CrossmodalError, match=r"'pascl_sam' is unknown; did you mean 'pascal_sam'"):
        described("pascl_sam")
