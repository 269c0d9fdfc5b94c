import errno
import gzip
import io
import json
import random
import re
import socket
from email.utils import formatdate

import pytest
import requests

from crossmodal.errors import CrossmodalError
from crossmodal.io import downloads
from crossmodal.io.downloads import ATTEMPTS, LONGEST_WAIT, fetch

CONTENT = random.Random(0).randbytes(200_000)
OTHER = random.Random(1).randbytes(180_000)


pytestmark = pytest.mark.usefixtures("waits")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "parts" / "all.bin"


class Host:
    """Publishes a file in one of the ways that hosts have; `sent` bytes of it per connection."""

    def __init__(self, content=CONTENT, sent=10**9, ranges=True, etag='"1"', **headers):
        self.content, self.sent, self.ranges = content, sent, ranges
        self.headers = headers | {"ETag": etag}
        self.asked = []

    def __call__(self, handler):
        asked = handler.headers["Range"]
        self.asked.append(asked)
        start = int(asked[6:-1]) if asked and self.honours(handler.headers) else 0
        if start >= len(self.content):
            handler.answer(b"", 416, Content_Range=f"bytes */{len(self.content)}")
            return
        headers = {"Content_Length": len(self.content) - start} | self.headers
        if start:
            end = len(self.content) - 1
            headers["Content_Range"] = f"bytes {start}-{end}/{len(self.content)}"
        content = self.content[start : start + self.sent]
        handler.answer(content, 206 if start else 200, **headers)

    def honours(self, headers):
        return self.ranges and headers["If-Range"] in (
            self.headers["ETag"],
            self.headers.get("Last_Modified"),
        )


def failure(server, path):
    with pytest.raises(CrossmodalError) as caught:
        fetch(f"{server.url}/all", path)
    assert not path.exists()
    return str(caught.value)


def only_file(path):
    """Content of the one file in a folder, which must be `path`."""
    assert list(path.parent.iterdir()) == [path]
    return path.read_bytes()


def test_a_file_is_fetched_and_nothing_is_left_beside_it(server, path, waits):
    server.files["/all"] = CONTENT
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT
    assert waits == []


def test_an_empty_file_is_fetched(server, path):
    server.files["/all"] = b""
    fetch(f"{server.url}/all", path)
    assert only_file(path) == b""


@pytest.mark.parametrize(
    "headers",
    [{}, {"etag": None, "Last_Modified": "x"}, {"etag": 'W/"1"', "Last_Modified": "x"}],
    ids=["etag", "date", "weak etag and date"],
)
def test_a_dropped_connection_resumes_where_it_stopped(server, path, headers):
    server.files["/all"] = host = Host(sent=70_000, **headers)
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT
    assert host.asked == [None, "bytes=70000-", "bytes=140000-"]


def test_a_connection_may_drop_often_if_each_time_more_has_come(server, path, waits):
    server.files["/all"] = host = Host(sent=10_000)
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT
    assert len(host.asked) == 20 > ATTEMPTS
    assert set(waits) == {1.0}


def test_a_later_run_resumes_where_an_earlier_one_stopped(server, path):
    server.files["/all"] = lambda handler: handler.answer(
        CONTENT[:50_000], Content_Length=len(CONTENT), ETag='"1"'
    )
    failure(server, path)
    server.files["/all"] = host = Host()
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT
    assert host.asked == ["bytes=50000-"]


def test_run_killed_before_the_last_step_requests_nothing(server, path):
    path.parent.mkdir()
    path.with_name("all.bin.part").write_bytes(CONTENT)
    facts = {"validator": '"1"', "total": len(CONTENT), "received": len(CONTENT)}
    path.with_name("all.bin.json").write_text(json.dumps(facts))
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT
    assert server.requested == []


def test_what_a_power_cut_may_have_lost_is_fetched_again(server, path):
    path.parent.mkdir()
    path.with_name("all.bin.part").write_bytes(CONTENT[:50_000] + bytes(30_000))
    facts = {"validator": '"1"', "total": len(CONTENT), "received": 50_000}
    path.with_name("all.bin.json").write_text(json.dumps(facts))
    server.files["/all"] = host = Host()
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT
    assert host.asked == ["bytes=50000-"]


@pytest.mark.parametrize("facts", [None, "", "{"])
def test_a_part_of_which_nothing_is_known_is_fetched_again(server, path, facts):
    path.parent.mkdir()
    path.with_name("all.bin.part").write_bytes(OTHER)
    if facts is not None:
        path.with_name("all.bin.json").write_text(facts)
    server.files["/all"] = host = Host()
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT
    assert host.asked == [None]


def test_a_file_that_changed_meanwhile_is_fetched_afresh(server, path):
    first, second = Host(OTHER, sent=70_000, etag='"0"'), Host()
    hosts = iter([first, second])
    server.files["/all"] = lambda handler: next(hosts)(handler)
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT
    assert second.asked == ["bytes=70000-"]


@pytest.mark.parametrize("missing", [{"etag": None}, {"etag": 'W/"1"'}, {"ranges": False}])
def test_without_ranges_or_a_validator_a_file_is_fetched_afresh(server, path, missing):
    hosts = iter([Host(sent=70_000, **missing), Host(**missing)])
    server.files["/all"] = lambda handler: next(hosts)(handler)
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT


@pytest.mark.parametrize(
    "answered",
    [
        None,
        "bytes 0-199999/200000",
        "bytes 70000-199999/300000",
        "bytes 70000-100000/200000",
        "pages 1-2/3",
    ],
)
def test_a_range_other_than_asked_for_is_not_put_into_the_file(server, path, answered):
    def lie(handler):
        handler.answer(CONTENT[70_000:], 206, Content_Range=answered)

    hosts = iter([Host(sent=70_000), lie, Host()])
    server.files["/all"] = lambda handler: next(hosts)(handler)
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT


