"""Downloads over HTTP that resume, retry, and take their name only when they are complete.

Received parts are in `<path>.part`; `<path>.json` says of which version of the file they are, and
how many bytes outlast a power cut.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import JsonObject, read_json, replace, write_json
from crossmodal.io.progress import BYTES, track

if TYPE_CHECKING:
    from requests import Response

ATTEMPTS = 5  # in a row that bring nothing new
FIRST_WAIT, LONGEST_WAIT = 1.0, 120.0  # seconds
TIMEOUT = (30, 60)  # seconds without an answer, without a byte
CHUNK = 1 << 18  # bytes
SYNCED = 1 << 24  # bytes that a power cut or a kill may cost
RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
PASSING = (408, 425, 429, 500, 502, 503, 504)  # answers that another attempt may improve


class _PassingError(Exception):
    """An attempt failed, the next one may not; after `wait` seconds, if the host says so."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class _Part:
    """Received bytes of a file, and the version of the file that they belong to."""

    path: Path

    @property
    def file(self) -> Path:
        return self.path.with_name(f"{self.path.name}.part")

    @property
    def facts(self) -> Path:
        return self.path.with_name(f"{self.path.name}.json")

    def version(self) -> JsonObject:
        """Return the host's validator and total size; empty if there is nothing to resume."""
        try:
            return read_json(self.facts) if self.file.exists() else {}
        except CrossmodalError:
            return {}

    def size(self) -> int:
        received = self.version().get("received", 0)
        return min(received, self.file.stat().st_size) if received else 0

    def restart(self, version: JsonObject) -> None:
        self.file.unlink(missing_ok=True)  # first, or it would be taken for a part of this version
        write_json(self.facts, version)
        self.file.touch()

    def append(self, chunks: Iterator[bytes]) -> None:
        """Write behind what was received, and record now and then how much that is."""
        have = self.size()
        with self.file.open("r+b") as stream:
            stream.truncate(have)
            stream.seek(have)
            try:
                for chunk in chunks:
                    stream.write(chunk)
                    if stream.tell() >= have + SYNCED:
                        have = self._record(stream)
            finally:
                self._record(stream)

    def _record(self, stream: BufferedRandom) -> int:
        stream.flush()
        os.fsync(stream.fileno())
        write_json(self.facts, self.version() | {"received": stream.tell()})
        return stream.tell()

    def forget(self) -> None:
        self.facts.unlink(missing_ok=True)
        self.file.unlink(missing_ok=True)


def fetch(url: str, path: Path) -> None:
    """Fetch a file; what an earlier call left of it is not fetched again.

    Args:
        url: Address, http or https.
        path: The file; it exists only when as many bytes were received as the host announced.

    Raises:
        CrossmodalError: If the host refuses it, or `ATTEMPTS` attempts in a row brought nothing.
        OSError: If it cannot be written, for example because the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(path)
    failures, most = 0, part.size()
    while True:
        try:
            _attempt(url, part)
            break
        except _PassingError as error:
            failures = failures + 1 if part.size() <= most else 1
            most = max(most, part.size())
            if failures == ATTEMPTS:
                raise CrossmodalError(f"{error}; {ATTEMPTS} attempts failed") from error
            wait = FIRST_WAIT * 2 ** (failures - 1) if error.wait is None else error.wait
            _pause(f"{url}: {error}", min(wait, LONGEST_WAIT))
    replace(part.file, path)
    part.forget()


def _pause(reason: str, seconds: float) -> None:
    print(f"{reason}; trying again in {seconds:.0f} s", file=sys.stderr, flush=True)
    time.sleep(seconds)


def _attempt(url: str, part: _Part) -> None:
    """Request the bytes that are missing."""
    import requests
    import urllib3

    version, have = part.version(), part.size()
    if have and have == version["total"]:
        return
    headers = {"Accept-Encoding": "identity"}  # ranges and lengths are of the file as published
    if have and version["validator"]:
        headers |= {"Range": f"bytes={have}-", "If-Range": version["validator"]}
    try:
        hooks = {"response": _refuse_plain}
        with requests.get(
            url, headers=headers, stream=True, timeout=TIMEOUT, hooks=hooks
        ) as response:
            _check_status(response, part)
            total = _continued(response, part) if response.status_code == 206 else None
            if response.status_code != 206:
                total, have = response.raw.length_remaining, 0
                part.restart({"validator": _validator(response), "total": total})
            chunks = response.raw.stream(CHUNK, decode_content=False)
            part.append(track(chunks, total, f"download {part.path.name}", have, BYTES))
    except (requests.exceptions.SSLError, requests.TooManyRedirects, ValueError) as error:
        raise CrossmodalError(str(error)) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _PassingError(str(error)) from error
    if total is not None and part.size() != total:
        came = part.size()
        if came > total:
            part.forget()
        raise _PassingError(f"{came} of {total} bytes were received")


def _refuse_plain(response: "Response", **_: object) -> None:
    """Refuse a redirect out of https, where anybody on the way could change the file."""
    target = urljoin(response.url, response.headers.get("Location", ""))
    if response.is_redirect and urlsplit(response.url).scheme == "https" != urlsplit(target).scheme:
        raise CrossmodalError(
            f"the host redirects to {target}, which is not encrypted; get the file from a host "
            "that you trust, and put it in place or into a mirror"
        )


def _check_status(response: "Response", part: _Part) -> None:
    import urllib3

    if response.status_code in (200, 206):
        return
    reason = f"{response.status_code} {response.reason}"
    if response.status_code == 416:  # the file is shorter than what was received of it
        part.forget()
    elif response.status_code not in PASSING:
        raise CrossmodalError(reason)
    raise _PassingError(reason, urllib3.Retry().get_retry_after(response.raw))


def _continued(response: "Response", part: _Part) -> int:
    """Return the size of the complete file, from an answer that continues where the part ends."""
    stated = response.headers.get("Content-Range", "")
    match = RANGE.fullmatch(stated)
    start, end, total = map(int, match.groups()) if match else (0, 0, 0)
    expected = part.version().get("total") or total
    if not (match and start == part.size() and end + 1 == total == expected):
        part.forget()
        raise _PassingError(f"received another range than requested, {stated!r}")
    return total


def _validator(response: "Response") -> str:
    """Return the identifier of this version of the file; empty if the host states none."""
    etag = response.headers.get("ETag", "")
    strong = etag if etag.startswith('"') else ""
    return strong or response.headers.get("Last-Modified", "")
