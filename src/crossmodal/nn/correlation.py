"""The total canonical correlation of two sets of outputs, differentiable.

    S11 = H1'H1 / (n - 1) + r I,  S22 likewise,  S12 = H1'H2 / (n - 1),  of centred H1, H2
    T = S11^-1/2 S12 S22^-1/2 = U D V',    corr = tr D

with the gradient in closed form, which has no differences of eigenvalues to divide by:

    dcorr/dH1 = (2 H1 N11 + H2 N12') / (n - 1),  N12 = S11^-1/2 U V' S22^-1/2
                                                 N11 = -1/2 S11^-1/2 U D U' S11^-1/2

Source: Andrew, Arora, Bilmes and Livescu, ICML 2013, section 3.
"""

import torch

from crossmodal.errors import CrossmodalError


def total_correlation(first: torch.Tensor, second: torch.Tensor, ridge: float) -> torch.Tensor:
    """Sum all canonical correlations, a scalar in float64.

    Args:
        first: H1 (n, o), any precision.
        second: H2 (n, o).
        ridge: r, absolute.

    Raises:
        CrossmodalError: If there are no more rows than outputs: any outputs then correlate fully.
    """
    if len(first) <= first.shape[1]:
        raise CrossmodalError(
            f"a batch of {len(first)} pairs is too small for the correlation of {first.shape[1]} "
            "outputs; raise batch, best to several times the outputs, or lower dims"
        )
    return _TotalCorrelation.apply(first, second, ridge)


class _TotalCorrelation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, first, second, ridge):
        count = len(first) - 1
        h1, h2 = (h.double() - h.double().mean(0) for h in (first, second))
        root1, root2 = (_inverse_root(h.T @ h / count, ridge) for h in (h1, h2))
        u, d, v = torch.linalg.svd(root1 @ (h1.T @ h2 / count) @ root2)
        left, right = root1 @ u, root2 @ v.T
        between = left @ right.T
        gradients = (
            (h2 @ between.T - h1 @ (left * d) @ left.T) / count,
            (h1 @ between - h2 @ (right * d) @ right.T) / count,
        )
        ctx.save_for_backward(*(g.to(first.dtype) for g in gradients))
        return d.sum()

    @staticmethod
    def backward(ctx, upstream):
        first, second = ctx.saved_tensors
        return (upstream * first).to(first.dtype), (upstream * second).to(second.dtype), None


def _inverse_root(covariance: torch.Tensor, ridge: float) -> torch.Tensor:
    """Return (C + ridge I)^-1/2 for a covariance (o, o)."""
    values, vectors = torch.linalg.eigh(covariance)
    return vectors / (values + ridge).sqrt() @ vectors.T
