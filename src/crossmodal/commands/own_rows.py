"""Rows of a table on vectors: the vectors as they are, and methods that learn from them."""

DIMS = (16, 64, 256)  # of CCA
# options are chosen by the validation items
LEARNT = """\
      cca: {{search: {{dims: {dims}, ridge: [0.01, 0.1, 1.0]}}}}
      ridge: {{label: {ridge}, search: {{penalty: [0.01, 0.1, 1.0], whitening: [0.0, 0.5]}}}}
"""
NETWORK = """\
      en: {options: {batch: 128}, search: {learning_rate: [0.0001, 0.001]}}
"""
SAM = """\
      sam: {search: {scaling: [raw, zscore]}}  # learns from labels
"""


def rows_on_vectors(
    frozen: str,
    is_labelled: bool,
    ridge: str = "Ridge",
    network: bool = False,
    width: int = DIMS[-1],
) -> str:
    """Return the rows of an experiment as YAML.

    Args:
        frozen: Label of the row where nothing is learnt; empty where vectors are of two spaces.
        is_labelled: Whether items have labels, of which SAM learns.
        ridge: Label of the ridge, which has another one elsewhere.
        network: Whether the embedding network is among the methods.
        width: Columns of the narrower view, of which CCA can have no more dimensions.
    """
    reference = f"      frozen: {{label: {frozen}}}  # nothing is learnt\n" if frozen else ""
    dims = [n for n in DIMS if n <= width] or [width]
    parts = [
        LEARNT.format(ridge=ridge, dims=dims),
        NETWORK if network else "",
        SAM if is_labelled else "",
    ]
    return "".join([reference, *parts])
