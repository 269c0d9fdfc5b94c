import errno
import gzip
import hashlib
import io
import json
import re
import socket
import tarfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from crossmodal.data.dataset import Source
from crossmodal.data.fetching import ARCHIVES, MIRROR
from crossmodal.errors import CrossmodalError
from crossmodal.steps.download import download

CONTENT = b"MATLAB 5.0 MAT-file, published features " * 500
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HELP = "Ask its authors."
PAGE = b"\r\n<!DOCTYPE html><html><title>Sign in</title></html>"


@pytest.fixture(autouse=True)
def archives(waits, tmp_path, monkeypatch):
    """Folder of unfinished downloads; nothing waits between attempts."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / ARCHIVES


@pytest.fixture
def closed_url(monkeypatch):
    """An address where nobody answers."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"http://127.0.0.1:{closed.getsockname()[1]}"


@pytest.fixture
def publish(monkeypatch):
    """Make `toy` a dataset with one file, `a.mat`, at the given addresses."""
    monkeypatch.delenv(MIRROR, raising=False)

    def publish(*urls, file="a.mat", **facts):
        source = Source(file, urls, help=HELP, **facts)
        toy = SimpleNamespace(sources=(source, Source("other.mat")))
        monkeypatch.setattr("crossmodal.config.plugins.load", lambda kind, name: toy)

    return publish


@pytest.fixture
def output(tmp_path):
    return tmp_path / "data" / "raw" / "toy" / "a.mat"


def failure(output):
    """The message of a download that fails, which must leave nothing behind."""
    with pytest.raises(CrossmodalError) as caught:
        download("toy", output)
    assert list(output.parent.glob("*")) == []
    return str(caught.value)


def cut(content, length):
    """An answer that ends before all that it announced has come."""
    return lambda handler: handler.answer(content[:length], Content_Length=len(content))


