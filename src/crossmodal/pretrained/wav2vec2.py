"""Transformers that learnt from speech without labels: wav2vec 2.0 and HuBERT, torchaudio's.

Convolutions turn 16 kHz sound into 50 frames a second, which a transformer reads.

Sources: A. Baevski et al., wav2vec 2.0, NeurIPS 2020; A. Conneau et al., Unsupervised cross-lingual
representation learning for speech recognition, Interspeech 2021 (XLSR-53); W.-N. Hsu et al.,
HuBERT, IEEE/ACM TASLP 29, 2021.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from torch import nn

from crossmodal.errors import CrossmodalError
from crossmodal.io.bundles import read_tensors

if TYPE_CHECKING:  # torchaudio takes long to import
    from torchaudio.models import Wav2Vec2Model
    from torchaudio.pipelines import Wav2Vec2Bundle

Name = Literal[
    "wav2vec2_base",
    "wav2vec2_large",
    "wav2vec2_large_lv60k",
    "wav2vec2_xlsr53",
    "hubert_base",
    "hubert_large",
    "hubert_xlarge",
]
RECEPTIVE_FIELD, STRIDE = 400, 320  # samples of a frame, and between two
PUBLISHED = "https://download.pytorch.org/torchaudio/models"  # without checksums


@dataclass(frozen=True)
class Network:
    """Facts about a network that are needed before it is there.

    Args:
        file: Name of the published weights, a file of PyTorch's.
        layers: Of the transformer.
    """

    file: str
    layers: int

    @property
    def url(self) -> str:
        """Address of the published weights."""
        return f"{PUBLISHED}/{self.file}"


BASE, LARGE, XLARGE = 12, 24, 48
NETWORKS: dict[Name, Network] = {
    "wav2vec2_base": Network("wav2vec2_fairseq_base_ls960.pth", BASE),
    "wav2vec2_large": Network("wav2vec2_fairseq_large_ls960.pth", LARGE),
    "wav2vec2_large_lv60k": Network("wav2vec2_fairseq_large_lv60k.pth", LARGE),
    "wav2vec2_xlsr53": Network("wav2vec2_fairseq_large_xlsr53.pth", LARGE),
    "hubert_base": Network("hubert_fairseq_base_ls960.pth", BASE),
    "hubert_large": Network("hubert_fairseq_large_ll60k.pth", LARGE),
    "hubert_xlarge": Network("hubert_fairseq_xlarge_ll60k.pth", XLARGE),
}


def pipeline(name: Name) -> "Wav2Vec2Bundle":
    """Return torchaudio's facts about a network."""
    from torchaudio import pipelines

    return getattr(pipelines, name.upper())


def make_network(name: Name, path: Path | None, seed: int) -> "Wav2Vec2Model":
    """Make a network for evaluation, with the weights of a file, or with random ones.

    Args:
        name: Which network.
        path: Safetensors file with the keys of torchaudio's state dict.
        seed: Of random weights.

    Raises:
        CrossmodalError: If the file cannot be read or does not fit the network.
    """
    from torchaudio.models import wav2vec2_model

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = wav2vec2_model(**pipeline(name)._params)
    if path:
        _load(network, name, path)
    return network.eval().requires_grad_(False)


def _load(network: nn.Module, name: Name, path: Path) -> None:
    weights = read_tensors(path)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise CrossmodalError(
            f"{path}: does not fit {name}: {error}; give a file with the keys of torchaudio's "
            "state dict"
        ) from error


@torch.inference_mode()
def frames(
    network: "Wav2Vec2Model", samples: torch.Tensor, layers: Sequence[int], normalise: bool
) -> torch.Tensor:
    """Average some layers' outputs for one clip: (1 + (samples - 400) // 320, width).

    The first layer normalises over the time of what it is given, so clips are never padded to
    each other's length; one shorter than a frame is padded with silence.

    Args:
        network: From `make_network`.
        samples: Of the clip at 16 kHz, (samples,).
        layers: Numbers of layers of the transformer, from 1.
        normalise: Whether the network takes clips of mean 0 and variance 1.
    """
    clip = nn.functional.pad(samples, (0, max(0, RECEPTIVE_FIELD - len(samples))))
    if normalise:
        clip = nn.functional.layer_norm(clip, clip.shape)
    outputs, _ = network.extract_features(clip[None], num_layers=max(layers))
    return torch.stack([outputs[layer - 1][0] for layer in layers]).mean(0)
