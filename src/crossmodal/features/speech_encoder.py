"""Speech as a frozen encoder of transformers hears it; see `crossmodal.pretrained.frame_encoder`.

For a clip with frames t and layers l in L,

    x_t = mean_l h_lt        m = mean_t x_t        s^2 = mean_t (x_t - m)^2

as a sequence x, as the mean m, or as m beside the deviation s.
"""

from pathlib import Path
from typing import Literal

import numpy as np
import torch
from pydantic import Field

from crossmodal.errors import CrossmodalError
from crossmodal.features._frozen_speech import FrozenSpeechFeature
from crossmodal.io.files import JsonObject
from crossmodal.io.sound_files import RATE
from crossmodal.plugin import Count, Positive, Strict
from crossmodal.pretrained.frame_encoder import FrameEncoder
from crossmodal.pretrained.weights import Bundle


class SpeechEncoder(FrozenSpeechFeature):
    """Vectors float32 (n, width), twice as wide with deviations; or sequences float16."""

    class Options(Strict):
        weights: Bundle = Field(
            description="The model: a bundle in `data/raw/weights/`, such as "
            "`openai--whisper-tiny.safetensors` or `microsoft--wavlm-base.safetensors`."
        )
        config: dict[str, str | int | float | bool] = Field(
            {},
            description="Configuration of transformers, such as `model_type: whisper`, of a file "
            "that has none; what is not said is the default of that type.",
        )
        layers: list[Count] = Field(
            [], description="Layers L, from 1, whose outputs are averaged; none: the last one."
        )
        rows: Literal["mean", "statistics", "sequence"] = Field(
            description="What a clip becomes: the mean of its frames, their mean and deviation, or "
            "all of them."
        )
        seconds: Positive = Field(20.0, description="Longer clips are cut to so many seconds.")

    options: Options
    packages = ("transformers",)

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.weights = self.options.weights
        self.shape = "sequence" if self.options.rows == "sequence" else "vector"

    def setup(self, weights: Path | None) -> None:
        """Load the encoder."""
        super().setup(weights)
        assert weights is not None  # the option names a file
        self.encoder = FrameEncoder(weights, self.options.config)
        self.encoder.network.to(self.device)
        if max(self.options.layers, default=1) > self.encoder.layers:
            reason = f"has {self.encoder.layers} layers, not {max(self.options.layers)}"
            raise CrossmodalError(f"{weights}: {reason}; correct `layers`")

    def _row(self, clip: torch.Tensor) -> np.ndarray:
        """Return the row of a clip (samples,)."""
        heard = clip[: round(self.options.seconds * RATE)]
        frames = self.encoder.frames(heard, self.options.layers)
        if self.shape == "sequence":
            return frames.half().cpu().numpy()
        parts = [frames.mean(0), frames.std(0, correction=0)]
        count = 2 if self.options.rows == "statistics" else 1
        return torch.cat(parts[:count]).cpu().numpy()

    def learnt(self) -> JsonObject:
        """Return the weights and how they are read."""
        return {"config": self.options.config, **super().learnt()}
