import random

import pytest

from crossmodal.io import seals
from crossmodal.io.seals import is_whole, seal, sealing
from tests.test_fuzz import mutate


@pytest.fixture
def path(tmp_path):
    """A sealed file."""
    path = tmp_path / "part.npy"
    write(path, b"some bytes" * 9)
    return path


def write(path, content):
    with sealing(path) as temporary:
        temporary.write_bytes(content)


def test_a_sealed_file_is_whole(path, capsys):
    assert is_whole(path)
    write(path, b"other bytes")
    assert is_whole(path)
    assert path.read_bytes() == b"other bytes"
    assert capsys.readouterr().err == ""


def test_a_file_that_was_never_sealed_is_unfinished(tmp_path, capsys):
    path = tmp_path / "part.npy"
    path.write_bytes(b"half")
    assert not is_whole(path)
    assert capsys.readouterr().err == ""
    seal(path)
    assert is_whole(path)


@pytest.mark.parametrize("case", range(40))
def test_any_other_content_is_set_aside_and_named(path, capsys, case):
    changed = mutate(path.read_bytes(), random.Random(case))
    if changed == path.read_bytes():
        pytest.skip("nothing changed")
    path.write_bytes(changed)
    assert not is_whole(path)
    assert f"{path}: damaged, and set aside as part.npy.damaged" in capsys.readouterr().err
    assert path.with_name("part.npy.damaged").read_bytes() == changed
    assert not is_whole(path)
    write(path, b"again")
    assert is_whole(path)


@pytest.mark.parametrize("content", [b"", b"\xff", b"0" * 64])
def test_a_damaged_seal_counts_as_damage(path, capsys, content):
    path.with_name("part.npy.sha256").write_bytes(content)
    assert not is_whole(path)
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("kills", [1, 3])
def test_a_kill_before_the_rename_keeps_the_file_before(path, monkeypatch, kills):
    before, write_text = path.read_bytes(), seals.write_text

    def killed(path, text):
        write_text(path, text)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(seals, "write_text", killed)
        for kill in range(kills):
            with pytest.raises(KeyboardInterrupt):
                write(path, bytes([kill]))
    assert is_whole(path)
    assert path.read_bytes() == before
