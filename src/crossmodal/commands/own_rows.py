"""Rows of a table on vectors: the vectors as they are, and methods that learn from them."""

# methods that learn from pairs; options are chosen by the validation items
LEARNT = """\
      cca: {search: {dims: [16, 64, 256], ridge: [0.01, 0.1, 1.0]}}
      ridge: {label: Ridge, search: {penalty: [0.01, 0.1, 1.0], whitening: [0.0, 0.5]}}
      en: {options: {batch: 128}, search: {learning_rate: [0.0001, 0.001]}}
"""
SAM = """\
      sam: {search: {scaling: [raw, zscore]}}  # learns from labels
"""


def rows_on_vectors(reference: str, is_labelled: bool) -> str:
    """Return the rows of an experiment as YAML.

    Args:
        reference: Label of the row `frozen`, in quotes; empty where vectors are of two spaces.
        is_labelled: Whether items have labels.
    """
    frozen = f"      frozen: {{label: {reference}}}  # nothing is learnt\n" if reference else ""
    return frozen + LEARNT + (SAM if is_labelled else "")
