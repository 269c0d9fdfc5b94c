"""The plateau that ranking losses begin on, and when a run leaves it.

There pairs and negatives are equally similar, and the loss hardly moves: the maximum stays at 2 b a
for b pairs and the margin a. Whether a run has left it is told by the validation items.
"""

from collections.abc import Sequence

GAP = 0.05  # the margin of the order embeddings, a quarter of that of the cosine
STEPS, LEFT = "steps on plateau", "left plateau (%)"


def plateau(curve: Sequence[dict[str, float]]) -> dict[str, float]:
    """Measure how long pairs were hardly more similar than negatives.

    Args:
        curve: Learning curve, an epoch per row: `step`, and the mean similarities `positives` and
            `negatives`.

    Returns:
        Under `STEPS` the steps until the end of the first epoch after which pairs were more similar
        by more than `GAP`, and 100 under `LEFT`; without such an epoch all steps, and 0. Nothing if
        the similarities were not logged.
    """
    if not curve or "positives" not in curve[0]:
        return {}
    left = [row["step"] for row in curve if row["positives"] - row["negatives"] > GAP]
    return {STEPS: left[0] if left else curve[-1]["step"], LEFT: 100.0 * bool(left)}
