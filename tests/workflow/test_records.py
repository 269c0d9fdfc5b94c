import base64
import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.workflow import records

FEATURE, RUN = "features/toy/bow.h5", "results/runs/cca/seed0.json"
FOLDER = "data/prepared/toy/media"


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
    stored(output).write_text(json.dumps({"params": [params], "endtime": time}))
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


def test_records_of_a_folder_travel_and_tell_another_one(project):
    folder = make(project, FOLDER.replace("media", "items.csv")).parent / "media"
    folder.mkdir()
    (folder / "media-00000.zip").write_bytes(b"first")
    (folder / ".snakemake_timestamp").touch()
    os.utime(folder, (3000.0, 3000.0))
    stored(FOLDER).write_text(json.dumps({"params": ["a"], "endtime": 3000.0}))
    before = stored(FOLDER).read_text()
    assert records.doubt(lambda path: path == FOLDER) == []
    records.carry()
    move_to_another_machine()
    os.utime(folder)
    records.take_over()
    assert json.loads(stored(FOLDER).read_text()) == json.loads(before)
    assert folder.stat().st_mtime == 3000.0
    (folder / "media-00000.zip").unlink()
    move_to_another_machine()
    os.utime(folder)
    with pytest.raises(CrossmodalError, match="data/prepared/toy/media: changed since it was made"):
        records.take_over()


def test_a_folder_without_a_record_is_due(project):
    (project / FOLDER).mkdir(parents=True)
    assert records.doubt(lambda path: path == FOLDER) == [Path(FOLDER)]


def test_curves_have_no_records_among_them(project):
    make(project, "results/curves/learning/cca.csv")
    records.carry()
    assert os.listdir("results/curves/learning") == ["cca.csv"]
    assert (project / "results/curves/.records.json").exists()


def test_files_outside_the_outputs_are_not_carried(project):
    make(project, "elsewhere/file")
    records.carry()
    assert os.listdir("elsewhere") == ["file"]


def test_changed_content_is_refused_from_any_source(project):
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


def test_link_gets_its_own_time_where_its_target_has_it(project):
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
    assert json.loads(stored(FEATURE).read_text())["params"] == ["b"]
    records.carry()
    assert '"b"' in (project / "features/toy/.records.json").read_text()


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


def test_read_content_must_be_recorded_whatever_its_time(project):
    path = Path(FEATURE)
    make(project, FEATURE, time=1000.0)
    records.carry()
    digest = hashlib.sha256(b"made").hexdigest()
    assert records.verified([path, Path("none.h5")]) == {FEATURE: digest}
    make(project, FEATURE, b"mode", time=1000.0)
    records.take_over()  # which looks at the time alone
    with pytest.raises(CrossmodalError, match=r"features/toy/bow\.h5: changed since it was made"):
        records.verified([path])
    stored(FEATURE).unlink()
    with pytest.raises(CrossmodalError, match="Delete it to make it again"):
        records.verified([path])


@pytest.mark.parametrize("prefix", ["s3/bucket", "fs/shared/data/features"])
def test_a_staged_copy_is_verified_as_what_it_is_a_copy_of(project, prefix):
    make(project, FEATURE)
    records.carry()
    staged = Path(".snakemake/storage") / prefix / FEATURE
    staged.parent.mkdir(parents=True)
    staged.write_bytes(b"made")
    assert [*records.verified([staged])] == [FEATURE]
    staged.write_bytes(b"mode")
    with pytest.raises(CrossmodalError, match=rf"^{FEATURE}: changed since it was made"):
        records.verified([staged])


def test_an_absolute_path_is_verified_by_the_record_of_its_file(project):
    path = make(project, FEATURE)
    records.carry()
    assert [*records.verified([path])] == [FEATURE]
    path.write_bytes(b"other")
    with pytest.raises(CrossmodalError, match=r"^features/toy/bow\.h5: changed since"):
        records.verified([path])


def test_a_file_of_another_project_has_no_record_here(project, monkeypatch):
    path = make(project, FEATURE)
    records.carry()
    (project / "other").mkdir()
    monkeypatch.chdir(project / "other")
    assert [*records.verified([path])] == [str(path)]


