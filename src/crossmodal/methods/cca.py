"""CCA: the linear maps under which paired views correlate most (Hotelling 1936).

Maximises tr(A' Sxy B) subject to A' Sxx A = B' Syy B = I, where Sxx and Syy carry a ridge.
Retrieval by the cosine of the canonical variates (Rasiwasia et al., ACM MM 2010), weighted by the
canonical correlations to the power s; s = 0 is the plain form.

Cost of n pairs of p + q columns: about four (p + q)^2 float64 matrices (0.8 GB at 4,096 + 1,000),
one pass over the rows and dense solvers of size p; at 40,000 pairs, at most 2.5 GB with the
features and a minute of one core.
"""

import warnings
from typing import Annotated

from pydantic import Field

from crossmodal.data import Split
from crossmodal.linear.inputs import paired_inputs
from crossmodal.linear.moments import scatter
from crossmodal.linear.projection import Projection, require_rank
from crossmodal.linear.whitening import canonical_directions, mean_diagonal, whitener
from crossmodal.methods.base import Run


class CCA(Projection):
    """Ridge CCA in closed form.

    Args:
        dims: Size k of the shared space.
        ridge: kappa; each covariance gets kappa times its mean diagonal.
        power: s, exponent of the canonical correlations in the embedding.
    """

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        ridge: Annotated[float, Field(ge=0)],
        power: Annotated[float, Field(ge=0)],
    ) -> None:
        self.dims = dims
        self.ridge = ridge
        self.power = power

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; nothing is random, so the seed does not matter.

        Raises:
            CrossmodalError: If `dims` exceeds the rank of a view.
        """
        views = paired_inputs(train, self.input_norm)
        first, second = views
        count = len(views[first])
        moments = {pair: s / (count - 1) for pair, s in scatter(views).items()}
        whiteners = {
            m: whitener(moments[m, m], self.ridge * mean_diagonal(moments[m, m])) for m in views
        }
        ranks = [h.shape[1] for h in whiteners.values()]
        require_rank(run.label, self.dims, min(ranks), views)
        if not self.ridge and sum(ranks) >= count:
            warnings.warn(
                f"{run.label}: ridge is 0 and {count} pairs are too few for {first} and {second}: "
                "canonical correlations of 1 mean nothing; raise ridge",
                stacklevel=2,
            )
        cross = moments[first, second]
        a, rho, b = canonical_directions(whiteners[first], cross, whiteners[second])
        weight = rho[: self.dims] ** self.power
        self.keep(views, {first: a[:, : self.dims] * weight, second: b[:, : self.dims] * weight})
        self.arrays["correlations"] = rho
