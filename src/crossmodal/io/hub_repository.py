"""Repositories of the Hugging Face hub, of models and datasets that `crossmodal push` wrote.

They hold tensors, JSON, CSV, the media of a dataset and a card, and no code. The host is the one
that HF_ENDPOINT names.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from crossmodal.errors import CrossmodalError, listed
from crossmodal.io.files import sha256
from crossmodal.io.relative_names import LONGEST_PART, defect

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import DatasetInfo, ModelInfo, RepoSibling

SCHEME = "hf://"
ADDRESS = re.compile(r"(?:hf://)?(\w[\w.-]*/\w[\w.-]*)(?:@([\w.-]+))?")
CARD = "README.md"
OWN = {CARD, ".gitattributes"}  # the hub itself writes the latter
SUFFIXES = (".json", ".safetensors")  # of what is fetched
MESSAGE = "Push with crossmodal"
LOGIN = "log in with `hf auth login`, or put a token into HF_TOKEN"


@dataclass(frozen=True)
class Repository:
    """A repository of the hub.

    Args:
        name: ORG/NAME.
        revision: Commit, tag or branch; empty for the newest.
        kind: What it holds.
    """

    name: str
    revision: str = ""
    kind: Literal["model", "dataset"] = "model"

    def __str__(self) -> str:
        return f"{SCHEME}{self.name}{f'@{self.revision}' if self.revision else ''}"

    @property
    def page(self) -> str:
        """Return its address in a browser."""
        folder = "datasets/" if self.kind == "dataset" else ""
        return f"{_interface().endpoint}/{folder}{self.name}"


def repository_of(address: str, kind: Literal["model", "dataset"] = "model") -> Repository:
    """Return the repository of an address, `hf://ORG/NAME`, `hf://ORG/NAME@REVISION` or without hf.

    Raises:
        CrossmodalError: If it is of another form.
    """
    if not (match := ADDRESS.fullmatch(address)):
        raise CrossmodalError(f"{address!r}: a repository is ORG/NAME or ORG/NAME@REVISION")
    name, revision = match.groups(default="")
    return Repository(name, revision, kind)


def _interface() -> "HfApi":
    from huggingface_hub import HfApi

    return HfApi(endpoint=os.environ.get("HF_ENDPOINT"))


def publish(repository: Repository, files: Mapping[str, Path | bytes], private: bool) -> str:
    """Send files in one commit, which the hub takes as a whole or not at all.

    Args:
        repository: It is made if it is not there.
        files: Contents, or where they are, by name.
        private: Whether it must be one that others cannot read.

    Returns:
        Address of the commit.

    Raises:
        CrossmodalError: If the repository holds other files, is public against the wish, or the hub
            refuses.
    """
    from huggingface_hub import CommitOperationAdd

    name, kind = repository.name, repository.kind
    with _explaining(repository) as api:
        api.create_repo(name, repo_type=kind, private=private or None, exist_ok=True)
        info = _info(api, repository)
        if others := {file.rfilename for file in info.siblings or []} - files.keys() - OWN:
            raise CrossmodalError(
                f"{repository}: holds other files: {listed(sorted(others))}; remove them, or give "
                "another repository"
            )
        if private and not info.private:
            raise CrossmodalError(f"{repository}: is public; make it private, or give another one")
        operations = [
            CommitOperationAdd(file, content if isinstance(content, bytes) else str(content))
            for file, content in files.items()
        ]
        commit = api.create_commit(name, operations, commit_message=MESSAGE, repo_type=kind)
        return str(commit.commit_url)


def fetch(repository: Repository, needed: Collection[str]) -> Path:
    """Fetch files into the cache of the hub's library, each of them whole or not at all.

    Args:
        repository: It may hold JSON, safetensors and a card alone.
        needed: Names of files.

    Returns:
        The folder of a commit that has them.

    Raises:
        CrossmodalError: If the repository holds or lacks another file, a checksum differs, or it
            cannot be had.
    """
    with _explaining(repository) as api:
        info = _info(api, repository)
        present = _checked(repository, info)
        if missing := [name for name in needed if name not in present]:
            raise CrossmodalError(
                f"{repository}: lacks {listed(missing)}; `crossmodal push` writes what is read here"
            )
        paths = [_download(api, repository, info.sha, present[name]) for name in needed]
        return paths[0].parent


def _info(api: "HfApi", repository: Repository) -> "ModelInfo | DatasetInfo":
    ask = api.model_info if repository.kind == "model" else api.dataset_info
    return ask(repository.name, revision=repository.revision or None, files_metadata=True)


def _checked(repository: Repository, info: "ModelInfo | DatasetInfo") -> "dict[str, RepoSibling]":
    """Return the files of a repository by name, none of which is code."""
    present = {file.rfilename: file for file in info.siblings or []}
    for name in present:
        if reason := defect(name):
            raise CrossmodalError(f"{repository}: the name {name[:LONGEST_PART]!r} {reason}")
    if others := [n for n in present if n not in OWN and not n.endswith(SUFFIXES)]:
        raise CrossmodalError(
            f"{repository}: holds more than JSON, safetensors and a card, so nothing is fetched: "
            f"{listed(sorted(others))}"
        )
    return present


def _download(
    api: "HfApi", repository: Repository, commit: str | None, file: "RepoSibling"
) -> Path:
    path = Path(
        api.hf_hub_download(
            repository.name, file.rfilename, repo_type=repository.kind, revision=commit
        )
    )
    published = file.lfs.sha256 if file.lfs else ""
    if published and (checksum := sha256(path)) != published:
        path.resolve().unlink()  # or it would be taken from the cache at the next call
        raise CrossmodalError(
            f"{repository}: {file.rfilename}: checksum is {checksum}, published is {published}"
        )
    return path


@contextmanager
def _explaining(repository: Repository) -> "Iterator[HfApi]":
    """Yield the hub's interface, whose errors become messages."""
    from huggingface_hub.errors import HfHubHTTPError

    # what its HTTP client raises, whichever that is
    client = tuple(b for b in HfHubHTTPError.__bases__ if issubclass(b, Exception))
    failures: tuple[type[Exception], ...] = (*client, OSError, RuntimeError, ValueError)
    try:
        yield _interface()
    except CrossmodalError:
        raise
    except failures as error:
        raise CrossmodalError(f"{repository}: {_reason(error, repository)}") from error


def _reason(error: Exception, repository: Repository) -> str:
    """Return what is wrong, and what to do."""
    from huggingface_hub.errors import (
        HfHubHTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    message = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    if isinstance(error, RevisionNotFoundError):
        return f"has no revision {repository.revision!r}"
    if isinstance(error, RepositoryNotFoundError):
        return f"is not there, or is private; check the name, or {LOGIN}"
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
    if status == 401:
        return f"the hub does not know who asks; {LOGIN}"
    if status == 403:
        return "your token may not do that; take one that may write to this repository"
    if status is not None or isinstance(error, RuntimeError | ValueError):
        return f"the hub refused ({message})"
    return f"the hub cannot be reached ({message}); check the network, and HF_ENDPOINT if it is set"
