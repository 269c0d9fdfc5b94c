"""KCCA: CCA between the kernel feature spaces of two views (Hardoon et al. 2004).

The kernels are approximated from landmarks among the training rows (Nystroem); with as many
landmarks as pairs they are exact. The features are centred, and whitened by the shrunk covariances
(1 - c) S + c I, which is KCCA with the constraint a'((1 - c) K^2 / (n - 1) + c K) a = 1.

Source: D. R. Hardoon, S. Szedmak, J. Shawe-Taylor, Canonical correlation analysis: an overview with
application to learning methods, Neural Computation 16(12), 2004. Cost with m landmarks: about four
(2 m)^2 float64 matrices (0.5 GB at m = 2,000); time n m (2 (p + q) + 6 m) and solvers of size m;
at 40,000 pairs of 4,096 + 1,000 columns, at most 2.5 GB with the features and 2 minutes of one
core.
"""

import numpy as np
from pydantic import Field
from sklearn.metrics.pairwise import rbf_kernel

from crossmodal.data.split import Split, View
from crossmodal.learning.method import Method, Run
from crossmodal.learning.scaling import Scaling, row_blocks
from crossmodal.methods._linear.inputs import Inputs, paired_inputs
from crossmodal.methods._linear.kernels import KernelFeatures, rbf_gamma
from crossmodal.methods._linear.moments import scatter
from crossmodal.methods._linear.projection import ProjectionOptions, usable_dims
from crossmodal.methods._linear.whitening import canonical_directions, whitener
from crossmodal.plugin import Count, Positive


class KCCA(Method):
    """Kernel CCA; retrieval by the cosine of the variates.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import KCCA
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> kcca = KCCA(dims=2).fit(sepals, petals, species)
        >>> kcca.score(sepals, petals, species) > 0.4
        True
    """

    task = "category"

    class Options(ProjectionOptions):
        """Options of the kernels and of the regularisation."""

        width: Positive = Field(
            description="Factor f of the kernel exp(-f |x - z|^2 / mean squared training distance)."
        )
        shrinkage: float = Field(
            ge=0,
            lt=1,
            description="Shrinkage c; at 0 a kernel of full rank fits any training set perfectly.",
        )
        landmarks: Count = Field(
            2000,
            description="Training pairs drawn for the kernel features; all if there are no more.",
        )

    options: Options

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; the seed draws the landmarks.

        Raises:
            CrossmodalError: If a view's kernel features have no rank.
        """
        views = paired_inputs(train, self.options.scaling)
        features = self._kernel_features(views, np.random.default_rng(run.seed))
        rows = np.arange(len(next(iter(views.values()))))
        mapped = {m: Inputs(f, "centre", rows) for m, f in features.items()}  # centred
        shrinkage = self.options.shrinkage
        covariances = {
            pair: (1 - shrinkage) * s / (len(rows) - 1) for pair, s in scatter(mapped).items()
        }
        first, second = views
        whiteners = [whitener(covariances[m, m], shrinkage) for m in views]
        rank = min(h.shape[1] for h in whiteners)
        dims = usable_dims(run.label, self.options.dims, rank, views)
        cross = covariances[first, second] / (1 - shrinkage)
        a, rho, b = canonical_directions(whiteners[0], cross, whiteners[1])
        self.arrays = {"correlations": rho}
        for modality, directions in ((first, a), (second, b)):
            self._keep(modality, features[modality], mapped[modality], directions[:, :dims])

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Return kernel variates (rows, k) of one view."""
        mean, scale, landmarks, coefficients, offset, gamma = (
            self.arrays[f"{name}.{modality}"]
            for name in ("mean", "scale", "landmarks", "coefficients", "offset", "gamma")
        )
        features = view.vectors()
        scaling = Scaling(self.options.scaling, mean, scale)
        parts = []
        for block in row_blocks(len(features)):
            x = scaling.transform(features[block])
            parts.append(rbf_kernel(x, landmarks, float(gamma)) @ coefficients - offset)
        return np.concatenate(parts)

    def _kernel_features(
        self, views: dict[str, Inputs], rng: np.random.Generator
    ) -> dict[str, KernelFeatures]:
        """Return features of both views, from the same landmarks."""
        options = self.options
        count = len(next(iter(views.values())))
        drawn = np.sort(rng.permutation(count)[: options.landmarks])
        return {
            m: KernelFeatures(view, drawn, rbf_gamma(view, options.width))
            for m, view in views.items()
        }

    def _keep(
        self, modality: str, features: KernelFeatures, mapped: Inputs, directions: np.ndarray
    ) -> None:
        """Store what `embed` needs of one modality, from directions (r, k)."""
        values = {
            **features.view.scaling.state(),
            "landmarks": features.landmarks,
            "coefficients": features.basis @ directions,
            "offset": mapped.scaling.mean @ directions,
            "gamma": np.array(features.gamma),
        }
        self.arrays |= {f"{name}.{modality}": value for name, value in values.items()}