def archive(**members):
    """A zip archive; a member's name has `__` for a slash."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name.replace("__", "/").replace("_mat", ".mat"), content)
    return stream.getvalue()


def test_a_published_file_is_fetched(server, publish, output):
    server.files["/a.mat"] = CONTENT
    publish(f"{server.url}/a.mat", sha256=SHA256, bytes=len(CONTENT))
    download("toy", output)
    assert {p.name: p.read_bytes() for p in output.parent.iterdir()} == {"a.mat": CONTENT}


def test_a_file_that_came_is_not_fetched_from_the_next_address(server, publish, output):
    server.files |= {"/first/a.mat": CONTENT, "/second/a.mat": b"a page that says good bye"}
    publish(f"{server.url}/first/a.mat", f"{server.url}/second/a.mat")
    download("toy", output)
    assert server.requested == ["/first/a.mat"]
    assert output.read_bytes() == CONTENT


def test_the_second_address_is_tried_when_the_first_fails(server, publish, output):
    server.files["/second/a.mat"] = CONTENT
    publish(f"{server.url}/first/a.mat", f"{server.url}/second/a.mat", sha256=SHA256)
    download("toy", output)
    assert server.requested == ["/first/a.mat", "/second/a.mat"]
    assert output.read_bytes() == CONTENT


def test_second_address_is_tried_after_another_file(server, publish, output):
    server.files |= {"/first/a.mat": b"a page that says good bye", "/second/a.mat": CONTENT}
    publish(f"{server.url}/first/a.mat", f"{server.url}/second/a.mat", sha256=SHA256)
    download("toy", output)
    assert output.read_bytes() == CONTENT


def test_every_address_that_failed_is_named_with_what_to_do(server, publish, output):
    publish(f"{server.url}/first/a.mat", f"{server.url}/second/a.mat")
    found = failure(output)
    assert found.count("404 Not Found") == 2
    for fragment in ("/first/a.mat", "/second/a.mat", HELP, str(output), MIRROR, "<mirror>/toy"):
        assert fragment in found


def test_files_without_address_are_listed_with_the_remedy(monkeypatch, output):
    asked = Source("a.mat", help="Sign the form at https://example.org/form.", bytes=2_500_000)
    sources = (
        asked,
        Source("b.mat", help="Sign the form at https://example.org/form."),
        Source("c.mat", ("http://127.0.0.1:1/c.mat",)),
        Source("d.mat", help="It is in the b.zip of the same page."),
    )
    monkeypatch.setattr(
        "crossmodal.config.plugins.load", lambda *_: SimpleNamespace(sources=sources)
    )
    monkeypatch.delenv(MIRROR, raising=False)
    output.parent.mkdir(parents=True)
    output.with_name("d.mat").touch()
    with pytest.raises(CrossmodalError) as caught:
        download("toy", output)
    assert str(caught.value).splitlines() == [
        f"{output}: could not be fetched.",
        f"Put into {output.parent}, or into <mirror>/toy with {MIRROR} naming <mirror>:",
        "  a.mat (2.5 MB): Sign the form at https://example.org/form.",
        "  b.mat: Sign the form at https://example.org/form.",
    ]


@pytest.mark.parametrize(
    ("facts", "fragment"),
    [({"sha256": "0" * 64}, f"checksum is {SHA256}, published is 000"), ({"bytes": 5}, "5 are")],
)
def test_a_file_other_than_the_published_is_refused(server, publish, output, facts, fragment):
    server.files["/a.mat"] = CONTENT
    publish(f"{server.url}/a.mat", **facts)
    assert fragment in failure(output)


def test_a_file_truncated_on_its_way_is_refused(server, publish, output):
    server.files["/a.mat"] = cut(CONTENT, 700)
    publish(f"{server.url}/a.mat")
    assert f"{server.url}/a.mat: " in failure(output)


def test_a_host_that_does_not_answer_is_named(publish, output, closed_url):
    publish(f"{closed_url}/a.mat")
    assert f"{closed_url}/a.mat: " in failure(output)


def test_an_unknown_file_lists_the_known_ones(publish, output):
    publish()
    with pytest.raises(CrossmodalError, match=r"toy: no file 'b\.mat'; it has: a\.mat, other\.mat"):
        download("toy", output.with_name("b.mat"))


def test_a_member_is_taken_out_of_an_archive(server, publish, output):
    server.files["/all.zip"] = archive(top__a_mat=CONTENT, top__ba_mat=b"another", readme=b"")
    publish(f"{server.url}/all.zip#a.mat", sha256=SHA256)
    download("toy", output)
    assert {p.name: p.read_bytes() for p in output.parent.iterdir()} == {"a.mat": CONTENT}


def test_several_members_at_once_fetch_the_archive_once(server, monkeypatch, output):
    names = [f"part{number}" for number in range(4)]
    server.files["/all.zip"] = archive(**{name: name.encode() for name in names})
    sources = tuple(Source(name, (f"{server.url}/all.zip#{name}",)) for name in names)
    toy = SimpleNamespace(sources=sources)
    monkeypatch.setattr("crossmodal.config.plugins.load", lambda kind, name: toy)
    monkeypatch.delenv(MIRROR, raising=False)
    threads = [
        threading.Thread(target=download, args=["toy", output.with_name(name)]) for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [output.with_name(name).read_bytes() for name in names] == [n.encode() for n in names]
    assert server.requested == ["/all.zip"]


@pytest.mark.parametrize(("members", "count"), [(["b_mat"], 0), (["x__a_mat", "y__a_mat"], 2)])
def test_an_archive_needs_exactly_one_such_member(server, publish, output, members, count):
    server.files["/all.zip"] = archive(**dict.fromkeys(members, b"content"))
    publish(f"{server.url}/all.zip#a.mat")
    assert f"all.zip: a.mat: the archive holds {count} such files, need one" in failure(output)


def corrupt_archive():
    """An archive whose directory is intact and whose one member is not."""
    content = bytearray(archive(a_mat=CONTENT))
    content[45] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    "wrong",
    [b"a page that says good bye", corrupt_archive(), archive(a_mat=b"older")],
    ids=["no archive", "corrupt archive", "another archive"],
)
def test_wrong_archive_is_refused_then_fetched_afresh(server, publish, output, wrong):
    publish(f"{server.url}/all.zip#a.mat", sha256=SHA256)
    server.files["/all.zip"] = wrong
    assert f"{server.url}/all.zip#a.mat: " in failure(output)
    server.files["/all.zip"] = archive(a_mat=CONTENT)
    download("toy", output)
    assert output.read_bytes() == CONTENT


def test_truncated_archive_is_fetched_again(server, publish, output):
    whole = archive(a_mat=CONTENT)
    publish(f"{server.url}/all.zip#a.mat", sha256=SHA256)
    server.files["/all.zip"] = cut(whole, 40)
    failure(output)
    server.files["/all.zip"] = whole
    download("toy", output)
    assert output.read_bytes() == CONTENT


def tarred(**members):
    """As `archive`, a .tar.gz."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as opened:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            opened.addfile(info, io.BytesIO(content))
    return stream.getvalue()


