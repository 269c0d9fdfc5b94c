"""Models of the Hugging Face hub, each as one file; see `crossmodal.io.bundles`.

A file `ORG--NAME.safetensors` has the model ORG/NAME, `ORG--NAME@REVISION.safetensors` a commit,
tag or branch of it. Tensors and small texts are read; code of a repository is never fetched.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rich.filesize import decimal

from crossmodal.errors import CrossmodalError
from crossmodal.io.bundles import read_checkpoint, read_tensors, write_bundle
from crossmodal.io.files import sha256
from crossmodal.io.relative_names import inside

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoSibling

FILE = re.compile(r"(\w[\w.-]*?)--(\w[\w.-]*?)(?:@([\w.-]+))?\.safetensors")
# the first that a repository has: open_clip's beside the same model for transformers
TENSORS = (
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.bin",
    "model.safetensors",
    "pytorch_model.bin",
)
MISSING = "model.safetensors nor pytorch_model.bin, with or without open_clip_ before it"
TEXTS = (".json", ".txt")
LARGEST = 32 << 20  # bytes of a small text: a vocabulary of 250,000 subwords is half of it


@dataclass(frozen=True)
class Model:
    """A model of the hub.

    Args:
        repository: ORG/NAME.
        revision: Commit, tag or branch; empty for the newest.
    """

    repository: str
    revision: str = ""

    @property
    def file(self) -> str:
        """Return its name in `data/raw/weights/`."""
        at = f"@{self.revision}" if self.revision else ""
        return f"{self.repository.replace('/', '--')}{at}.safetensors"


def model_of(file: str) -> Model | None:
    """Return the model that a file of this name has, if it is one of the hub."""
    if not (match := FILE.fullmatch(file)):
        return None
    organisation, name, revision = match.groups(default="")
    return Model(f"{organisation}/{name}", revision)


def pack(model: Model, folder: Path, output: Path, facts: dict[str, str]) -> None:
    """Make one file of a repository's files.

    Args:
        model: The model.
        folder: Has its files.
        output: The bundle.
        facts: revision and licence.

    Raises:
        CrossmodalError: If there is no file of tensors, or it cannot be read.
    """
    weights = [folder / name for name in TENSORS if (folder / name).is_file()]
    if not weights:
        raise CrossmodalError(f"{folder}: has neither {MISSING}")
    texts = [p for p in folder.rglob("*") if p.suffix in TEXTS and p.is_file()]
    texts = [p for p in texts if p.stat().st_size <= LARGEST]
    files = {p.relative_to(folder).as_posix(): _text(p) for p in texts}
    if weights[0].suffix == ".safetensors":
        tensors = read_tensors(weights[0])
    else:  # where tensors may share memory, which safetensors refuses
        tensors = {name: value.clone() for name, value in read_checkpoint(weights[0]).items()}
    metadata = {"source": model.repository, "sha256": sha256(weights[0])} | facts
    write_bundle(output, tensors, files, metadata)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise CrossmodalError(f"{path}: is no text in UTF-8; remove it, or mend it") from error


def fetch_model(model: Model, folder: Path, output: Path) -> None:
    """Fetch a model from the hub, or from the host that HF_ENDPOINT names.

    Args:
        model: The model.
        folder: For its files; what an earlier call left there is not fetched again.
        output: The bundle.

    Raises:
        CrossmodalError: If it cannot be had; the message has its file and size where they are
            known.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    failures: tuple[type[Exception], ...] = (EntryNotFoundError, HFValidationError, OSError)
    # what its HTTP client raises, whichever that is
    failures += tuple(b for b in HfHubHTTPError.__bases__ if issubclass(b, Exception))
    api, what = HfApi(endpoint=os.environ.get("HF_ENDPOINT")), model.repository
    try:
        info = api.model_info(
            model.repository, revision=model.revision or None, files_metadata=True
        )
        weights, texts = _wanted(model, info.siblings or [])
        for name in texts:
            inside(folder, name, model.repository)
        what = f"{what}, {weights.rfilename}{f' ({decimal(weights.size)})' if weights.size else ''}"
        for name in [*texts, weights.rfilename]:
            api.hf_hub_download(model.repository, name, revision=info.sha, local_dir=folder)
    except failures as error:
        reason = str(error).strip().partition("\n")[0]
        raise CrossmodalError(f"{what}: {type(error).__name__}: {reason}") from error
    published = weights.lfs.sha256 if weights.lfs else ""
    if published and (checksum := sha256(folder / weights.rfilename)) != published:
        (folder / weights.rfilename).unlink()
        raise CrossmodalError(f"{what}: checksum is {checksum}, published is {published}")
    card = info.card_data.to_dict() if info.card_data else {}
    licence = str(card.get("license") or "")
    pack(model, folder, output, {"revision": info.sha or "", "licence": licence})


def _wanted(model: Model, files: "list[RepoSibling]") -> "tuple[RepoSibling, list[str]]":
    """Return the file of tensors, and names of the small texts."""
    by_name = {file.rfilename: file for file in files}
    weights = [by_name[name] for name in TENSORS if name in by_name]
    if not weights:
        raise CrossmodalError(f"{model.repository}: has neither {MISSING}")
    texts = [
        name
        for name, file in by_name.items()
        if PurePosixPath(name).suffix in TEXTS and (file.size or 0) <= LARGEST
    ]
    return weights[0], texts
