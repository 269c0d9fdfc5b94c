"""Soft thresholding of singular values: the proximal step of the nuclear norm."""

import torch


def soft_threshold(matrix: torch.Tensor, threshold: float) -> torch.Tensor:
    """The minimiser X of 1/2 |X - matrix|_F^2 + threshold |X|_*.

    Args:
        matrix: (p, q).
        threshold: >= 0.
    """
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    return (left * (values - threshold).clamp(min=0)) @ right
