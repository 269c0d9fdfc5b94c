"""Image files as training input: decoded and cropped at each use."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import torch

from crossmodal.data.feature_file import Ragged
from crossmodal.device import device
from crossmodal.images.crops import Preparation
from crossmodal.io.image_files import read_image

MIRRORED = 0.5


class Pictures:
    """Encoded images.

    Args:
        files: Bytes of each file, uint8.
        ids: Of the items, for messages.
        preparation: Input format of the network.
    """

    def __init__(self, files: Ragged, ids: list[str], preparation: Preparation) -> None:
        self.files, self.ids, self.preparation = files, ids, preparation

    def __len__(self) -> int:
        return len(self.files)

    def crops(self, rows: np.ndarray, count: Literal[1, 10]) -> torch.Tensor:
        """Fixed crops of the middle square, (count, b, 3, crop, crop), the centre first.

        Args:
            rows: Which images, (b,).
            count: See `Preparation.crops`.
        """
        squares = self._each(rows, lambda *file: self.preparation.square(*file, "short"))
        crops = self.preparation.crops(torch.stack(squares).to(device()), count)
        return crops.unflatten(0, (count, -1))

    def random_crops(self, rows: np.ndarray, mirror: bool) -> torch.Tensor:
        """A random part of each image, (b, 3, crop, crop), mirrored with probability 1/2.

        Args:
            rows: Which images, (b,).
            mirror: Whether any are mirrored.
        """
        # random draws must not depend on the order of decoding
        cut = [self.preparation.random_crop(image) for image in self._each(rows, read_image)]
        pixels = self.preparation.normalised(torch.stack(cut).to(device()))
        flipped = torch.rand(len(rows)) < MIRRORED * mirror
        return torch.where(flipped.to(pixels.device)[:, None, None, None], pixels.flip(3), pixels)

    def _each(self, rows: np.ndarray, read: Any) -> list[Any]:
        """`read` applied to the content and the name of each file, in threads."""
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            contents = [self.files[row].tobytes() for row in rows]
            return list(pool.map(read, contents, [f"image {self.ids[row]!r}" for row in rows]))
