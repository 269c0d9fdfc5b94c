"""Crops of encoded images, as a network sees them.

An image is resized to a square, of which the network sees a slightly smaller part: the centre, or
ten crops, which are the centre, the four corners, and their mirror images.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from PIL.Image import Image
from torch import Tensor
from torch.nn.functional import interpolate

from crossmodal.io.image_files import read_image

Resize = Literal["warp", "short"]

SCALES, RATIOS = (0.08, 1.0), (3 / 4, 4 / 3)  # of random crops: share of the area, width to height


@dataclass(frozen=True)
class Preparation:
    """Preparation of images for a network; by default as for torchvision's.

    Args:
        side: Side of the square that an image is resized to, in pixels.
        crop: Side of the part of it that the network sees.
        mean: Of the images that the network was trained on, RGB in [0, 1].
        deviation: Standard deviation of these.
        interpolation: Filter of the resizing.
    """

    side: int = 256
    crop: int = 224
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    deviation: tuple[float, float, float] = (0.229, 0.224, 0.225)
    interpolation: Literal["bilinear", "bicubic"] = "bilinear"

    def square(self, content: bytes, name: str, resize: Resize) -> Tensor:
        """Decode an image to a square, (side, side, 3) uint8 RGB.

        Args:
            content: An image file; see `crossmodal.io.image_files`.
            name: What the image is called in messages.
            resize: 'warp' changes the aspect ratio; 'short' fits the short side and keeps the
                middle of the long one.

        Raises:
            CrossmodalError: If the image cannot be read.
        """
        image = read_image(content, name)
        if resize == "short":
            short = min(image.size)
            left, top = ((side - short) // 2 for side in image.size)
            image = image.crop((left, top, left + short, top + short))
        return self._resize(image, self.side)

    def random_crop(self, image: Image) -> Tensor:
        """Draw a part of an image as torchvision does for training, (crop, crop, 3) uint8 RGB.

        Args:
            image: In mode RGB.
        """
        from torchvision.transforms import RandomResizedCrop

        top, left, height, width = RandomResizedCrop.get_params(image, SCALES, RATIOS)
        part = image.crop((left, top, left + width, top + height))
        return self._resize(part, self.crop)

    def crops(self, squares: Tensor, count: Literal[1, 10]) -> Tensor:
        """Cut and normalise squares (n, side, side, 3): (count * n, 3, crop, crop), crop by crop.

        Args:
            squares: uint8 RGB.
            count: The centre, or also the four corners and the mirror images of all five.
        """
        pixels, far = self.normalised(squares), self.side - self.crop
        corners = [(0, 0), (0, far), (far, 0), (far, far)] if count == 10 else []
        windows = [
            pixels[..., top : top + self.crop, left : left + self.crop]
            for top, left in [(round(far / 2),) * 2, *corners]
        ]
        mirrored = [window.flip(-1) for window in windows] if count == 10 else []
        return torch.cat(windows + mirrored)

    def normalised(self, images: Tensor) -> Tensor:
        """Return images (n, h, w, 3) uint8 in the input format: (n, 3, h, w), channels last."""
        # rows with interleaved colours are contiguous, which is 15 times as fast
        width = images.shape[2]
        statistics = images.new_tensor([self.mean, self.deviation], dtype=torch.float32)
        mean, deviation = statistics.repeat(1, width)
        pixels = images.flatten(2).float().div_(255).sub_(mean).div_(deviation)  # (n, h, 3 w)
        return pixels.unflatten(2, (width, 3)).permute(0, 3, 1, 2)

    def _resize(self, image: Image, side: int) -> Tensor:
        """Resize an image to a square, (side, side, 3)."""
        pixels = torch.from_numpy(np.array(image))[None].permute(0, 3, 1, 2)  # (1, 3, h, w)
        # the pixels of Pillow's own filters, in a third of its time
        resized = interpolate(pixels, (side, side), mode=self.interpolation, antialias=True)
        return resized[0].permute(1, 2, 0)
