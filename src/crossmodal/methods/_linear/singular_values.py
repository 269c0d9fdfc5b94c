"""Soft thresholding of singular values: the proximal step of the nuclear norm."""

import torch


def soft_threshold(matrix: torch.Tensor, threshold: float) -> torch.Tensor:
    """The minimiser X of 1/2 |X - matrix|_F^2 + threshold |X|_*.

    Args:
        matrix: (p, q).
        threshold: >= 0.
    """
    left, right = soft_threshold_factors(matrix, threshold)
    return left @ right.T


def soft_threshold_factors(
    matrix: torch.Tensor, threshold: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Factors (p, r) and (q, r) of the minimiser, of rank r; each has the norm |X|_*^(1/2)."""
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    kept = values > threshold
    roots = (values[kept] - threshold).sqrt()
    # contiguous like a loaded checkpoint, so that a resumed fit sums in the same order
    return (left[:, kept] * roots).contiguous(), (right[kept].T * roots).contiguous()