# what a host may send in place of the file: a page, nothing, a part of it that looks complete
WRONG = {
    "a.mat": [PAGE, b"", b"Not found"],
    "a.txt": [PAGE, b""],
    "a.gz": [PAGE, b"", b"Not found"],
    "a.zip": [PAGE, b"", b"Not found", archive(a=CONTENT)[:-9]],
    "a.tar.gz": [PAGE, b"", b"Not found", tarred(a=CONTENT)[:-40]],
    "a.tgz": [PAGE, b"", tarred(a=CONTENT)[:-40]],
    "a.tar": [PAGE, b"", gzip.decompress(tarred(a=CONTENT))[:9000]],
}
RIGHT = {
    "a.mat": CONTENT,
    "a.txt": b"1\n",
    "a.gz": gzip.compress(b""),
    "a.zip": archive(a=CONTENT),
    "a.tar.gz": tarred(a=CONTENT),
    "a.tgz": tarred(a=CONTENT),
    "a.tar": gzip.decompress(tarred(a=CONTENT)),
}


@pytest.mark.parametrize(
    ("file", "wrong"), [(file, wrong) for file, wrongs in WRONG.items() for wrong in wrongs]
)
def test_what_is_not_the_file_is_recognised_without_a_checksum(
    server, publish, output, archives, file, wrong
):
    output = output.with_name(file)
    server.files |= {"/first": wrong, "/second?download=1": RIGHT[file]}
    publish(f"{server.url}/first", file=file)
    assert f"{server.url}/first: " in failure(output)
    publish(f"{server.url}/first", f"{server.url}/second?download=1", file=file)
    download("toy", output)
    assert output.read_bytes() == RIGHT[file]
    assert list(archives.iterdir()) == []


def test_short_content_length_is_caught_by_the_checksum(server, publish, output):
    server.files["/a.mat"] = lambda handler: handler.answer(CONTENT, Content_Length=700)
    publish(f"{server.url}/a.mat", sha256=SHA256)
    assert "checksum is" in failure(output)
    publish(f"{server.url}/a.mat", bytes=len(CONTENT))
    assert f"700 bytes were received, {len(CONTENT)} are published" in failure(output)


def test_the_next_run_resumes_where_this_one_stopped(server, publish, output, archives):
    def drop(handler):
        if handler.headers["Range"]:
            handler.send_error(503)
        else:
            handler.answer(CONTENT[:9000], Content_Length=len(CONTENT), ETag='"1"')

    def go_on(handler):
        assert handler.headers["Range"] == "bytes=9000-"
        span = f"bytes 9000-{len(CONTENT) - 1}/{len(CONTENT)}"
        handler.answer(CONTENT[9000:], 206, Content_Range=span)

    publish(f"{server.url}/a.mat", sha256=SHA256)
    server.files["/a.mat"] = drop
    failure(output)
    server.files["/a.mat"] = go_on
    download("toy", output)
    assert output.read_bytes() == CONTENT
    assert list(archives.iterdir()) == []


def test_files_of_a_failed_address_are_removed(server, publish, output, archives):
    server.files |= {"/first/a.mat": cut(CONTENT, 700), "/second/a.mat": CONTENT}
    publish(f"{server.url}/first/a.mat", f"{server.url}/second/a.mat")
    download("toy", output)
    assert output.read_bytes() == CONTENT
    assert list(archives.iterdir()) == []


