"""Encoders of speech that transformers builds: Whisper, WavLM, data2vec, wav2vec 2.0, HuBERT.

Sources: A. Radford et al., Robust speech recognition via large-scale weak supervision, ICML 2023;
S. Chen et al., WavLM, IEEE JSTSP 16, 2022; A. Baevski et al., data2vec, ICML 2022; and those of
`crossmodal.pretrained.wav2vec2`. No code of a model's repository is run.
"""

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from crossmodal.errors import ENCODERS, CrossmodalError
from crossmodal.io.bundles import read_tensors, small_files
from crossmodal.io.sound_files import RATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedConfig, PreTrainedModel

CONFIG, EXTRACTOR = "config.json", "preprocessor_config.json"
SHORTEST = 400  # samples: the first frame of wav2vec 2.0's convolutions
UNREAD = ("masked_spec_embed",)  # of training
Config = Mapping[str, object]


class FrameEncoder:
    """Maps a clip to the states of an encoder's frames.

    Args:
        path: A bundle of the model, or of its encoder alone; see `crossmodal.io.bundles`.
        config: Keys of transformers' configuration, with `model_type`; empty: those of the bundle.

    Attributes:
        network: The encoder, for evaluation only.
        layers: How many layers it has.

    Raises:
        CrossmodalError: If transformers is not installed, or the file is no such model.
    """

    network: nn.Module

    def __init__(self, path: Path, config: Config) -> None:
        if not find_spec("transformers"):
            raise CrossmodalError(f"{path}: needs transformers; {ENCODERS}")
        facts, self.extractor = _facts(path, config)
        self.network = _load(path, facts)
        self.layers: int = facts.num_hidden_layers

    @torch.inference_mode()
    def frames(self, samples: torch.Tensor, layers: Sequence[int]) -> torch.Tensor:
        """Return the mean of some layers' states for one clip, (frames, width).

        Whisper hears 30 seconds, of which the frames of the clip are returned. A clip shorter than
        a frame is padded with silence.

        Args:
            samples: Of the clip at 16 kHz, (samples,).
            layers: Numbers of layers, from 1; none: the last one.
        """
        clip = nn.functional.pad(samples.cpu(), (0, max(0, SHORTEST - len(samples))))
        inputs = self.extractor(clip.numpy(), sampling_rate=RATE, return_tensors="pt")
        device = next(self.network.parameters()).device
        states = self.network(**inputs.to(device), output_hidden_states=True).hidden_states
        mean = torch.stack([states[layer][0] for layer in layers or [self.layers]]).mean(0)
        heard = max(len(clip), getattr(self.extractor, "n_samples", 0))
        return mean[: -(-len(mean) * len(clip) // heard)]


def _facts(path: Path, config: Config) -> tuple[Any, Any]:
    """Return the configuration of a network, and transformers' maker of its input."""
    from transformers import AutoConfig, AutoFeatureExtractor
    from transformers.models.auto import feature_extraction_auto

    local = {"local_files_only": True, "trust_remote_code": False}
    defaults: Any = feature_extraction_auto.FEATURE_EXTRACTOR_MAPPING
    try:
        with small_files(path, *([] if config else [CONFIG])) as folder:
            if config:
                facts: Any = AutoConfig.for_model(**dict[str, Any](config))
            else:
                facts = AutoConfig.from_pretrained(folder, **local)
            if (folder / EXTRACTOR).exists():
                extractor = AutoFeatureExtractor.from_pretrained(folder, **local)
            else:
                bins = getattr(facts, "num_mel_bins", None)
                extractor = defaults[type(facts)](**({"feature_size": bins} if bins else {}))
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise CrossmodalError(
            f"{path}: is no encoder of speech that transformers can build: {reason}"
        ) from error
    if extractor.model_input_names[0] not in ("input_values", "input_features"):
        raise CrossmodalError(f"{path}: {facts.model_type} does not read speech")
    return facts, extractor


def _load(path: Path, config: "PreTrainedConfig") -> nn.Module:
    """Return the encoder with its weights in float32; a decoder's are not needed."""
    from transformers.models.auto import modeling_auto

    networks: Any = modeling_auto.MODEL_MAPPING
    try:
        with _silence():
            model, report = networks[type(config)].from_pretrained(
                None,
                config=config,
                state_dict=read_tensors(path),
                dtype=torch.float32,
                output_loading_info=True,
            )
    except (RuntimeError, ValueError, KeyError) as error:
        raise CrossmodalError(f"{path}: its weights do not fit {config.model_type}") from error
    encoder = _encoder(model)
    part = next(name for name, module in model.named_modules() if module is encoder)
    absent = [key for key in report["missing_keys"] if key.startswith(part)]
    if missing := sorted(key for key in absent if not key.endswith(UNREAD)):
        raise CrossmodalError(
            f"{path}: its weights do not fit {config.model_type}, which needs "
            f"{', '.join(missing[:3])} ..."
        )
    return encoder.eval().requires_grad_(False)


def _encoder(model: "PreTrainedModel") -> nn.Module:
    return model.get_encoder() if model.config.is_encoder_decoder else model


@contextmanager
def _silence() -> "Iterator[None]":
    """Keep transformers from listing a missing decoder's weights."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)
