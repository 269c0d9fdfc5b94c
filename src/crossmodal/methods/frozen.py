"""No method: scores by the cosine of vectors that lie in one space already, such as CLIP's.

Nothing is learnt, so its rows are references, for what a frozen model does without the training
split.
"""

import numpy as np

from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Method, Run


class Frozen(Method):
    """The vectors as they are.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import Frozen
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> frozen = Frozen().fit(sepals, petals, species)
        >>> frozen.score(sepals, petals, species) > 0.4
        True
    """

    task = "instance"
    random = False

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Check that the vectors of both views may lie in one space.

        Raises:
            CrossmodalError: If they have different widths.
        """
        widths = {m: view.vectors().shape[1] for m, view in train.two_views().items()}
        if len({*widths.values()}) > 1:
            sizes = " and ".join(f"{width} of {modality}" for modality, width in widths.items())
            raise CrossmodalError(
                f"the vectors have {sizes} columns, so they are in no common space; take both "
                "halves of one dual encoder, such as `clip_image` and `clip_text`"
            )
        self.arrays = {}

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Return the vectors (rows, width)."""
        return view.vectors()
