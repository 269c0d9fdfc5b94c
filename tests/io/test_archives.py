import gc
import io
import stat
import tarfile
import zipfile

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io import archives
from crossmodal.io.archives import Archive

MEMBERS = {
    "set/lists/train.txt": "première\nzweite\n".encode(),
    "set/images/b.jpg": bytes(range(256)) * 20,
    "set/images/a.jpg": b"\xff\xd8 first",
    "set/lists/test.txt": b"",
}
MACOS = {
    "__MACOSX/set/images/a.jpg": b"\0\5",
    "set/images/._a.jpg": b"\0\5",
    "._set": b"\0\5",
    "set/Icon\r": b"",
}
KINDS = [".zip", ".ZIP", ".tar", ".tar.gz", ".tgz"]


def write(path, members):
    """An archive of the kind its name says; a member is (name, content) or a header."""
    pairs = members.items() if isinstance(members, dict) else members
    (write_zip if path.suffix.lower() == ".zip" else write_tar)(path, pairs)
    return path


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("set")
        for name, content in members:
            archive.writestr(name, content)


def write_tar(path, members):
    with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz") as archive:
        archive.addfile(header("set", tarfile.DIRTYPE))
        for name, content in members:
            if isinstance(name, tarfile.TarInfo):
                archive.addfile(name)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))


def header(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def failure(act):
    with pytest.raises(CrossmodalError) as caught:
        act()
    return str(caught.value)


def read_all(path):
    with Archive(path) as archive:
        return {name: archive.read(name) for name in archive.names}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path, kind):
    return write(tmp_path / f"set{kind}", MEMBERS | MACOS)


def test_files_come_in_archive_order_without_extras(path):
    with Archive(path) as archive:
        assert archive.names == list(MEMBERS)


def test_every_file_has_its_content_in_any_order(path):
    with Archive(path) as archive:
        for name in reversed(MEMBERS):
            assert archive.read(name) == MEMBERS[name]


def test_a_walk_gives_the_wanted_files_in_the_archives_order(path):
    wanted = ["set/images/a.jpg", "set/lists/train.txt"]
    with Archive(path) as archive:
        expected = [(name, MEMBERS[name]) for name in reversed(wanted)]
        assert list(archive.walk(wanted)) == expected
        assert list(archive.walk(set(wanted))) == expected


def test_a_walk_that_is_left_can_be_started_again(path):
    with Archive(path) as archive:
        assert next(archive.walk(MEMBERS))[0] == "set/lists/train.txt"
        assert dict(archive.walk(MEMBERS)) == MEMBERS
        assert archive.names == list(MEMBERS)


def test_a_walk_reads_the_archive_once_and_never_back(tmp_path, monkeypatch):
    path = write(tmp_path / "set.tar.gz", MEMBERS)
    rewound = []
    monkeypatch.setattr("gzip._GzipReader._rewind", lambda self: rewound.append(self))
    with Archive(path) as archive:
        before = len(rewound)
        assert dict(archive.walk(MEMBERS)) == MEMBERS
        assert len(rewound) == before


def test_a_walk_names_what_is_not_there_after_what_is(path):
    found = []
    with Archive(path) as archive:
        message = failure(lambda: found.extend(archive.walk(["set/c.jpg", "set/images/a.jpg"])))
    assert found == [("set/images/a.jpg", MEMBERS["set/images/a.jpg"])]
    assert message.startswith(f"{path}: set/c.jpg: not in the archive; ")


def test_text_is_found_wherever_it_lies(path):
    with Archive(path) as archive:
        assert archive.locate("train.txt") == "set/lists/train.txt"
        assert archive.locate("set/lists/train.txt") == "set/lists/train.txt"
        assert archive.text("train.txt") == "première\nzweite\n"
        assert archive.text("train.txt", "latin-1") == "premiÃ¨re\nzweite\n"
        for name in ("rain.txt", "set"):
            assert f"{path}: {name}: the archive holds 0 such" in failure(
                lambda name=name: archive.text(name)
            )


def test_a_name_that_several_files_have_is_refused(tmp_path, kind):
    path = write(tmp_path / f"set{kind}", {"a.txt": b"1", "set/a.txt": b"2"})
    with Archive(path) as archive:
        assert f"{path}: a.txt: the archive holds 2 such" in failure(lambda: archive.text("a.txt"))


def test_a_wrong_encoding_is_told(tmp_path, kind):
    path = write(tmp_path / f"set{kind}", {"set/a.txt": b"caf\xe9\n"})
    with Archive(path) as archive:
        message = failure(lambda: archive.text("a.txt"))
    assert message.startswith(f"{path}: set/a.txt: 'utf-8' codec can't decode byte 0xe9")


def test_a_file_that_is_not_there_is_named(path):
    with Archive(path) as archive:
        message = failure(lambda: archive.read("set/c.jpg"))
    assert message.startswith(f"{path}: set/c.jpg: not in the archive; ")


def test_a_missing_archive_is_named(tmp_path, kind):
    path = tmp_path / f"set{kind}"
    assert str(path) in failure(lambda: read_all(path))


