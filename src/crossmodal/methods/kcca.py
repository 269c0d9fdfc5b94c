"""KCCA: CCA between the kernel feature spaces of two views (Hardoon et al. 2004).

The kernels are given by landmarks among the training rows (Nystroem); with as many landmarks as
pairs the method is exact. The features are centred and blended covariances (1 - c) S + c I whiten
them, which is KCCA with the constraint a'((1 - c) K^2 / (n - 1) + c K) a = 1.

Source: D. R. Hardoon, S. Szedmak, J. Shawe-Taylor, Canonical correlation analysis: an overview with
application to learning methods, Neural Computation 16(12), 2004. Cost with m landmarks: about four
(2 m)^2 float64 matrices (0.5 GB at m = 2,000); time n m (2 (p + q) + 6 m) and solvers of size m;
at 40,000 pairs of 4,096 + 1,000 columns, at most 2.5 GB with the features and 2 minutes of one
core.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from crossmodal.data import Split, View
from crossmodal.linear.inputs import InputNorm, Inputs, normalised, paired_inputs, row_blocks
from crossmodal.linear.kernels import Kernel, KernelFeatures, kernel_matrix, rbf_gamma
from crossmodal.linear.moments import scatter
from crossmodal.linear.projection import require_rank
from crossmodal.linear.whitening import canonical_directions, whitener
from crossmodal.methods.base import Method, Run


class KCCA(Method):
    """Kernel CCA; retrieval by the cosine of the variates.

    Args:
        dims: Size k of the shared space.
        kernel: Of both views: 'rbf', 'linear' or 'quadratic', see `kernel_matrix`.
        width: f; the RBF kernel is exp(-f |x - z|^2 / mean squared training distance).
        shrinkage: c, [0, 1); 0 fits any training set perfectly if the kernel is of full rank.
        landmarks: Training pairs drawn for the kernel features; all if there are no more.
        input_norm: Scaling of the features, see `Inputs`.
    """

    task = "category"

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        kernel: Kernel,
        width: Annotated[float, Field(gt=0)],
        shrinkage: Annotated[float, Field(ge=0, lt=1)],
        landmarks: Annotated[int, Field(gt=0)],
        input_norm: InputNorm,
    ) -> None:
        self.dims = dims
        self.kernel = kernel
        self.width = width
        self.shrinkage = shrinkage
        self.landmarks = landmarks
        self.input_norm = input_norm

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; the seed draws the landmarks.

        Raises:
            CrossmodalError: If `dims` exceeds the rank of a view's kernel features.
        """
        views = paired_inputs(train, self.input_norm)
        features = self._kernel_features(views, np.random.default_rng(run.seed))
        rows = np.arange(len(next(iter(views.values()))))
        mapped = {m: Inputs(f, "raw", rows) for m, f in features.items()}  # centred
        covariances = {
            pair: (1 - self.shrinkage) * s / (len(rows) - 1) for pair, s in scatter(mapped).items()
        }
        first, second = views
        whiteners = [whitener(covariances[m, m], self.shrinkage) for m in views]
        require_rank(run.label, self.dims, min(h.shape[1] for h in whiteners), views)
        cross = covariances[first, second] / (1 - self.shrinkage)
        a, rho, b = canonical_directions(whiteners[0], cross, whiteners[1])
        self.arrays = {"correlations": rho}
        for modality, directions in ((first, a), (second, b)):
            self._keep(modality, mapped[modality], directions[:, : self.dims])

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Kernel variates (rows, k) of one view."""
        mean, scale, landmarks, coefficients, offset, gamma = (
            self.arrays[f"{name}.{modality}"]
            for name in ("mean", "scale", "landmarks", "coefficients", "offset", "gamma")
        )
        features = view.vectors()
        parts = []
        for block in row_blocks(len(features)):
            x = (normalised(features[block], self.input_norm) - mean) / scale
            parts.append(kernel_matrix(x, landmarks, self.kernel, gamma) @ coefficients - offset)
        return np.concatenate(parts)

    def _kernel_features(
        self, views: dict[str, Inputs], rng: np.random.Generator
    ) -> dict[str, KernelFeatures]:
        count = len(next(iter(views.values())))
        drawn = rng.permutation(count)[: self.landmarks]
        return {
            m: KernelFeatures(view, np.sort(drawn), self.kernel, rbf_gamma(view, self.width))
            for m, view in views.items()
        }

    def _keep(self, modality: str, mapped: Inputs, directions: np.ndarray) -> None:
        """Take over what `embed` needs of one modality, from directions (r, k)."""
        features: KernelFeatures = mapped.features
        values = {
            "mean": features.view.mean,
            "scale": features.view.scale,
            "landmarks": features.landmarks,
            "coefficients": features.basis @ directions,
            "offset": mapped.mean @ directions,
            "gamma": np.array(features.gamma),
        }
        self.arrays |= {f"{name}.{modality}": value for name, value in values.items()}
