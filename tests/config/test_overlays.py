import pytest

from crossmodal.config.overlays import naming, own_files, read_files
from crossmodal.errors import CrossmodalError

BASE = """
seeds: 3
datasets:
  scenes: {train: 3, seed: 0}
experiments:
  scenes: {dataset: scenes, rows: {cca: {}}}
"""
OVERLAY = """
seeds: 1
datasets:
  holiday: {plugin: folder, csv: items.csv}
  scenes: {seed: 5}
experiments:
  holiday: {dataset: holiday, rows: {cca: {}}}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = [tmp_path / "params.yaml", tmp_path / "holiday.yaml"]
    for path, text in zip(found, (BASE, OVERLAY), strict=True):
        path.write_text(text)
    return found


def named(files, message):
    with pytest.raises(CrossmodalError) as caught, naming(files):
        raise CrossmodalError(message)
    return str(caught.value).replace(f"{files[0].parent}/", "")


def test_an_overlay_adds_entries_and_replaces_single_values(files):
    found = read_files(files)
    assert found["seeds"] == 1
    assert found["datasets"]["scenes"] == {"train": 3, "seed": 5}
    assert list(found["experiments"]) == ["scenes", "holiday"]


def test_the_layers_are_those_of_snakemake(files):
    from snakemake.common.configfile import load_configfile
    from snakemake.utils import update_config

    (files[0].parent / "experiments").mkdir()
    (files[0].parent / "experiments/mine.yaml").write_text("experiments: {mine: {dataset: scenes}}")
    config = load_configfile(files[0])
    for path in (*own_files(files[0])[1:], files[1]):
        update_config(config, load_configfile(path))
    assert config == read_files(files)


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("seeds", "holiday.yaml"),
        ("datasets.scenes.train", "params.yaml"),
        ("datasets.scenes.seed", "holiday.yaml"),
        ("datasets.holiday.sed", "holiday.yaml"),
        ("experiments.scenes.rows.cca.views", "params.yaml"),
        ("experiments.holiday.rows.cca.views.image", "holiday.yaml"),
    ],
)
def test_an_error_names_the_file_that_says_it(files, address, file):
    message = f"params.yaml: {address}: wrong"
    assert named(files, message) == f"{file}: {address}: wrong"
    assert named(files, f"{message}\n{message}").count(file) == 2
    assert named(files[:1], message) == f"params.yaml: {address}: wrong"


def test_own_files__complete_params_yaml(files):
    folder = files[0].parent / "experiments/studies"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("experiments: {mine: {dataset: scenes}}\n")
    content = read_files(files)
    assert list(content["experiments"]) == ["scenes", "mine", "holiday"]
    address = "params.yaml: experiments.mine.dataset: wrong"
    assert named(files, address).startswith("experiments/studies/mine.yaml: experiments.mine")
    assert named(files, "params.yaml: suite: missing") == "params.yaml: suite: missing"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("# mine\n\nseeds: 2\n", "line 3: 'seeds' is in params.yaml, line 2"),
        (
            "datasets:\n  a: {}\n  scenes: {seed: 1}\n",
            "line 3: 'datasets.scenes' is in params.yaml, line 4",
        ),
        ("datasets:\n", "line 1: 'datasets' is in params.yaml, line 3"),
    ],
)
def test_own_files__refuse_a_key_of_another_file(files, text, place):
    (files[0].parent / "experiments").mkdir()
    (files[0].parent / "experiments/mine.yaml").write_text(text)
    with pytest.raises(CrossmodalError) as caught:
        read_files(files)
    said = str(caught.value).replace(f"{files[0].parent}/", "")
    assert said == f"experiments/mine.yaml: {place}, too; remove one"


def test_other_errors_stay_as_they_are(files):
    assert named(files, "items.csv: row 3: empty") == "items.csv: row 3: empty"


@pytest.mark.parametrize("text", ["- a list\n", "text\n"])
def test_an_overlay_without_keys_is_refused(files, text):
    files[1].write_text(text)
    with pytest.raises(CrossmodalError, match=r"holiday\.yaml: holds no keys"):
        read_files(files)


def test_a_missing_file_and_an_error_of_yaml_are_named(files):
    files[1].write_text("a: 1\nb: {c\n")
    with pytest.raises(CrossmodalError, match=r"holiday\.yaml: line 3: "):
        read_files(files)
    files[1].unlink()
    with pytest.raises(CrossmodalError, match=r"holiday\.yaml: No such file.*; go to the folder"):
        read_files(files)
