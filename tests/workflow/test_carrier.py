import base64
import json
from pathlib import Path

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.workflow import carrier

OUTPUT = "models/cca/seed0/model.safetensors"
ENTRY = {"record": {"endtime": 1000.0, "rule": "train", "params": ["1"]}, "sha256": "0" * 64}


def encoded(path):
    """The name that Snakemake gives to the record of a path."""
    return base64.urlsafe_b64encode(path.encode()).decode()


def written(folder, entries):
    """A carrier of the model's folder."""
    path = folder / "models/cca/seed0" / carrier.CARRIER
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries))
    return path.relative_to(folder)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_record_comes_back_as_snakemake_wrote_it(project):
    record = ENTRY["record"] | {"input_checksums": {"a": "b"}, "job_hash": 1 << 62}
    path = written(project, {encoded(OUTPUT): ENTRY | {"record": record}})
    (entry,) = carrier.read_carrier(path).values()
    assert entry.record.to_json() == record


def test_a_folder_without_a_carrier_has_no_records(project):
    assert carrier.read_carrier(Path("models/none") / carrier.CARRIER) == {}


def test_long_names_are_split_as_snakemake_does():
    output = "models/" + "x" * 300
    name = encoded(output)
    parts = [name[i : i + 254] for i in range(0, len(name), 254)]
    name = "/".join([*(f"@{p}" for p in parts[:-1]), parts[-1]])
    assert carrier.described(name) == Path(output)
    assert carrier.name_of(Path(output)) == name
    assert carrier.is_name(name)


HOSTILE = [
    "",
    ".",
    "A",
    "QQ==/../../../profiles/default/config.yaml",
    "/etc/passwd",
    "../../profiles/default/config.yaml",
    "@" + encoded(OUTPUT),
    encoded(OUTPUT) + "\n",
    encoded(OUTPUT) + "/x",
    encoded(OUTPUT).rstrip("="),
    encoded("."),
    encoded("/etc/passwd"),
    encoded("models/cca/seed0/../seed1/model.json"),
    encoded("models/cca/seed0/./model.json"),
    encoded("models/cca/seed0//model.json"),
    encoded("models/cca/seed0/a\0b"),
    encoded("models/cca/seed0/a\nb"),
    encoded("models/cca/seed0/a\\b"),
    encoded("models/cca/seed0/" + "x" * 256),
    encoded("models/cca/seed1/model.json"),
    encoded("models/cca/model.json"),
    encoded("profiles/default/config.yaml"),
    encoded("results/runs/../../profiles/default/config.yaml"),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_of_anything_but_a_file_of_the_folder_is_refused(project, name):
    path = written(project, {name: ENTRY})
    with pytest.raises(CrossmodalError, match=r"models/cca/seed0/\.records\.json: "):
        carrier.read_carrier(path)


def test_a_result_below_a_link_out_of_its_folder_is_refused(project):
    (project / "elsewhere").mkdir()
    (project / "results/runs").mkdir(parents=True)
    (project / "results/runs/cca").symlink_to(project / "elsewhere")
    path = Path("results/runs", carrier.CARRIER)
    path.write_text(json.dumps({encoded("results/runs/cca/seed0.json"): ENTRY}))
    with pytest.raises(CrossmodalError, match="leads out of its folder by a link"):
        carrier.read_carrier(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"sha256": ""},
        {"sha256": "0" * 63},
        {"sha256": "../" * 21 + "x"},
        {"sha256": 5},
        {"more": 1},
        {"record": {}},
        {"record": []},
        {"record": {"snakefile": "results/evil.smk"}},
        {"record": {"endtime": 1e300}},
        {"record": {"endtime": -1}},
        {"record": {"endtime": "now"}},
        {"record": {"endtime": 1, "rule": "train; rm"}},
        {"record": {"endtime": 1, "rule": "\x1b[2J"}},
        {"record": {"endtime": 1, "params": "a"}},
        {"record": {"endtime": 1, "input": [1]}},
        {"record": {"endtime": 1, "params": [["a"]]}},
        {"record": {"endtime": 1, "starttime": {}}},
        {"record": {"endtime": 1, "shellcmd": 5}},
        {"record": {"endtime": 1, "job_hash": "a"}},
        {"record": {"endtime": 1, "incomplete": "maybe"}},
        {"record": {"endtime": 1, "input_checksums": {"a": 5}}},
    ],
)
def test_a_record_of_another_shape_is_refused(project, changes):
    path = written(project, {encoded(OUTPUT): ENTRY | changes})
    with pytest.raises(CrossmodalError, match=r"\.records\.json: .*delete it, or pull it again"):
        carrier.read_carrier(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "5", "[" * 100_000, '{"a": NaN}'])
def test_what_is_no_carrier_is_refused(project, text):
    path = written(project, {})
    path.write_text(text)
    with pytest.raises(CrossmodalError, match=r"\.records\.json: .*delete it"):
        carrier.read_carrier(path)
