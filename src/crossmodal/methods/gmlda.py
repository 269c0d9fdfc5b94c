"""GMLDA: LDA of each view plus alignment of the views, in one eigenproblem (Sharma et al. 2012).

    maximise  v1'W1 v1 + mu v2'W2 v2 + 2 alpha v1'Z1 Z2'v2   s.t.  v1'D1 v1 + gamma v2'D2 v2 = 1

W is the between-class and D the within-class scatter; the columns of Z1 and Z2 correspond: they
are the pairs, or the class means. PCA reduces each view first. Retrieval by the cosine.

Source: A. Sharma, A. Kumar, H. Daume III, D. W. Jacobs, Generalized multiview analysis: a
discriminative latent space, CVPR 2012. Cost: about four (p + q + C)^2 float64 matrices (0.9 GB at
4,096 + 1,000 + 81 columns), one pass over the rows; the eigenproblem has the size that PCA leaves.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split
from crossmodal.learning.method import Run
from crossmodal.methods._linear.inputs import Inputs
from crossmodal.methods._linear.moments import Blocks, scatter
from crossmodal.methods._linear.pencil import block_pencil
from crossmodal.methods._linear.projection import Projection, SubspaceOptions
from crossmodal.methods._linear.whitening import mean_diagonal, principal_directions
from crossmodal.plugin import NotNegative

CLASSES = "classes"


class GMLDA(Projection):
    """GMLDA in closed form, on one label per labelled item, drawn if it has several.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import GMLDA
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> gmlda = GMLDA(dims=2).fit(sepals, petals, species)
        >>> gmlda.score(sepals, petals, species) > 0.4
        True
    """

    class Options(SubspaceOptions):
        """Options of the objective."""

        alignment: Literal["all", "mean"] = Field(
            "all",
            description="Columns of Z1 and Z2: 'all' the pairs, 'mean' the means of the classes.",
        )
        alpha: NotNegative = Field(description="Weight alpha of the alignment.")
        balance: bool = Field(
            False,
            description="Whether gamma = tr D1 / tr D2, mu = tr W1 / tr W2, and alpha is in units "
            "of tr W1 / nuclear norm of Z1 Z2'; otherwise gamma = mu = 1, and alpha is as given.",
        )
        ridge: NotNegative = Field(description="Ridge of each D, in units of its mean diagonal.")
        pca_energy: float = Field(
            0.95, gt=0, le=1, description="Share of a view's variance that PCA keeps."
        )

    options: Options

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; the seed draws the label of items that have several.

        Raises:
            CrossmodalError: If labels do not tell items apart or no two items share one, `dims`
                exceeds the number of directions, or the within-class scatter is singular.
        """
        views, counts = _labelled_inputs(train, np.random.default_rng(run.seed))
        first, second = (m for m in views if m != CLASSES)
        moments = scatter(views)
        energy = self.options.pca_energy
        bases = {m: principal_directions(moments[m, m], energy) for m in (first, second)}
        sums = {m: a.T @ moments[m, CLASSES] for m, a in bases.items()}  # of each class, (d, C)
        between = {m: s / counts @ s.T for m, s in sums.items()}
        within = {m: a.T @ moments[m, m] @ a - between[m] for m, a in bases.items()}
        if self.options.alignment == "all":
            align = bases[first].T @ moments[first, second] @ bases[second]
        else:
            align = (sums[first] / counts) @ (sums[second] / counts).T
        values, maps = self._solve(between, within, align)
        self.keep({m: views[m] for m in bases}, {m: a @ maps[m] for m, a in bases.items()})
        self.arrays["values"] = values

    def _solve(
        self, between: dict[str, np.ndarray], within: dict[str, np.ndarray], align: np.ndarray
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Solve for eigenvalues (k,) and directions (d, k) of each view."""
        first, second = between
        gamma, mu, alpha, ridge = 1.0, 1.0, self.options.alpha, self.options.ridge
        if self.options.balance:
            gamma = np.trace(within[first]) / np.trace(within[second])
            mu = np.trace(between[first]) / np.trace(between[second])
            alpha *= np.trace(between[first]) / np.linalg.norm(align, "nuc")
        relations: Blocks = {
            (first, first): between[first],
            (first, second): alpha * align,
            (second, first): alpha * align.T,
            (second, second): mu * between[second],
        }
        constraints = {
            m: scale * (d + ridge * mean_diagonal(d) * np.eye(len(d)))
            for (m, d), scale in zip(within.items(), (1.0, gamma), strict=True)
        }
        return block_pencil(relations, constraints, self.options.dims)


def _labelled_inputs(
    train: Split, rng: np.random.Generator
) -> tuple[dict[str, Inputs], np.ndarray]:
    """Return the labelled pairs, their classes as a third view, and the class sizes (C,)."""
    require_labels(train, positives=True)
    owners, rows = train.pairs()
    chances = rng.random(train.labels.shape) * train.labels
    classes = np.eye(train.labels.shape[1])[chances.argmax(axis=1)]
    labelled = np.asarray(train.labels.any(axis=1))[owners]
    owners = owners[labelled]
    counts = classes[owners].sum(axis=0)
    present = counts > 0
    views = {
        m: Inputs(view.vectors(), "centre", rows[m][labelled])
        for m, view in train.two_views().items()
    }
    return views | {CLASSES: Inputs(classes[:, present], "centre", owners)}, counts[present]
