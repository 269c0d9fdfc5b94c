import base64
import json
import os

import pytest

from crossmodal import records
from crossmodal.errors import CrossmodalError

FEATURE, RUN = "features/toy/bow.h5", "results/runs/cca/seed0.json"


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored(output):
    """Where Snakemake keeps the record of an output."""
    return records.STORE / base64.urlsafe_b64encode(output.encode()).decode()


def make(project, output, content=b"made", time=1000.0, params="a"):
    """What a job leaves: an output and its record."""
    path = project / output
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (time, time))
    stored(output).parent.mkdir(parents=True, exist_ok=True)
    stored(output).write_text(json.dumps({"params": params, "endtime": time}))
    return path


def move_to_another_machine():
    """Only what DVC carries stays, and with the time of the pull."""
    for path in records.STORE.rglob("*"):
        path.unlink()
    records.SEEN.unlink()
    for folder in records.OUTPUTS:
        for path in filter(os.path.isfile, records.Path(folder).rglob("*")):
            os.utime(path)


def test_records_and_times_travel_with_the_files(project):
    paths = [make(project, FEATURE, time=1000.0), make(project, RUN, time=2000.0)]
    before = [json.loads(stored(output).read_text()) for output in (FEATURE, RUN)]
    records.carry()
    move_to_another_machine()
    records.take_over()
    assert [json.loads(stored(output).read_text()) for output in (FEATURE, RUN)] == before
    assert [path.stat().st_mtime for path in paths] == [1000.0, 2000.0]


def test_curves_have_no_records_among_them(project):
    make(project, "results/curves/learning/cca.csv")
    records.carry()
    assert os.listdir("results/curves/learning") == ["cca.csv"]
    assert (project / "results/curves/.records.json").exists()


def test_files_outside_the_outputs_are_not_carried(project):
    make(project, "elsewhere/file")
    records.carry()
    assert os.listdir("elsewhere") == ["file"]


def test_a_file_of_other_content_is_refused_wherever_it_comes_from(project):
    path = make(project, FEATURE)
    records.carry()
    path.write_bytes(b"mad?")
    with pytest.raises(CrossmodalError, match=r"features/toy/bow\.h5: changed since it was made"):
        records.take_over()
    records.SEEN.unlink()  # as if the records had just been pulled
    with pytest.raises(CrossmodalError, match="Delete it to make it again"):
        records.take_over()
    path.unlink()
    records.take_over()


def test_a_file_that_was_only_touched_gets_its_time_back(project):
    path = make(project, FEATURE)
    records.carry()
    os.utime(path)
    records.take_over()
    assert path.stat().st_mtime == 1000.0


def test_a_link_gets_its_own_time_back_where_its_target_has_it_already(project):
    path = make(project, FEATURE, time=1000.0)
    records.carry()
    path.rename(project / "cached")
    path.symlink_to(project / "cached")
    records.take_over()
    assert path.lstat().st_mtime == path.stat().st_mtime == 1000.0


def test_an_output_that_a_killed_run_made_anew_is_believed(project):
    make(project, FEATURE)
    records.carry()
    make(project, FEATURE, b"anew", time=3000.0, params="b")  # and the run is killed
    records.take_over()
    assert json.loads(stored(FEATURE).read_text())["params"] == "b"
    records.carry()
    assert '"params": "b"' in (project / "features/toy/.records.json").read_text()


def test_an_unfinished_output_is_left_to_snakemake(project):
    path = make(project, FEATURE)
    records.carry()
    path.write_bytes(b"half")
    marker = records.UNFINISHED / stored(FEATURE).name
    marker.parent.mkdir(parents=True)
    marker.write_text("{}")
    records.take_over()
    marker.unlink()
    with pytest.raises(CrossmodalError):
        records.take_over()


def test_checksums_of_known_files_are_not_computed_again(project, monkeypatch):
    make(project, FEATURE)
    records.carry()
    monkeypatch.setattr(records, "sha256", lambda path: pytest.fail(f"{path} is read again"))
    records.take_over()
    records.carry()


def test_damaged_records_are_named(project):
    make(project, FEATURE)
    records.carry()
    (project / "features/toy/.records.json").write_text("{")
    with pytest.raises(CrossmodalError, match=r"features/toy/\.records\.json"):
        records.take_over()


def test_long_names_are_split_as_snakemake_does():
    output = "models/" + "x" * 300
    name = base64.urlsafe_b64encode(output.encode()).decode()
    parts = [name[i : i + 254] for i in range(0, len(name), 254)]
    assert records.described("/".join([*(f"@{p}" for p in parts[:-1]), parts[-1]])) == output