def test_an_archive_is_kept_until_all_its_members_have_come(server, monkeypatch, output, archives):
    names = ["one", "two", "three"]
    server.files["/all.zip"] = archive(**{name: name.encode() for name in names})
    sources = tuple(Source(name, (f"{server.url}/all.zip#{name}",)) for name in names)
    monkeypatch.setattr(
        "crossmodal.config.plugins.load", lambda kind, name: SimpleNamespace(sources=sources)
    )
    monkeypatch.delenv(MIRROR, raising=False)
    kept = []
    for name in names:
        download("toy", output.with_name(name))
        kept.append(len(list(archives.iterdir())))
    assert kept == [1, 1, 0]
    assert server.requested == ["/all.zip"]


def test_a_full_disk_is_told_and_no_other_address_is_tried(server, publish, output, monkeypatch):
    def fill(part, chunks):
        raise OSError(errno.ENOSPC, "No space left on device")

    server.files |= {"/first/a.mat": CONTENT, "/second/a.mat": CONTENT}
    publish(f"{server.url}/first/a.mat", f"{server.url}/second/a.mat")
    monkeypatch.setattr("crossmodal.io.downloads._Part.append", fill)
    found = failure(output)
    for fragment in (str(output), "No space left on device", "Free space", str(ARCHIVES)):
        assert fragment in found
    assert server.requested == ["/first/a.mat"]


def test_a_mirror_folder_answers_for_its_own_files(server, publish, output, tmp_path, monkeypatch):
    publish(f"{server.url}/a.mat", sha256=SHA256)
    mirrored = tmp_path / "mirror" / "toy" / "a.mat"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(b"MATLAB 5.0, squashed")
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    download("toy", output)
    assert output.read_bytes() == b"MATLAB 5.0, squashed"
    assert output.samefile(mirrored)
    assert server.requested == []
    output.unlink()
    assert mirrored.exists()


def test_a_file_may_lie_in_another_folder_of_a_mirror(publish, output, tmp_path, monkeypatch):
    publish(folder="other")
    mirrored = tmp_path / "mirror" / "other" / "a.mat"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(CONTENT)
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    download("toy", output)
    assert output.samefile(mirrored)
    mirrored.unlink()
    output.unlink()
    found = failure(output)
    for fragment in (f"{mirrored}: not in the mirror", f"a.mat (in a mirror: other/): {HELP}"):
        assert fragment in found


def test_a_page_that_is_the_file_is_kept(server, publish, output):
    output = output.with_name("index.html")
    server.files["/site/"] = PAGE
    publish(f"{server.url}/site/", file="index.html")
    download("toy", output)
    assert output.read_bytes() == PAGE


IMAGES = {"bird/1 a.jpg": b"first", "cat/2.jpg": b"second"}


def publish_images(server, publish):
    """Publish a page with images, some of other sites, as the source of `a.zip`."""
    addresses = ["bird/1%20a.jpg", f"{server.url}/site/cat/2.jpg", "cat/2.jpg"]
    others = ["/logo.jpg", "../up.jpg", "https://example.org/3.jpg", "plot.png"]
    shown = "".join(f'<img src="{address}">' for address in [*others, *addresses])
    server.files["/site/"] = f"<html>{shown}</html>".encode()
    server.files |= {f"/site/{name.replace(' ', '%20')}": c for name, c in IMAGES.items()}
    publish(f"{server.url}/site/", file="a.zip", of_page=True)


def test_images_of_a_page_are_packed(server, publish, output, archives):
    output = output.with_name("a.zip")
    publish_images(server, publish)
    download("toy", output)
    with zipfile.ZipFile(output) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == IMAGES
    content = output.read_bytes()
    output.unlink()
    download("toy", output)
    assert output.read_bytes() == content
    assert [*archives.glob("*")] == []


def test_images_of_a_page_resume_after_a_failure(server, publish, output):
    output = output.with_name("a.zip")
    publish_images(server, publish)
    del server.files["/site/cat/2.jpg"]
    assert "/site/: cat/2.jpg: " in failure(output)
    server.files |= {"/site/cat/2.jpg": b"second"}
    server.requested.clear()
    download("toy", output)
    assert [path for path in map(str, server.requested) if "1%20a" in path] == []


def test_a_page_without_images_is_named(server, publish, output):
    server.files["/site/"] = PAGE
    publish(f"{server.url}/site/", file="a.zip", of_page=True)
    assert "/site/: shows no images" in failure(output.with_name("a.zip"))


