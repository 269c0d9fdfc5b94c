"""A client has to send and to read; the server may take its time."""

import asyncio
import socket
import threading
import time
from contextlib import suppress

import pytest

pytest.importorskip("uvicorn")

import uvicorn

from crossmodal.search import connections
from crossmodal.search.connections import Connection

PATIENCE = 0.5  # seconds
REQUEST = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = b"0" * (1 << 25)  # more than the system's buffers hold


async def application(scope, receive, send):
    """Answers slowly, at length, or at once."""
    if scope["path"] == "/slow":
        await asyncio.sleep(3 * PATIENCE)
    body = LARGE if scope["path"] == "/large" else b"done"
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def client(monkeypatch):
    """A connection to a server in a thread."""
    monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
    config = uvicorn.Config(application, port=0, http=Connection, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    address = server.servers[0].sockets[0].getsockname()
    with socket.create_connection(address, timeout=20 * PATIENCE) as client:
        yield client
    server.should_exit = True
    thread.join()


def read(client):
    """All that comes until the server closes the connection; a timeout is an error."""
    parts = []
    with suppress(ConnectionError):
        while part := client.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def ask(client):
    """Send a request, and read its answer."""
    client.sendall(REQUEST % b"/")
    answer = b""
    while b"done" not in answer:
        part = client.recv(1 << 16)
        assert part
        answer += part


def send_slowly(client):
    """Send a header a letter at a time, until the connection is closed."""
    with suppress(OSError):
        for _ in range(100):
            client.sendall(b"G")
            time.sleep(PATIENCE / 5)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_headers_that_do_not_come_close_the_connection(client, sent):
    client.sendall(sent)
    assert read(client) == b""


def test_slow_headers_close_the_connection(client):
    begin = time.monotonic()
    sender = threading.Thread(target=send_slowly, args=(client,))
    sender.start()
    assert read(client) == b""
    assert time.monotonic() - begin < 5 * PATIENCE
    sender.join()


def test_slow_headers_of_a_second_request_close_it(client):
    ask(client)
    client.sendall(b"GET / HTTP/1.1\r\nHost: local")
    begin = time.monotonic()
    assert read(client) == b""
    assert time.monotonic() - begin < 5 * PATIENCE


def test_an_answer_that_is_not_read_closes_the_connection(client):
    client.sendall(REQUEST % b"/large")
    time.sleep(3 * PATIENCE)
    assert len(read(client)) < len(LARGE)


def test_a_slow_answer_is_waited_for(client):
    client.sendall(REQUEST % b"/slow")
    assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_a_second_request_is_answered(client):
    for _ in range(5):
        ask(client)
        time.sleep(PATIENCE / 2)