def test_times_in_the_future_become_times_before_now_in_order(project):
    ahead = time.time() + 3600
    first, last = make(project, FEATURE, time=ahead), make(project, RUN, time=ahead + 60)
    past = make(project, "results/runs/cca/seed1.json", time=1000.0)
    records.carry()
    records.take_over()
    times = [path.stat().st_mtime for path in (past, first, last)]
    assert times == sorted(times)
    assert [times[0], len({*times})] == [1000.0, 3]
    assert times[-1] < time.time()
    assert json.loads(stored(RUN).read_text())["endtime"] == pytest.approx(times[-1], abs=1e-6)
    records.carry()
    records.take_over()
    assert [path.stat().st_mtime for path in (past, first, last)] == times


def test_a_job_that_ends_while_records_are_read_is_not_doubted(project, monkeypatch):
    make(project, FEATURE)
    marker = records.UNFINISHED / stored(FEATURE).name
    marker.parent.mkdir(parents=True)
    stored(FEATURE).rename(marker)
    names = records._names

    def end_after_the_first(store):
        before = names(store)
        if marker.exists():
            marker.rename(stored(FEATURE))
        return before

    monkeypatch.setattr(records, "_names", end_after_the_first)
    assert records.doubt(lambda path: True) == []


def test_what_the_running_workflow_made_anew_has_no_record_yet(project):
    make(project, FEATURE)
    records.carry()
    make(project, FEATURE, b"anew", time=3000.0, params="b")
    make(project, RUN)
    assert [*records.verified([Path(FEATURE), Path(RUN)])] == [FEATURE, RUN]


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_corrupt_records_are_named(project, content):
    make(project, FEATURE)
    records.carry()
    (project / "features/toy/.records.json").write_text(content)
    with pytest.raises(CrossmodalError, match=r"features/toy/\.records\.json: .*delete it"):
        records.take_over()


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_where_the_note_of_seen_records_is_damaged_all_are_new(project, content):
    path = make(project, FEATURE)
    records.carry()
    records.SEEN.write_text(content)
    path.write_bytes(b"anew")
    with pytest.raises(CrossmodalError, match=r"bow\.h5: changed since it was made"):
        records.take_over()
    path.write_bytes(b"made")
    records.take_over()
    assert [*json.loads(records.SEEN.read_text())] == ["features/toy/.records.json"]


def test_an_empty_record_of_snakemake_is_not_carried(project):
    make(project, FEATURE)
    make(project, RUN)
    stored(RUN).write_text("")
    records.carry()
    assert (project / "features/toy/.records.json").exists()
    assert not (project / "results/runs/.records.json").exists()


@pytest.mark.parametrize("left", [b"", b'{"params": ["a"', b"\0" * 40, b"{}", b"[]", None])
def test_records_that_a_power_cut_emptied_are_restored(project, left):
    path = make(project, FEATURE, time=1000.0)
    records.carry()
    before = stored(FEATURE).read_text()
    os.utime(path)
    stored(FEATURE).unlink() if left is None else stored(FEATURE).write_bytes(left)
    records.take_over()
    assert json.loads(stored(FEATURE).read_text()) == json.loads(before)
    assert path.stat().st_mtime == 1000.0
    assert records.doubt(lambda path: True) == []


def test_an_older_record_that_a_power_cut_brought_back_gives_way(project):
    make(project, FEATURE, time=1000.0, params="a")
    older = stored(FEATURE).read_bytes()
    make(project, FEATURE, b"anew", time=3000.0, params="b")
    records.carry()
    stored(FEATURE).write_bytes(older)
    records.take_over()
    assert json.loads(stored(FEATURE).read_text())["params"] == ["b"]


def test_a_record_taken_over_is_synced_before_it_counts_as_seen(project, monkeypatch):
    make(project, FEATURE)
    records.carry()
    move_to_another_machine()
    synced, fsync = [], os.fsync

    def note(handle):
        synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    records.take_over()
    names = [stored(FEATURE), stored(FEATURE).parent, records.SEEN]
    found = [synced.index(path.stat().st_ino) for path in names]
    assert found == sorted(found)


