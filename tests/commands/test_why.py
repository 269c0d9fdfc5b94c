import json

import pytest

from crossmodal.commands.why import why
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import sha256
from crossmodal.workflow import records

SPEC = {"plugin": "cca", "code": "0123"}


def record(path, rule, sources):
    """What Snakemake notes of an output."""
    stored = records.STORE / records.name_of(path)
    stored.parent.mkdir(parents=True, exist_ok=True)
    params = [repr("toy"), repr(json.dumps(SPEC))]
    found = {"rule": rule, "params": params, "input": [*map(str, sources)], "endtime": 0}
    stored.write_text(json.dumps(found))


@pytest.fixture
def made(run_toy):
    """A run, and the records of a workflow that made it."""
    run = run_toy()
    record(run.metrics, "evaluate", [run.embeddings])
    tables = [run.data.folder.relative_to(run.data.folder.parents[2]) / "items.csv"]
    facts = run.model.with_name("model.json")
    record(run.embeddings, "embed", [*tables, run.model, facts])
    record(run.model, "train", ["data/raw/toy/a.zip", "src/a.py"])
    record(facts, "train", ["data/raw/toy/a.zip", "src/a.py"])
    return run


def explain(path, capsys):
    why(path)
    return capsys.readouterr().out.splitlines()


def test_the_chain_goes_down_to_what_was_published(made, capsys):
    lines = explain(made.metrics, capsys)
    assert [line for line in lines if not line.startswith(" ")] == [
        "results/runs/toy/seed0.json",
        "embeddings/toy/seed0.h5",
        "data/prepared/toy/items.csv",
        "models/toy/seed0/model.safetensors",
        "models/toy/seed0/model.json",
        "data/raw/toy/a.zip",
    ]
    made_by = [line for line in lines if " by " in line]
    for line, rule in zip(made_by, ["evaluate", "embed", "train", "train"], strict=True):
        for part in (
            f" by {rule};",
            "code 0123",
            "crossmodal-retrieval ",
            "numpy ",
            "torch ",
            " thread",
        ):
            assert part in line
    assert f"  of {made.embeddings}, SHA-256 {sha256(made.embeddings)[:16]}, unchanged" in lines
    assert lines[-1] == "  missing"
    assert "  no record says how it was made; " in "\n".join(lines)


def test_an_absolute_path_is_explained_as_the_one_from_here(made, capsys):
    assert explain(made.metrics.absolute(), capsys) == explain(made.metrics, capsys)


def test_an_input_that_was_changed_or_lost_is_told(made, capsys):
    with made.embeddings.open("ab") as stream:
        stream.write(b"!")
    made.model.unlink()
    made.model.with_name("model.json").write_text('{"fit": {}}')
    text = "\n".join(explain(made.metrics, capsys))
    assert f"CHANGED TO {sha256(made.embeddings)[:16]}" in text
    assert ", missing now" in text


def test_a_file_without_a_record_is_refused(made):
    with pytest.raises(CrossmodalError, match="no record says how it was made"):
        why(made.data.folder / "items.csv")


def test_a_folder_is_refused(made):
    with pytest.raises(CrossmodalError, match="is a folder; name a file in it"):
        why(made.data.folder)