@pytest.mark.parametrize("content", [b"", b"<html>Sorry</html>", b"<html>Sorry</html>" * 999])
def test_what_is_no_archive_is_refused(tmp_path, kind, content):
    path = tmp_path / f"set{kind}"
    path.write_bytes(content)
    assert failure(lambda: read_all(path)).startswith(f"{path}: ")


def test_cut_archive_is_refused_unless_only_padding_is_cut(path):
    content = path.read_bytes()
    ends = range(0, len(content), max(1, len(content) // 100))
    outcomes = [read_cut(path, content[:end]) for end in ends]
    refused = outcomes.count("refused")
    assert refused > len(outcomes) / 2
    assert outcomes == ["refused"] * refused + [MEMBERS] * (len(outcomes) - refused)


def read_cut(path, content):
    path.write_bytes(content)
    try:
        return read_all(path)
    except CrossmodalError as error:
        return "refused" if str(error).startswith(f"{path}: ") else str(error)


@pytest.mark.parametrize("name", ["../a", "set/../../a", "/etc/a", "..", "set\\..\\..\\a", "\\a"])
def test_a_path_out_of_the_archive_is_refused(tmp_path, kind, name):
    path = write(tmp_path / f"set{kind}", [("fine", b"1"), (name, b"2")])
    with Archive(path) as archive:
        assert f"{path}: {name}: the name leads out of its folder; " in failure(
            lambda: archive.names
        )
        assert f"{path}: {name}: the name leads out" in failure(lambda: list(archive.walk(["b"])))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_of_a_tar_are_refused(tmp_path, kind):
    path = write(tmp_path / "set.tar", [("a", b"1"), (header("b", kind, "/etc/passwd"), b"")])
    assert f"{path}: b: a link or a device, no file; " in failure(lambda: read_all(path))


def test_links_of_a_zip_are_refused(tmp_path):
    link = zipfile.ZipInfo("b")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    path = write(tmp_path / "set.zip", [("a", b"1"), (link, b"/etc/passwd")])
    assert f"{path}: b: a link or a device, no file; " in failure(lambda: read_all(path))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_there_twice_is_refused(tmp_path, kind):
    path = write(tmp_path / f"set{kind}", [("a", b"1"), ("a", b"2")])
    assert f"{path}: a: is in the archive twice; " in failure(lambda: read_all(path))


def test_a_file_too_large_is_refused_and_the_others_are_read(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(archives, "LIMIT", 1000)
    path = write(tmp_path / f"set{kind}", {"bomb": bytes(1001), "fine": bytes(1000)})
    with Archive(path) as archive:
        assert archive.read("fine") == bytes(1000)
        assert f"{path}: bomb: would take 1001 bytes" in failure(lambda: archive.read("bomb"))
        assert dict(archive.walk(["fine"])) == {"fine": bytes(1000)}


def test_a_zip_that_lies_about_a_size_is_refused(tmp_path):
    path = write(tmp_path / "set.zip", {"bomb": bytes(100_000)})
    declared = (100_000).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(declared, (10).to_bytes(4, "little")))
    assert f"{path}: bomb: " in failure(lambda: read_all(path))


def test_an_encrypted_file_is_refused(tmp_path):
    path = write(tmp_path / "set.zip", {"a": b"secret"})
    content = bytearray(path.read_bytes())
    directory = content.rindex(b"PK\x01\x02", 0, content.rindex(b"PK\x05\x06"))
    for flags in (content.index(b"a", 30) - 24, directory + 8):
        content[flags] |= 1
    path.write_bytes(content)
    assert "encrypted" in failure(lambda: read_all(path))


def test_a_tar_that_goes_round_in_circles_is_refused(tmp_path):
    path = write(tmp_path / "set.tar", {"a": b"1"})
    content = bytearray(path.read_bytes())
    start = 512  # the header of `a`, after that of the folder
    content[start + 124 : start + 136] = b"\xff" * 12  # a size of -1
    content[start + 148 : start + 156] = b" " * 8
    content[start + 148 : start + 156] = b"%06o\0 " % sum(content[start : start + 512])
    path.write_bytes(content)
    # newer versions of tarfile refuse it themselves
    own, of_tarfile = f"{path}: a: negative size; ", f"{path}: invalid offset; "
    assert failure(lambda: read_all(path)).startswith((own, of_tarfile))


def count_headers():
    return sum(issubclass(type(each), tarfile.TarInfo) for each in gc.get_objects())


def test_a_walk_keeps_no_headers(tmp_path):
    path = write(tmp_path / "set.tar", {f"set/{number}": b"" for number in range(500)})
    gc.collect()
    before = count_headers()  # of other tests
    with Archive(path) as archive:
        for _ in archive.walk(["set/400", "set/499"]):
            assert count_headers() - before < 50


def test_members_can_be_read_during_a_walk(path):
    with Archive(path) as archive:
        for name, content in archive.walk(MEMBERS):
            assert archive.read(name) == content == MEMBERS[name]
