"""List the vocabulary of a fitted model."""

from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.models.model import load


def words(folder: Path) -> None:
    """Print the vocabulary, one word per line, in order of frequency in the training captions.

    Args:
        folder: The model folder.

    Raises:
        CrossmodalError: If the model has no vocabulary.
    """
    model = load(folder)
    vocabulary = model.features.get("text", {}).get("vocabulary")
    if vocabulary is None:
        raise CrossmodalError(
            f"{folder}: has no vocabulary: it reads no texts, or uses a text encoder"
        )
    for word in vocabulary:
        if (model.words(word) or {}).get(word):  # excludes <bos>, <eos> and the like
            print(word)
