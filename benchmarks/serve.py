"""The page's server under 100 clients for a minute, with hostile ones among them.

Eighty clients search by words, ten look at media, five upload pictures and recordings that are
small files and large when decoded, three hold connections half open, two send slowly. Prints
requests per second, latencies of the honest clients, and memory of the server before and after.
Only the loopback address is used.

Run: PYTHONPATH=. python benchmarks/serve.py
  --seconds 60            how long
  --page docs/faults.md   writes that page's section on the server
"""

import argparse
import asyncio
import io
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from urllib.parse import quote

import numpy as np
import soundfile
from PIL import Image

from benchmarks.faults import SECTION
from tests.test_load import MODELS, contents, make_studio

SERVER = """
import sys
from pathlib import Path
from crossmodal.commands.serve import serve
from crossmodal.search.place import Place
serve([Path(sys.argv[1])], Place(Path(sys.argv[2]), "test", Path("params.yaml")),
      host="127.0.0.1", port=0, approximate=False, threads=1, weights=Path(sys.argv[3]))
"""
HEAD = (
    "A hundred clients ask `crossmodal serve` at once: eighty search by words, ten look at media, "
    "five upload files that are small until they are decoded, three open connections and send "
    "nothing, and two send a byte now and then. One of the files is a picture of 49 million "
    "pixels, within the bound of 50 million, and is answered with 200. Written by `PYTHONPATH=. "
    "python benchmarks/serve.py --page docs/faults.md`.\n\n"
)
OCTETS = "application/octet-stream"
WORDS = ("red circle", "blue square", "a big green square", "small circle on the left")


def bombs() -> list[tuple[str, bytes]]:
    """Uploads below the limit of bytes that decode to much more, or to nothing."""
    picture, sound = io.BytesIO(), io.BytesIO()
    Image.new("1", (9_900, 9_900)).save(picture, "PNG")
    soundfile.write(sound, np.zeros(50_000_000, np.int16), 8_000, format="FLAC")
    fits = io.BytesIO()  # within `UPLOAD_PIXELS`, so that it is answered with 200
    Image.new("P", (7_000, 7_000)).save(fits, "PNG", transparency=0)
    return [
        ("image", picture.getvalue()),
        ("speech", sound.getvalue()),
        ("image", fits.getvalue()),
        ("image", os.urandom(1 << 20)),
        ("text", b"\xff" * 10_000),
        ("text", b"a" * 11_000),
    ]


async def ask(port: int, target: str, body: bytes = b"", method: str = "GET") -> str:
    """Return the status of an answer that is read to its end; it has a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        head += f"Content-Type: {OCTETS}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        answer = await reader.read()
        return answer.split(b" ", 2)[1].decode() if answer else "closed"
    except ConnectionError:
        return "closed"
    finally:
        writer.close()


async def dribble(port: int, first: bytes, pause: float) -> str:
    """Send the beginning of a request, then a byte at a time, until the server ends it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin = perf_counter()
    try:
        writer.write(first)
        reading = asyncio.create_task(reader.read())
        while not reading.done() and perf_counter() - begin < 60:
            writer.write(b"a" if pause else b"")
            await asyncio.wait([reading], timeout=pause or 1)
        return f"ended after {perf_counter() - begin:.0f} s" if reading.done() else "never ended"
    except ConnectionError:
        return f"ended after {perf_counter() - begin:.0f} s"
    finally:
        writer.close()


