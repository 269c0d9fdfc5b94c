"""From encoded images to the crops that a network sees.

Ten crops: the centre and the four corners of a square of 256 pixels, and their mirror images.
"""

import io
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from crossmodal.errors import CrossmodalError

# not PostScript and the like, which Pillow would have another program run
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
PIXELS = 100_000_000
Resize = Literal["warp256", "short256"]

SIDE, CROP = 256, 224
SCALES, RATIOS = (0.08, 1.0), (3 / 4, 4 / 3)  # of random crops: share of the area, width to height
WINDOWS = ((16, 16), (0, 0), (0, 32), (32, 0), (32, 32))  # top, left; the centre first
# of the images that torchvision's networks were trained on, RGB in [0, 1]
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def square(content: bytes, member: str, resize: Resize) -> Tensor:
    """Decode an image to a square, (256, 256, 3) uint8 RGB; EXIF rotation is ignored.

    Args:
        content: An image in one of `FORMATS`, of any colour mode.
        member: Where the image comes from, for messages.
        resize: 'warp256' changes the aspect ratio; 'short256' brings the short side to 256 pixels
            and keeps the middle of the long one.

    Raises:
        CrossmodalError: If the image is damaged, cut short or has more than `PIXELS` pixels.
    """
    image = read_image(content, member)
    if resize == "short256":
        short = min(image.size)
        left, top = ((side - short) // 2 for side in image.size)
        image = image.crop((left, top, left + short, top + short))
    return _resize(image, SIDE)


def random_crop(image: Any) -> Tensor:
    """A random part of an image, (224, 224, 3) uint8 RGB, as torchvision draws it for training.

    Args:
        image: In mode RGB.
    """
    from torchvision.transforms import RandomResizedCrop

    top, left, height, width = RandomResizedCrop.get_params(image, SCALES, RATIOS)
    return _resize(image.crop((left, top, left + width, top + height)), CROP)


def _resize(image: Any, side: int) -> Tensor:
    """The image as a square, (side, side, 3)."""
    pixels = torch.from_numpy(np.array(image))[None].permute(0, 3, 1, 2)  # (1, 3, h, w)
    # the pixels of Pillow's own bilinear filter, in a third of its time
    resized = interpolate(pixels, (side, side), mode="bilinear", antialias=True)
    return resized[0].permute(1, 2, 0)


def read_image(content: bytes, member: str) -> Any:
    """Decode an image to one of Pillow's, in mode RGB; EXIF rotation is ignored.

    Args:
        content: An image in one of `FORMATS`, of any colour mode.
        member: Where the image comes from, for messages.

    Raises:
        CrossmodalError: If the image is damaged, cut short or has more than `PIXELS` pixels.
    """
    try:
        return _decode(content)
    except Exception as error:  # Pillow's readers raise anything on damaged files
        raise CrossmodalError(
            f"media.zip: {member!r} is no whole image ({error}); replace the raw file and "
            "prepare the dataset again"
        ) from error


def _decode(content: bytes) -> Any:
    from PIL import Image

    image = Image.open(io.BytesIO(content), formats=FORMATS)
    if not 0 < image.width * image.height <= PIXELS:
        raise ValueError(f"{image.width} x {image.height} pixels")
    image.load()
    if image.mode.startswith("I"):  # 16 bits; converting would clip them
        image = image.point(lambda value: value * (1 / 257)).convert("L")
    return image if image.mode == "RGB" else image.convert("RGB")  # or it would be copied


def crops(squares: Tensor, count: Literal[1, 10]) -> Tensor:
    """Cut and normalise squares (n, 256, 256, 3): (count * n, 3, 224, 224), crop by crop."""
    pixels = normalised(squares)
    windows = [
        pixels[..., top : top + CROP, left : left + CROP]
        for top, left in (WINDOWS if count == 10 else WINDOWS[:1])
    ]
    mirrored = [window.flip(-1) for window in windows] if count == 10 else []
    return torch.cat(windows + mirrored)


def normalised(images: Tensor) -> Tensor:
    """Images (n, h, w, 3) uint8 as networks want them: (n, 3, h, w), channels last in memory."""
    # each row with its colours as one run of numbers, which is 15 times as fast
    width = images.shape[2]
    mean, deviation = images.new_tensor([MEAN, DEVIATION], dtype=torch.float32).repeat(1, width)
    pixels = images.flatten(2).float().div_(255).sub_(mean).div_(deviation)  # (n, h, 3 w)
    return pixels.unflatten(2, (width, 3)).permute(0, 3, 1, 2)
