"""A published model in one file: safetensors whose metadata are the repository's small files.

Keys of the metadata are the names of these files, `config.json` or `1_Pooling/config.json`, and of
facts, which have no dot: source, revision, sha256, licence. Nothing in such a file is run.
"""

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import readable, replacing
from crossmodal.io.relative_names import inside

if TYPE_CHECKING:
    import torch


def write_bundle(
    path: Path,
    tensors: Mapping[str, "torch.Tensor"],
    files: Mapping[str, str],
    facts: Mapping[str, str],
) -> None:
    """Write a bundle.

    Args:
        path: The file.
        tensors: Weights by name.
        files: Contents of small files by their name in the repository.
        facts: source, revision, sha256, licence.

    Raises:
        CrossmodalError: If the small files are too large for a header of safetensors, 100 MB.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    with replacing(path) as temporary:
        weights = {name: value.contiguous() for name, value in tensors.items()}
        try:
            save_file(weights, temporary, {**files, **facts} or None)
        except SafetensorError as error:
            raise CrossmodalError(
                f"{path}: cannot hold {len(files)} small files ({error}); keep those that the "
                "model needs in a mirror's folder"
            ) from error


def read_tensors(path: Path) -> "dict[str, torch.Tensor]":
    """Return the weights of a bundle by name.

    Raises:
        CrossmodalError: If it is no safetensors file.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(readable(path))
    except (OSError, SafetensorError) as error:
        raise CrossmodalError(f"{path}: not a safetensors file of weights: {error}") from error


def read_checkpoint(path: Path) -> "dict[str, torch.Tensor]":
    """Return a state dict of PyTorch's, read without running anything that its file holds.

    Raises:
        CrossmodalError: If the file is not PyTorch's, or holds more than tensors by name.
    """
    import torch  # seconds, which names of models need not wait for

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
        raise CrossmodalError(f"{path}: not a file of weights ({error}); get it again") from error
    if not isinstance(state, dict) or not all(isinstance(v, torch.Tensor) for v in state.values()):
        raise CrossmodalError(f"{path}: holds more than tensors by name; give a plain state dict")
    return state


@contextmanager
def small_files(path: Path, *needed: str) -> Iterator[Path]:
    """Yield a temporary folder with the small files of a bundle.

    Args:
        path: The bundle.
        needed: Files that it must have.

    Raises:
        CrossmodalError: If it is no bundle, or lacks a file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(readable(path), "pt") as bundle:
            metadata = bundle.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise CrossmodalError(f"{path}: not a safetensors file of weights: {error}") from error
    files = {name: text for name, text in metadata.items() if "." in name}
    if missing := [name for name in needed if name not in files]:
        raise CrossmodalError(
            f"{path}: has no {missing[0]}; it must be a bundle of a model's tensors and small files"
        )
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            place = inside(Path(folder), name, path)
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
            except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                raise CrossmodalError(f"{path}: {name!r} is a file and a folder") from error
        yield Path(folder)
