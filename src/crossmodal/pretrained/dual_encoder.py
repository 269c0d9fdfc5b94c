"""Dual encoders, such as CLIP and SigLIP: open_clip's, from one file.

Sources: A. Radford et al., Learning transferable visual models from natural language supervision,
ICML 2021; X. Zhai et al., Sigmoid loss for language image pre-training, ICCV 2023. open_clip builds
model, tokenizer and image transform from the bundle's open_clip_config.json, without a network and
without anybody's code.
"""

import logging
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from PIL.Image import Image

from crossmodal.errors import ENCODERS, CrossmodalError
from crossmodal.io.bundles import small_files
from crossmodal.io.files import JsonObject, read_json

CONFIG = "open_clip_config.json"
Tokenizer = Callable[[list[str]], torch.Tensor]
Transform = Callable[[Image], torch.Tensor]
REMOTE = "trust_remote_code"
# what open_clip raises for configurations that make no sense
BROKEN = (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError, AssertionError)


class DualEncoder:
    """Maps images and texts into one space, where pairs have a large cosine.

    Args:
        path: A bundle of the model; see `crossmodal.io.bundles`.

    Attributes:
        model: open_clip's model, for evaluation only.
        width: Numbers of an embedding.

    Raises:
        CrossmodalError: If open_clip is not installed, or the file is no such bundle.
    """

    def __init__(self, path: Path) -> None:
        if not find_spec("open_clip"):
            raise CrossmodalError(f"{path}: needs open_clip; {ENCODERS}")
        with small_files(path, CONFIG) as folder:
            config = read_json(folder / CONFIG)
            _check(path, config, folder)
            try:
                self.model, self._tokenizer, self._transform = _make(folder, config)
            except BROKEN as error:
                raise CrossmodalError(
                    f"{path}: open_clip cannot build this model: {error}"
                ) from error
        _load(path, self.model)
        self.width: int = config["model_cfg"]["embed_dim"]

    def pixels(self, images: Sequence[Image]) -> torch.Tensor:
        """Return Pillow's images in the model's input format, (n, 3, h, w)."""
        return torch.stack([self._transform(image) for image in images])

    @torch.inference_mode()
    def encode_images(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return unit vectors (n, width) of `pixels`, on their device."""
        return self.model.encode_image(pixels, normalize=True)

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str], device: torch.device) -> torch.Tensor:
        """Return unit vectors (n, width) of texts, which are cut to the model's length."""
        return self.model.encode_text(self._tokenizer([*texts]).to(device), normalize=True)


def _check(path: Path, config: JsonObject, folder: Path) -> None:
    """Refuse what would need a network, or somebody's code."""
    text = config.get("model_cfg", {}).get("text_cfg", {})
    if "hf_model_name" in text:
        raise CrossmodalError(
            f"{path}: its text encoder is {text['hf_model_name']} of another repository, which is "
            "not supported; take a model whose text encoder is open_clip's"
        )
    name = config.get("model_cfg", {}).get("vision_cfg", {}).get("timm_model_name", "")
    if ":" in name:
        raise CrossmodalError(
            f"{path}: its image encoder is {name}, of another place; take a model whose image "
            "encoder is one of timm's by name"
        )
    if REMOTE in text.get("tokenizer_kwargs", {}):
        raise CrossmodalError(f"{path}: its tokenizer asks for {REMOTE}, which is refused")
    if "hf_tokenizer_name" not in text:
        return
    if not (folder / "tokenizer.json").exists():
        raise CrossmodalError(f"{path}: has no tokenizer.json, which its {CONFIG} needs")
    if not find_spec("transformers"):
        raise CrossmodalError(f"{path}: its tokenizer needs transformers; {ENCODERS}")


def _make(folder: Path, config: JsonObject) -> tuple[Any, Tokenizer, Transform]:
    """Make the model with unset weights, its tokenizer and transform of images."""
    import open_clip
    from open_clip.transform import PreprocessCfg, image_transform_v2, merge_preprocess_dict

    source = f"local-dir:{folder}"
    logging.disable(logging.WARNING)  # that there are no weights in the folder yet
    try:
        model = open_clip.create_model(source, load_weights=False, pretrained_text=False)
    finally:
        logging.disable(logging.NOTSET)
    prepared = merge_preprocess_dict(PreprocessCfg(), config.get("preprocess_cfg", {}))
    transform = image_transform_v2(PreprocessCfg(**prepared), is_train=False)
    return model, open_clip.get_tokenizer(source), transform


def _load(path: Path, model: Any) -> None:
    from open_clip import load_checkpoint

    try:
        load_checkpoint(model, str(path))
    except BROKEN as error:
        raise CrossmodalError(f"{path}: its weights do not fit its {CONFIG}: {error}") from error
    model.eval().requires_grad_(False)