def test_many_outputs_are_verified_by_one_look_at_records(project, monkeypatch):
    paths = [make(project, f"results/runs/cca/seed{n}.json") for n in range(3)]
    records.carry()
    read, looked = records.read_carrier, []
    monkeypatch.setattr(records, "read_carrier", lambda path: looked.append(path) or read(path))
    records.verified([path.relative_to(project) for path in paths])
    assert looked == [Path("results/runs/.records.json")]


def test_a_file_made_anew_whose_record_is_emptied_is_due(project):
    make(project, FEATURE)
    records.carry()
    make(project, FEATURE, b"anew", time=3000.0, params="b")
    stored(FEATURE).write_text("")  # and no record was carried yet
    records.take_over()
    assert records.doubt(lambda path: True) == [Path(FEATURE)]
    assert json.loads(stored(FEATURE).read_text())["params"] == [records.UNKNOWN]


def test_an_emptied_record_that_none_is_carried_of_is_due(project):
    make(project, FEATURE)
    stored(FEATURE).write_text("")
    assert records.doubt(lambda path: True) == [Path(FEATURE)]


def test_remains_of_killed_processes_are_no_records(project):
    make(project, FEATURE)
    (records.STORE / ".unfinished-a1").mkdir()
    (records.STORE / ".unfinished-a1/lock").write_text("")
    records.carry()
    records.take_over()
    assert records.doubt(lambda path: True) == []


@pytest.mark.parametrize("new", [True, False], ids=["pulled", "seen"])
def test_a_hostile_name_of_a_record_writes_nothing(project, new):
    make(project, FEATURE)
    records.carry()
    carrier = project / "features/toy" / records.CARRIER
    entries = json.loads(carrier.read_text())
    name = "QQ==/../../../profiles/default/config.yaml"
    entries[name] = {
        "record": {"endtime": 1.0, "snakefile": "results/evil.smk"},
        "sha256": "0" * 64,
    }
    stat = carrier.stat()
    carrier.write_text(json.dumps(entries))
    if not new:
        os.utime(carrier, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    before = sorted(project.rglob("*"))
    with pytest.raises(CrossmodalError, match=r"features/toy/\.records\.json: 'QQ=="):
        records.take_over()
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_not_read_for_its_checksum(project, kind):
    path = make(project, FEATURE)
    records.carry()
    path.unlink()
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(CrossmodalError, match=r"features/toy/bow\.h5: changed since it was made"):
        records.take_over()


def test_a_file_without_a_record_is_due_until_it_is_made_again(project):
    known, unknown = make(project, FEATURE), make(project, RUN)
    make(project, "results/note.txt")
    raw = make(project, "data/raw/toy/photos.zip")
    records.carry()
    for path in (unknown, raw, project / "results/note.txt"):
        stored(str(path.relative_to(project))).unlink()
    (project / "results/runs/.records.json").unlink()

    def doubted():
        return records.doubt({FEATURE, RUN, "data/raw/toy/photos.zip"}.__contains__)

    assert doubted() == [Path(RUN)]
    assert json.loads(stored(RUN).read_text())["params"] == [records.UNKNOWN]
    assert json.loads(stored(FEATURE).read_text())["params"] == ["a"]
    assert doubted() == []
    with pytest.raises(CrossmodalError, match=r"seed0\.json: no record says how it was made"):
        records.record_of(Path(RUN))
    make(project, RUN)
    assert records.record_of(Path(RUN)).params == ["a"]
    assert known.read_bytes() == b"made"


def test_no_rule_is_asked_whether_it_makes_the_records(project):
    make(project, FEATURE)
    records.carry()
    asked = []
    assert records.doubt(asked.append) == []
    assert asked == []


def test_a_file_that_a_killed_job_left_is_not_doubted(project):
    make(project, FEATURE)
    marker = records.UNFINISHED / stored(FEATURE).name
    marker.parent.mkdir(parents=True)
    stored(FEATURE).rename(marker)
    assert records.doubt(lambda path: True) == []


def test_record_beside_the_output_replaces_snakemakes(project):
    make(project, FEATURE)
    records.carry()
    move_to_another_machine()
    assert records.record_of(Path(FEATURE)).params == ["a"]