def test_a_part_longer_than_the_file_is_fetched_afresh(server, path):
    path.parent.mkdir()
    path.with_name("all.bin.part").write_bytes(CONTENT + b"more")
    facts = {"validator": '"1"', "total": None, "received": len(CONTENT) + 4}
    path.with_name("all.bin.json").write_text(json.dumps(facts))
    server.files["/all"] = Host()
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT


def test_a_host_that_never_sends_all_it_announces_is_given_up(server, path, waits):
    server.files["/all"] = lambda handler: handler.answer(CONTENT, Content_Length=len(CONTENT) + 1)
    message = failure(server, path)
    assert f"{ATTEMPTS} attempts failed" in message
    assert len(server.requested) == 1 + ATTEMPTS - 1
    assert waits == [1.0, 2.0, 4.0, 8.0]


def test_a_file_in_chunks_is_whole_or_refused(server, path):
    def send(handler, chunks, end):
        handler.answer(b"", Content_Length=None, Transfer_Encoding="chunked")
        for chunk in chunks:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        handler.wfile.write(end)

    server.files["/all"] = lambda handler: send(handler, [CONTENT, OTHER], b"0\r\n\r\n")
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT + OTHER
    path.unlink()
    server.files["/all"] = lambda handler: send(handler, [CONTENT], b"ff\r\n")
    assert "attempts failed" in failure(server, path)


def test_bytes_are_kept_whatever_the_content_encoding(server, path):
    content = gzip.compress(CONTENT)
    server.files["/all"] = lambda handler: handler.answer(content, Content_Encoding="x-gzip")
    fetch(f"{server.url}/all", path)
    assert only_file(path) == content


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(server, path, status):
    server.files["/all"] = lambda handler: handler.answer(b"moved", status, Location="/there")
    server.files["/there"] = CONTENT
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT


def test_a_redirect_out_of_https_is_refused(path, monkeypatch):
    def send(adapter, request, **_):
        assert request.url == "https://a.example/all", "a plain address is asked"
        answer = requests.Response()
        answer.request, answer.url, answer.status_code = request, request.url, 302
        answer.headers["Location"] = "http://a.example/all"
        answer.raw = io.BytesIO()
        return answer

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    with pytest.raises(CrossmodalError, match=r"http://a\.example/all, which is not encrypted"):
        fetch("https://a.example/all", path)


def test_redirects_in_a_circle_are_given_up_at_once(server, path, waits):
    server.files["/all"] = lambda handler: handler.answer(b"", 302, Location="/all")
    assert "redirects" in failure(server, path)
    assert waits == []


@pytest.mark.parametrize("status", [401, 403, 404, 410, 451])
def test_a_refusal_is_told_at_once(server, path, status, waits):
    server.files["/all"] = lambda handler: handler.answer(b"no", status)
    assert failure(server, path).startswith(str(status))
    assert waits == []


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_host_that_is_busy_is_asked_again(server, path, status, waits):
    answers = iter([lambda handler: handler.answer(b"busy", status)] * 2 + [Host()])
    server.files["/all"] = lambda handler: next(answers)(handler)
    fetch(f"{server.url}/all", path)
    assert only_file(path) == CONTENT
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize("status", [429, 500])
def test_a_host_that_stays_busy_is_given_up(server, path, status):
    server.files["/all"] = lambda handler: handler.answer(b"busy", status)
    assert failure(server, path).startswith(str(status))
    assert len(server.requested) == ATTEMPTS


@pytest.mark.parametrize(
    ("asked", "waited"),
    [("7", 7.0), ("0", 0.0), ("86400", LONGEST_WAIT), (formatdate(4e9), LONGEST_WAIT)],
)
def test_the_wait_is_what_the_host_asks_for_within_bounds(server, path, asked, waited, waits):
    answers = iter([lambda handler: handler.answer(b"", 429, Retry_After=asked), Host()])
    server.files["/all"] = lambda handler: next(answers)(handler)
    fetch(f"{server.url}/all", path)
    assert waits == [waited]


def test_an_address_where_nobody_answers_is_given_up(monkeypatch, path, waits):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(CrossmodalError, match=f"{ATTEMPTS} attempts failed"):
        fetch(f"http://127.0.0.1:{port}/all", path)
    assert len(waits) == ATTEMPTS - 1


@pytest.mark.parametrize("url", ["all", "file:///etc/passwd", "http://", "http://[::1/all"])
def test_what_is_no_address_is_refused(path, url, waits):
    with pytest.raises(CrossmodalError):
        fetch(url, path)
    assert waits == []


def test_a_full_disk_is_no_fault_of_the_host(server, path, monkeypatch, waits):
    server.files["/all"] = CONTENT

    def fill(part, chunks):
        part.file.write_bytes(next(chunks)[:1000])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(downloads._Part, "append", fill)
    with pytest.raises(OSError, match="No space left"):
        fetch(f"{server.url}/all", path)
    assert not path.exists()
    assert waits == []


def test_progress_is_told_in_bytes(server, path, capsys):
    server.files["/all"] = Host(sent=70_000)
    fetch(f"{server.url}/all", path)
    lines = capsys.readouterr().err.splitlines()
    rate = r"[\d.]+ [kMG]?B/s"
    assert re.fullmatch(rf"download all.bin: 200.0 kB/200.0 kB, {rate}, 0:00:00 left", lines[-1])
    assert lines[0].startswith(f"{server.url}/all: ")
    assert lines[0].endswith("trying again in 1 s")
