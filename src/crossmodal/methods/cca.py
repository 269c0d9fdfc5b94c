"""CCA: linear maps that maximise the correlation of paired views (Hotelling 1936).

Maximises tr(A' Sxy B) subject to A' Sxx A = B' Syy B = I, where Sxx and Syy carry a ridge.
Retrieval by the cosine of the canonical variates (Rasiwasia et al., ACM MM 2010), weighted by the
canonical correlations to the power s; s = 0 is standard CCA.

Source: H. Hotelling, Relations between two sets of variates, Biometrika 28, 1936.
Cost of n pairs of p + q columns: about four (p + q)^2 float64 matrices (0.8 GB at 4,096 + 1,000),
one pass over the rows and dense solvers of size p; at 40,000 pairs, at most 2.5 GB with the
features and one minute of one core.
"""

import warnings

from crossmodal.data.split import Split
from crossmodal.learning.method import Run
from crossmodal.methods._linear.canonical import CanonicalProjection
from crossmodal.methods._linear.inputs import paired_inputs
from crossmodal.methods._linear.moments import scatter


class CCA(CanonicalProjection):
    """Ridge CCA in closed form.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import CCA
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> cca = CCA(dims=2).fit(sepals, petals, species)
        >>> cca.score(sepals, petals, species) > 0.4
        True
    """

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; warns of canonical correlations that are 1 for want of pairs.

        Raises:
            CrossmodalError: If a view has no rank.
        """
        views = paired_inputs(train, self.scaling)
        first, second = views
        count = len(views[first])
        covariances = {pair: s / (count - 1) for pair, s in scatter(views).items()}
        ranks = self.solve(run.label, views, covariances)
        if not self.options.ridge and sum(ranks) >= count:
            warnings.warn(
                f"{run.label}: ridge is 0 and {count} pairs are too few for {first} and {second}: "
                "canonical correlations of 1 are meaningless; raise ridge",
                stacklevel=2,
            )
