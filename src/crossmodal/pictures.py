"""Image files as training input: decoded when they are needed, and cut anew each time."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import torch

from crossmodal import vision
from crossmodal.devices import device
from crossmodal.store import Ragged

MIRRORED = 0.5


class Pictures:
    """Encoded images.

    Args:
        files: Bytes of each file, uint8.
        ids: Of the items, for messages.
    """

    def __init__(self, files: Ragged, ids: list[str]) -> None:
        self.files, self.ids = files, ids

    def __len__(self) -> int:
        return len(self.files)

    def crops(self, rows: np.ndarray, count: Literal[1, 10]) -> torch.Tensor:
        """Fixed crops with the short side at 256 pixels, (count, b, 3, 224, 224), the centre first.

        Args:
            rows: Which images, (b,).
            count: See `vision.crops`.
        """
        squares = self._each(rows, lambda *file: vision.square(*file, "short256"))
        return vision.crops(torch.stack(squares).to(device()), count).unflatten(0, (count, -1))

    def random_crops(self, rows: np.ndarray, mirror: bool) -> torch.Tensor:
        """A random part of each image, resized to (b, 3, 224, 224); a half of them mirrored.

        Args:
            rows: Which images, (b,).
            mirror: Whether any are mirrored.
        """
        # what is drawn must not depend on which image is decoded first
        cut = [vision.random_crop(image) for image in self._each(rows, vision.read_image)]
        pixels = vision.normalised(torch.stack(cut).to(device()))
        flipped = torch.rand(len(rows)) < MIRRORED * mirror
        return torch.where(flipped.to(pixels.device)[:, None, None, None], pixels.flip(3), pixels)

    def _each(self, rows: np.ndarray, read: Any) -> list[Any]:
        """What `read` makes of the content and the name of each file."""
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            contents = [self.files[row].tobytes() for row in rows]
            return list(pool.map(read, contents, [self.ids[row] for row in rows]))
