"""A readout that all methods have in common: class posteriors of their embeddings.

One linear classifier of the embeddings of both modalities, multinomial logistic regression, is
fitted on the training split; it reads z-scores by modality, since factors of a bilinear score may
differ in scale. Query and document are compared by the probability that
they are of one class, the inner product of their posteriors: the semantic matching of Rasiwasia et
al., A new approach to cross-modal multimedia retrieval, ACM MM 2010, on the method's own space.
"""

from operator import itemgetter

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.contract import embed
from crossmodal.learning.method import Direction, Method, Run
from crossmodal.learning.selection import selection_score

STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # C of the penalty |W|^2 / 2 C, chosen on the validation split
ITERATIONS = 1000


class Posteriors(Method):
    """A fitted method, read out by class posteriors.

    Args:
        method: The fitted method, which embeds vectors.
    """

    task = "category"

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = method

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Fit a classifier of each strength, and keep the best on the validation split.

        An item of several labels counts for each of them, with equal shares.

        Raises:
            CrossmodalError: If labels do not tell items apart, or embeddings are no vectors.
        """
        require_labels(train)
        views = {m: train.views[m] for m in list(train.views)[:2]}
        embedded = {m: embed(self.method, m, view) for m, view in views.items()}
        for rows in embedded.values():
            if rows.ndim > 2:
                raise CrossmodalError(
                    f"{run.label}: embeddings of the shape {rows.shape[1:]} have no class "
                    "posteriors; leave `readout` of the table at own"
                )
        self.scalers = {m: StandardScaler().fit(rows) for m, rows in embedded.items()}
        scaled = np.concatenate([self.scalers[m].transform(rows) for m, rows in embedded.items()])
        labels = np.concatenate([train.labels[view.items] for view in views.values()])
        rows, classes = np.nonzero(labels)
        weights = 1 / labels.sum(axis=1)[rows]
        candidates = []
        for strength in STRENGTHS:
            self.classifier = LogisticRegression(C=strength, max_iter=ITERATIONS)
            self.classifier.fit(scaled[rows], classes, sample_weight=weights)
            candidates.append((selection_score(self, validation), self.classifier))
        _, self.classifier = max(candidates, key=itemgetter(0))

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Return posteriors (rows, classes of the training split)."""
        scaled = self.scalers[modality].transform(embed(self.method, modality, view))
        return self.classifier.predict_proba(scaled)

    @staticmethod
    def score(queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return probabilities (q, g) of the same class."""
        return queries @ gallery.T
