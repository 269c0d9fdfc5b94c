"""Where networks and features live."""

import torch


def device() -> torch.device:
    """The GPU if there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
