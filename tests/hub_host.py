"""A stand-in of the Hugging Face hub on the loopback interface: repositories, LFS and commits.

Paths, bodies and headers are those that huggingface_hub sends and reads, without Xet.
"""

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import yaml

LARGE = (".safetensors", ".zip")  # stored as LFS
WRITER, READER = "hf_writer", "hf_reader"  # tokens


@dataclass
class Held:
    """A repository; its last commit is the newest."""

    private: bool = False
    commits: list = field(default_factory=lambda: [{".gitattributes": b""}])

    def name_of(self, place):
        return hashlib.sha1(repr((place, sorted(self.commits[place].items()))).encode()).hexdigest()

    @property
    def files(self):
        return self.commits[-1]

    def at(self, revision):
        """Name and files of a commit; None if there is none."""
        for place, files in reversed([*enumerate(self.commits)]):
            if revision in ("main", self.name_of(place)):
                return self.name_of(place), files
        return None


class Hub(ThreadingHTTPServer):
    """The host.

    Attributes:
        repositories: By kind and ORG/NAME.
        blobs: Content of LFS by SHA-256.
        asked: Method and path of all requests.
        faults: Part of a path -> a status to answer, or what to call in the middle of an answer.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.repositories, self.blobs, self.asked, self.faults = {}, {}, [], {}

    def hold(self, name, files, kind="models", private=False):
        held = self.repositories[kind, name] = Held(private, [{".gitattributes": b"", **files}])
        return held


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, content, status=200, **headers):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        length = len(content)
        if wanted := self.headers.get("Range"):
            content = content[int(re.match(r"bytes=(\d+)", wanted)[1]) :]
        for name, value in {"Content_Length": len(content), "Connection": "close"}.items():
            headers.setdefault(name, value)
        if self.command == "HEAD":
            headers["Content_Length"] = length
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(content[: length // 2])
        self.wfile.flush()
        if self.fault:
            self.fault()
        self.wfile.write(content[length // 2 :])

    def go(self):
        path = unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, path))
        found = [f for part, f in self.server.faults.items() if part in path]
        self.fault = next((f for f in found if not isinstance(f, int)), None)
        if statuses := [f for f in found if isinstance(f, int)]:
            self.answer({"error": "no"}, statuses[0])
            return
        for pattern, act in ROUTES.items():
            if match := re.fullmatch(pattern, path):
                act(self, body, **match.groupdict())
                return
        self.answer({"error": "no such page"}, 404)

    do_GET = do_HEAD = do_POST = do_PUT = go  # noqa: N815

    @property
    def token(self):
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def allowed(self):
        """Whether the sender may write; answers if not."""
        status = {WRITER: 200, READER: 403}.get(self.token, 401)
        if status != 200:
            self.answer({"error": "not allowed"}, status)
        return status == 200

    def held(self, kind, name):
        """The repository; answers if there is none for the sender."""
        found = self.server.repositories.get((kind or "models", name))
        if found is None or (found.private and self.token not in (WRITER, READER)):
            self.answer({"error": "x"}, 404 if self.token else 401, X_Error_Code="RepoNotFound")
            return None
        return found

    def create(self, body):
        if not self.allowed():
            return
        said = json.loads(body)
        name = f"{said['organization']}/{said['name']}"
        key = (f"{said.get('type', 'model')}s", name)
        taken = key in self.server.repositories
        private = said.get("visibility") == "private" or said.get("private", False)
        if not taken:
            self.server.repositories[key] = Held(private)
        self.answer({"url": f"{self.server.url}/{name}"}, 409 if taken else 200)

    def validate(self, body):
        head = json.loads(body)["content"].split("---\n")[1]
        is_object = isinstance(yaml.safe_load(head), dict)
        errors = [] if is_object else [{"message": "no object"}]
        self.answer({"errors": errors, "warnings": []}, 200 if is_object else 400)

    def info(self, _, kind, name, revision=None):
        if not (held := self.held(kind, name)):
            return
        if not (found := held.at(revision or "main")):
            self.answer({"error": "x"}, 404, X_Error_Code="RevisionNotFound")
            return
        siblings = []
        for file, content in found[1].items():
            lfs = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
            lfs = {"lfs": {**lfs, "pointerSize": 1}} if file.endswith(LARGE) else {}
            siblings.append({"rfilename": file, "size": len(content), **lfs})
        said = {"id": name, "sha": found[0], "private": held.private, "siblings": siblings}
        self.answer({**said, "tags": [], "downloads": 0, "likes": 0}, Content_Type="text/json")

    def preupload(self, body, kind, name, revision):
        if self.allowed() and self.held(kind, name):
            files = [file["path"] for file in json.loads(body)["files"]]
            modes = [("lfs" if file.endswith(LARGE) else "regular") for file in files]
            said = zip(files, modes, strict=True)
            keys = ("path", "uploadMode", "shouldIgnore")
            self.answer({"files": [dict(zip(keys, (*s, False), strict=True)) for s in said]})

    def batch(self, body, kind, name):
        objects = [
            {**one, "actions": {"upload": {"href": f"{self.server.url}/lfs/{one['oid']}"}}}
            for one in json.loads(body)["objects"]
        ]
        self.answer({"transfer": "basic", "objects": objects})

    def upload(self, body, oid):
        assert hashlib.sha256(body).hexdigest() == oid
        self.server.blobs[oid] = body
        self.answer({})

    def commit(self, body, kind, name, revision):
        if not (self.allowed() and (held := self.held(kind, name))):
            return
        files = dict(held.files)
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.blobs[value["oid"]]
        held.commits.append(files)
        new = held.name_of(-1 % len(held.commits))
        address = f"{self.server.url}/{name}/commit/{new}"
        self.answer({"commitUrl": address, "commitOid": new})

    def resolve(self, _, kind, name, revision, file):
        if not (held := self.held(kind, name)):
            return
        commit, files = held.at(revision) or ("", {})
        if file not in files:
            self.answer({"error": "x"}, 404, X_Error_Code="EntryNotFound")
            return
        content = files[file]
        tag = hashlib.sha256(content).hexdigest()
        self.answer(content, ETag=f'"{tag}"', X_Repo_Commit=commit)

    def log_message(self, *_):
        """Keep the test's output clean."""


NAME = r"(?P<name>[\w.-]+/[\w.-]+)"
KIND = r"(?P<kind>models|datasets)"
PAGES = r"/(?:(?P<kind>datasets)/)?"
FILE = rf"{PAGES}{NAME}/resolve/(?P<revision>[^/]+)/(?P<file>.+)"
ROUTES = {
    "/api/repos/create": Answers.create,
    "/api/validate-yaml": Answers.validate,
    rf"/api/{KIND}/{NAME}/preupload/(?P<revision>.+)": Answers.preupload,
    rf"/api/{KIND}/{NAME}/commit/(?P<revision>.+)": Answers.commit,
    rf"/api/{KIND}/{NAME}(?:/revision/(?P<revision>.+))?": Answers.info,
    rf"{PAGES}{NAME}\.git/info/lfs/objects/batch": Answers.batch,
    r"/lfs/(?P<oid>\w+)": Answers.upload,
    FILE: Answers.resolve,
}


@contextmanager
def serving():
    """Yield the host while it answers."""
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, args=[0.01])
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
