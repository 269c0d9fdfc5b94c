"""Canonical correlation analysis of given covariances."""

from pydantic import Field

from crossmodal.methods._linear.inputs import Inputs
from crossmodal.methods._linear.moments import Blocks
from crossmodal.methods._linear.projection import Projection, SubspaceOptions, usable_dims
from crossmodal.methods._linear.whitening import canonical_directions, mean_diagonal, whitener
from crossmodal.plugin import NotNegative


class CanonicalProjection(Projection):
    """Canonical variates, weighted by the canonical correlations to the power s."""

    random = False

    class Options(SubspaceOptions):
        """Options of all forms of CCA."""

        ridge: NotNegative = Field(
            description="Ridge kappa of each covariance, in units of its mean diagonal."
        )
        power: NotNegative = Field(
            description="Exponent s of the canonical correlations in the embedding."
        )

    options: Options

    def solve(self, label: str, views: dict[str, Inputs], covariances: Blocks) -> list[int]:
        """Store the maps that maximise tr(A' Sxy B) subject to A' Sxx A = B' Syy B = I.

        Args:
            label: Name of the run, for messages.
            views: Both views.
            covariances: Sxx, Syy and Sxy, without the ridge.

        Returns:
            Ranks of Sxx and Syy.

        Raises:
            CrossmodalError: If a view has no rank.
        """
        options = self.options
        first, second = views
        own = [covariances[m, m] for m in views]
        whiteners = [whitener(c, options.ridge * mean_diagonal(c)) for c in own]
        ranks = [h.shape[1] for h in whiteners]
        dims = usable_dims(label, options.dims, min(ranks), views)
        a, rho, b = canonical_directions(whiteners[0], covariances[first, second], whiteners[1])
        weight = rho[:dims] ** options.power
        maps = {first: a[:, :dims] * weight, second: b[:, :dims] * weight}
        self.keep(views, maps)
        self.arrays["correlations"] = rho
        return ranks
