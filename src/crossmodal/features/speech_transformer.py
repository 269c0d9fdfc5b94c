"""Speech as a frozen wav2vec 2.0 or HuBERT hears it: one of its layers, or the mean of some.

For a clip with frames t and layers l in L,

    x_t = mean_l h_lt        x = mean_t x_t

as a sequence of 50 frames a second, or as one vector. See `crossmodal.pretrained.wav2vec2`.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator

from crossmodal.features._frozen_speech import FrozenSpeechFeature
from crossmodal.io.files import JsonObject
from crossmodal.io.sound_files import RATE
from crossmodal.plugin import Count, Positive, Strict
from crossmodal.pretrained import wav2vec2
from crossmodal.pretrained.weights import FILE, Download


class SpeechTransformer(FrozenSpeechFeature):
    """Vectors float32 (n, width), or sequences float16 (frames, width); only of audio captions."""

    class Options(Strict):
        network: wav2vec2.Name = Field(description="The network, as torchaudio calls it.")
        weights: Annotated[str, Field(pattern=f"^(random|official|{FILE})$")] = Field(
            "official",
            description="'official': those that torchaudio publishes; 'random': drawn from `seed`; "
            "otherwise the name of a safetensors file in `data/raw/weights/`.",
        )
        layers: Annotated[list[Count], Field(min_length=1)] = Field(
            description="Layers L of the transformer, from 1, whose outputs are averaged."
        )
        rows: Literal["vector", "sequence"] = Field(
            description="What a clip becomes: the mean of its frames, or all of them."
        )
        seconds: Positive = Field(20.0, description="Longer clips are cut to so many seconds.")
        seed: int = Field(0, ge=0, description="Seed of random weights.")

        @model_validator(mode="after")
        def _check_layers(self) -> Self:
            if max(self.layers) > (last := wav2vec2.NETWORKS[self.network].layers):
                raise ValueError(f"layers: {self.network} has {last}, not {max(self.layers)}")
            return self

    options: Options

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        o = self.options
        official = Download(wav2vec2.NETWORKS[o.network].url).file
        self.weights = {"official": official, "random": ""}.get(o.weights, o.weights)
        self.shape = o.rows

    def setup(self, weights: Path | None) -> None:
        """Load the network, or draw its weights."""
        super().setup(weights)
        network = wav2vec2.make_network(self.options.network, weights, self.options.seed)
        self.network = network.to(self.device)
        self.normalise = wav2vec2.pipeline(self.options.network)._normalize_waveform

    def _row(self, clip: torch.Tensor) -> np.ndarray:
        """Return the row of a clip (samples,)."""
        heard = clip[: round(self.options.seconds * RATE)].to(self.device)
        frames = wav2vec2.frames(self.network, heard, self.options.layers, self.normalise)
        row = frames.half() if self.shape == "sequence" else frames.mean(0)
        return row.cpu().numpy()

    def learnt(self) -> JsonObject:
        """Return the network and its weights."""
        return {"network": self.options.network, **super().learnt()}