class Load:
    """Clients that ask again and again until the time is over.

    Args:
        port: Of the server.
        seconds: How long.
        media: Identities of pictures that may be looked at.
    """

    def __init__(self, port: int, seconds: float, media: list[str]) -> None:
        self.port, self.seconds, self.media = port, seconds, media
        self.latencies: list[float] = []
        self.answers: dict[str, Counter[str]] = {}

    async def run(self) -> None:
        """Run all clients."""
        self.end = perf_counter() + self.seconds
        hostile = bombs()
        begun = f"POST /search/0?by=text HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {OCTETS}\r\n"
        slow_body = f"{begun}Content-Length: 9000\r\n\r\n".encode()
        await asyncio.gather(
            *(self._repeat("search", self._search, n) for n in range(80)),
            *(self._repeat("media", self._medium, n) for n in range(10)),
            *(self._repeat("bomb", lambda n: self._bomb(hostile[n % 6]), n) for n in range(5)),
            *(self._repeat("half open", lambda n: dribble(self.port, b"", 0), n) for n in range(3)),
            self._repeat("slow headers", lambda n: dribble(self.port, begun.encode(), 0.5), 0),
            self._repeat("slow upload", lambda n: dribble(self.port, slow_body, 0.5), 0),
        )

    async def _repeat(self, kind: str, call: Callable[[int], Awaitable[str]], first: int) -> None:
        number = first
        while perf_counter() < self.end:
            begin = perf_counter()
            status = await call(number)
            if kind in ("search", "media"):
                self.latencies.append(perf_counter() - begin)
            self.answers.setdefault(kind, Counter())[status] += 1
            number += 1

    async def _search(self, number: int) -> str:
        body = WORDS[number % len(WORDS)].encode()
        return await ask(self.port, "/search/0?by=text&among=image", body, "POST")

    async def _medium(self, number: int) -> str:
        id = self.media[number % len(self.media)]
        return await ask(self.port, f"/media/0/image?id={quote(id)}")

    async def _bomb(self, upload: tuple[str, bytes]) -> str:
        by, body = upload
        return await ask(self.port, f"/search/0?by={by}", body, "POST")


def memory(process: int, field: str) -> int:
    """Return a field of Linux's status of a process, such as VmRSS, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) >> 10


def measure(folder: Path, model: Path, weights: Path, seconds: float) -> str:
    """Serve a folder, load the server, and return what came of it, as Markdown."""
    command = [sys.executable, "-c", SERVER, str(model), str(folder), str(weights)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            port = int(server.stdout.readline().split("/ ")[0].rpartition(":")[2])
            load = Load(port, seconds, [path.name for path in folder.glob("*.png")])
            asyncio.run(ask(port, "/search/0?by=text&among=image", b"red", "POST"))
            before, begin = memory(server.pid, "VmRSS"), perf_counter()
            asyncio.run(load.run())
            took = perf_counter() - begin
            after, most = (memory(server.pid, field) for field in ("VmRSS", "VmHWM"))
            return report(load, took, (before, after, most))
        finally:
            server.terminate()


def report(load: Load, took: float, memory: tuple[int, int, int]) -> str:
    """Return a table of requests, latencies and memory, and one of what each client was answered.

    Args:
        load: After its run.
        took: Seconds of it.
        memory: Of the server in MB: before, after, and at most.
    """
    median, late = np.percentile(load.latencies, (50, 99))
    rows = [
        ("searches and media", f"{len(load.latencies) / took:.0f} per second for {took:.0f} s"),
        ("median of their time", f"{median:.2f} s"),
        ("99th percentile", f"{late:.2f} s"),
        ("memory before, after, at most", "{} MB, {} MB, {} MB".format(*memory)),
        ("load of the machine", f"{os.getloadavg()[0]:.0f} processes on {os.cpu_count()} cores"),
    ]
    for client, answers in load.answers.items():
        said = ", ".join(f"{status} ({count:,} times)" for status, count in answers.most_common())
        rows.append((f"answers to: {client}", said))
    return "".join(f"| {' | '.join(row)} |\n" for row in [("what", "value"), ("---",) * 2, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    page = options.page and options.page.absolute()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for studio in make_studio(root, {"cca": MODELS["cca"]}, ("random_layers", "fne", "bow")):
            folder = root / "pictures"
            folder.mkdir()
            images = contents(studio, "image", [f"item{number}" for number in range(24)])
            for number, image in enumerate(images):
                (folder / f"{number}.png").write_bytes(image)
            (folder / "captions.txt").write_text("\n".join(WORDS))
            rows = measure(folder, root / "models/cca", root / "weights", options.seconds)
    print(rows)
    if page:
        others = page.read_text(encoding="utf-8").partition(SECTION)[0]
        page.write_text(others + SECTION + HEAD + rows, encoding="utf-8")


if __name__ == "__main__":
    main()
