import json
from types import SimpleNamespace

import pytest

from crossmodal.commands import clean
from crossmodal.data.dataset import Source
from crossmodal.data.fetching import MIRROR
from crossmodal.data.prepared import PREPARED
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.workflow import records

OPEN = Source("open.zip", ("https://example.org/open.zip",))
FORM = Source("form.zip", help="Sign the form.")


@pytest.fixture
def raw(tmp_path, monkeypatch):
    """Folder of the published files of `photos`, which is prepared, and of `drawings`, which is
    not.
    """
    monkeypatch.delenv(MIRROR, raising=False)
    toy = SimpleNamespace(sources=(OPEN, FORM), counts=lambda: {"train": 2})
    params = SimpleNamespace(
        usable=lambda kind: {"photos": toy, "drawings": toy},
        dataset_of=lambda name: toy,
        plugin=lambda kind, name: {"plugin": "toy"},
        mirror=None,
    )
    monkeypatch.setattr(clean, "read", lambda *paths: params)
    raw = tmp_path / "data/raw/toy"
    raw.mkdir(parents=True)
    for source in (OPEN, FORM):
        (raw / source.file).write_bytes(bytes(1000))
    with Writer(PREPARED / "photos") as out:
        for number in range(2):
            out.item(f"{number}", "train")
            out.caption(f"{number}", f"{number}", "a text")
    for file in PREPARED.rglob("*.*"):
        stored = records.STORE / records.name_of(file)
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps({"params": ["known"], "endtime": file.stat().st_mtime}))
    records.carry()
    return raw


def test_clean_keeps_files_that_cannot_come_back(raw, capsys):
    clean.clean_raw("photos", "params.yaml")
    assert [path.name for path in raw.iterdir()] == ["form.zip"]
    printed = capsys.readouterr().out
    assert "form.zip: not removed" in printed
    assert "1.0 kB removed" in printed
    assert "drawings: needs the same files" in printed
    clean.clean_raw("photos", "params.yaml")
    assert "0 bytes removed" in capsys.readouterr().out


def test_files_that_a_mirror_has_go_too(raw, tmp_path, monkeypatch):
    mirrored = tmp_path / "mirror/toy/form.zip"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(bytes(1000))
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    clean.clean_raw("photos", "params.yaml")
    assert [*raw.iterdir()] == []
    assert mirrored.exists()


def remove(file):
    file.unlink()


def change(file):
    file.write_text(file.read_text() + " ")


def forget(file):
    (file.parent / records.CARRIER).unlink()
    (records.STORE / records.name_of(file)).unlink()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (remove, "photos: not prepared yet; run crossmodal run"),
        (change, "captions.csv: changed since it was made"),
        (forget, "captions.csv: no record says how it was made"),
    ],
)
def test_nothing_goes_where_the_prepared_files_are_not_sound(raw, spoil, message):
    spoil(PREPARED / "photos" / "captions.csv")
    with pytest.raises(CrossmodalError, match=message):
        clean.clean_raw("photos", "params.yaml")
    assert len([*raw.iterdir()]) == 2


def test_clean_refuses_a_split_of_undeclared_size(raw, monkeypatch):
    params = clean.read()
    monkeypatch.setattr(params.dataset_of("photos"), "counts", lambda: {"train": 3})
    with pytest.raises(CrossmodalError, match=r"has 2 items.*nothing was removed"):
        clean.clean_raw("photos", "params.yaml")
    assert len([*raw.iterdir()]) == 2


def test_an_unknown_dataset_is_refused_with_similar_ones(raw):
    with pytest.raises(CrossmodalError, match="photo"):
        clean.clean_raw("photo", "params.yaml")