def test_a_mirror_on_another_file_system_is_copied(publish, output, tmp_path, monkeypatch):
    def refuse(*paths):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    publish()
    mirrored = tmp_path / "mirror" / "toy" / "a.mat"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(CONTENT)
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    monkeypatch.setattr("crossmodal.data.fetching.os.link", refuse)
    download("toy", output)
    assert output.read_bytes() == CONTENT
    assert not output.samefile(mirrored)


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mirror_may_be_an_address(server, publish, output, monkeypatch, slash):
    server.files["/mirror/toy/a.mat"] = b"MATLAB 5.0, squashed"
    publish("http://127.0.0.1:1/a.mat", sha256=SHA256)
    monkeypatch.setenv(MIRROR, f"{server.url}/mirror{slash}")
    download("toy", output)
    assert output.read_bytes() == b"MATLAB 5.0, squashed"


def test_a_file_that_a_mirror_folder_lacks_is_named(publish, output, tmp_path, monkeypatch):
    publish()
    monkeypatch.setenv(MIRROR, str(tmp_path))
    found = failure(output)
    assert str(tmp_path / "toy" / "a.mat") in found
    assert MIRROR in found


def test_a_file_that_a_mirror_address_lacks_is_named(server, publish, output, monkeypatch):
    publish()
    monkeypatch.setenv(MIRROR, server.url)
    assert f"{server.url}/toy/a.mat" in failure(output)


@pytest.mark.parametrize("address", [False, True])
def test_what_a_mirror_lacks_comes_from_its_host(
    server, publish, output, tmp_path, monkeypatch, capsys, address
):
    server.files["/a.mat"] = CONTENT
    publish(f"{server.url}/a.mat", sha256=SHA256)
    mirror = f"{server.url}/mirror" if address else str(tmp_path / "mirror")
    monkeypatch.setenv(MIRROR, mirror)
    download("toy", output)
    assert output.read_bytes() == CONTENT
    assert f"{mirror}/toy/a.mat: " in capsys.readouterr().err


def test_file_in_neither_place_is_named_with_both(server, publish, output, tmp_path, monkeypatch):
    publish(f"{server.url}/a.mat")
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    found = failure(output)
    for place in (f"{tmp_path / 'mirror/toy/a.mat'}: not in the mirror", f"{server.url}/a.mat"):
        assert place in found


def test_without_a_published_checksum_the_first_download_counts(publish, server, output):
    publish(f"{server.url}/a.mat")
    server.files["/a.mat"] = CONTENT
    download("toy", output)
    assert json.loads(Path("checksums.json").read_text()) == {"toy/a.mat": SHA256}
    output.unlink()
    server.files["/a.mat"] = CONTENT + b"changed"
    message = failure(output)
    for fragment in ("toy/a.mat: SHA-256 is", SHA256, "checksums.json", "delete that line"):
        assert fragment in message
    server.files["/a.mat"] = CONTENT
    download("toy", output)
    assert output.read_bytes() == CONTENT


@pytest.mark.parametrize("record", ["[]", '{"toy/a.mat": {}}', "<<<<<<< HEAD\n{}"])
def test_a_damaged_record_of_checksums_is_named_and_kept(publish, server, output, record):
    publish(f"{server.url}/a.mat")
    server.files["/a.mat"] = CONTENT
    Path("checksums.json").write_text(record)
    remedy = r"checksums\.json( has conflict marks: see|: .*check it out again)"
    assert re.match(remedy, failure(output))
    assert (Path("checksums.json").read_text(), output.exists()) == (record, False)


def test_a_mirror_must_have_the_file_of_the_first_download(publish, output, tmp_path, monkeypatch):
    publish()
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    (tmp_path / "mirror/toy").mkdir(parents=True)
    (tmp_path / "mirror/toy/a.mat").write_bytes(CONTENT)
    Path("checksums.json").write_text(json.dumps({"toy/a.mat": "0" * 64}))
    assert f"toy/a.mat: SHA-256 is {SHA256}" in failure(output)


def test_a_published_checksum_needs_no_record(publish, server, output):
    publish(f"{server.url}/a.mat", sha256=SHA256)
    server.files["/a.mat"] = CONTENT
    download("toy", output)
    assert not Path("checksums.json").exists()
