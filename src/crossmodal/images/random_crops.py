"""Image files as training input: decoded and cropped at each use."""

import numpy as np
import torch

from crossmodal.data.feature_file import Ragged
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

    def squares(self, rows: np.ndarray) -> torch.Tensor:
        """Return the middle square of each image, (b, side, side, 3) uint8 RGB.

        Args:
            rows: Which images, (b,).

        Raises:
            CrossmodalError: If an image cannot be read; the message names it.
        """
        return torch.stack([self.preparation.square(*self._file(row), "short") for row in rows])

    def random_crops(self, rows: np.ndarray, seed: int, mirror: bool) -> torch.Tensor:
        """Draw a part of each image, (b, crop, crop, 3) uint8 RGB.

        Args:
            rows: Which images, (b,).
            seed: All that is drawn follows from it, whichever process draws.
            mirror: Whether a part is mirrored with probability 1/2.

        Raises:
            CrossmodalError: If an image cannot be read; the message names it.
        """
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            images = [read_image(*self._file(row)) for row in rows]
            cut = torch.stack([self.preparation.random_crop(image) for image in images])
            flipped = torch.rand(len(rows)) < MIRRORED * mirror
        return torch.where(flipped[:, None, None, None], cut.flip(2), cut)

    def _file(self, row: int) -> tuple[bytes, str]:
        """Return the content of a file, and its name in messages."""
        return self.files[row].tobytes(), f"image {self.ids[row]!r}"
