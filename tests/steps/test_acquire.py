import hashlib
import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from crossmodal.datasets.base import Source
from crossmodal.errors import CrossmodalError
from crossmodal.steps.acquire import MIRROR, download, fetch_weights

CONTENT = b"published features " * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HELP = "Ask its authors."


class Handler(BaseHTTPRequestHandler):
    """Answers from `server.files`: path -> content, or content and the length it claims."""

    def do_GET(self):
        self.server.requested.append(self.path)
        found = self.server.files.get(self.path)
        if found is None:
            self.send_error(404)
            return
        content, length = found if isinstance(found, tuple) else (found, len(found))
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Keep the test's output clean."""


@pytest.fixture
def server(monkeypatch):
    """A host on the loopback interface; `files` is what it publishes, `url` where."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.requested = {}, []
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def closed_url(server):
    """An address where nobody answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_port
    return f"http://127.0.0.1:{port}"


@pytest.fixture
def publish(monkeypatch):
    """Make `toy` a dataset with one file, `a.mat`, at the given addresses."""
    monkeypatch.delenv(MIRROR, raising=False)

    def publish(*urls, **facts):
        source = Source("a.mat", urls, help=HELP, **facts)
        toy = SimpleNamespace(sources=(source, Source("other.mat")))
        monkeypatch.setattr("crossmodal.plugins.load", lambda kind, name: toy)

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


def test_the_second_address_is_tried_when_the_first_has_another_file(server, publish, output):
    server.files |= {"/first/a.mat": b"a page that says good bye", "/second/a.mat": CONTENT}
    publish(f"{server.url}/first/a.mat", f"{server.url}/second/a.mat", sha256=SHA256)
    download("toy", output)
    assert output.read_bytes() == CONTENT


def test_every_address_that_failed_is_named_with_what_to_do(server, publish, output):
    publish(f"{server.url}/first/a.mat", f"{server.url}/second/a.mat")
    found = failure(output)
    assert found.count("404") == 2
    for fragment in ("/first/a.mat", "/second/a.mat", HELP, str(output), MIRROR, "toy/a.mat"):
        assert fragment in found


def test_a_file_without_an_address_says_what_to_do(publish, output):
    publish()
    found = failure(output)
    assert HELP in found
    assert str(output) in found


@pytest.mark.parametrize(
    ("facts", "fragment"),
    [({"sha256": "0" * 64}, f"checksum is {SHA256}, published is 000"), ({"bytes": 5}, "5 are")],
)
def test_a_file_other_than_the_published_is_refused(server, publish, output, facts, fragment):
    server.files["/a.mat"] = CONTENT
    publish(f"{server.url}/a.mat", **facts)
    assert fragment in failure(output)


def test_a_file_cut_short_on_its_way_is_refused(server, publish, output):
    server.files["/a.mat"] = (CONTENT[:700], len(CONTENT))
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
    monkeypatch.setattr("crossmodal.plugins.load", lambda kind, name: toy)
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


def damaged_archive():
    """An archive whose directory is whole and whose one member is not."""
    content = bytearray(archive(a_mat=CONTENT))
    content[45] ^= 0xFF
    return bytes(content)


@pytest.mark.parametrize(
    "wrong",
    [b"a page that says good bye", damaged_archive(), archive(a_mat=b"older")],
    ids=["no archive", "damaged archive", "another archive"],
)
def test_a_wrong_archive_is_refused_and_fetched_afresh_the_next_time(
    server, publish, output, wrong
):
    publish(f"{server.url}/all.zip#a.mat", sha256=SHA256)
    server.files["/all.zip"] = wrong
    assert f"{server.url}/all.zip#a.mat: " in failure(output)
    server.files["/all.zip"] = archive(a_mat=CONTENT)
    download("toy", output)
    assert output.read_bytes() == CONTENT


def test_an_archive_cut_short_on_its_way_is_fetched_afresh_the_next_time(server, publish, output):
    whole = archive(a_mat=CONTENT)
    publish(f"{server.url}/all.zip#a.mat", sha256=SHA256)
    server.files["/all.zip"] = (whole[:40], len(whole))
    failure(output)
    server.files["/all.zip"] = whole
    download("toy", output)
    assert output.read_bytes() == CONTENT


def test_a_mirror_folder_answers_for_its_own_files(server, publish, output, tmp_path, monkeypatch):
    publish(f"{server.url}/a.mat", sha256=SHA256)
    mirrored = tmp_path / "mirror" / "toy" / "a.mat"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(b"squashed")
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    download("toy", output)
    assert output.read_bytes() == b"squashed"
    assert server.requested == []


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mirror_may_be_an_address(server, publish, output, monkeypatch, slash):
    server.files["/mirror/toy/a.mat"] = b"squashed"
    publish("http://127.0.0.1:1/a.mat", sha256=SHA256)
    monkeypatch.setenv(MIRROR, f"{server.url}/mirror{slash}")
    download("toy", output)
    assert output.read_bytes() == b"squashed"


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


def test_weights_come_from_a_mirror(tmp_path, monkeypatch):
    (tmp_path / "mirror" / "weights").mkdir(parents=True)
    (tmp_path / "mirror" / "weights" / "mine.safetensors").write_bytes(b"weights")
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    fetch_weights(tmp_path / "raw" / "mine.safetensors")
    assert (tmp_path / "raw" / "mine.safetensors").read_bytes() == b"weights"
    with pytest.raises(CrossmodalError, match=r"weights/other\.safetensors: not in the mirror"):
        fetch_weights(tmp_path / "raw" / "other.safetensors")


def test_unknown_weights_list_the_official_ones(tmp_path, monkeypatch):
    monkeypatch.delenv(MIRROR, raising=False)
    with pytest.raises(CrossmodalError, match=r"mine\.safetensors: no such weights.* vgg19-"):
        fetch_weights(tmp_path / "mine.safetensors")


def test_official_weights_are_converted_from_their_address(tmp_path, monkeypatch):
    from crossmodal import backbones

    monkeypatch.delenv(MIRROR, raising=False)
    asked = []
    monkeypatch.setattr(backbones, "convert", lambda url, output: asked.append((url, output)))
    url, file = backbones.official_weights("vgg19")
    fetch_weights(tmp_path / file)
    assert asked == [(url, tmp_path / file)]
