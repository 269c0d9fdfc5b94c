"""List the words that a fitted model knows."""

from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.models.model import load


def words(folder: Path) -> None:
    """Print the words, one in a line, the most frequent of the training captions first.

    Args:
        folder: The model folder.

    Raises:
        CrossmodalError: If the model has no list of words.
    """
    model = load(folder)
    vocabulary = model.features.get("text", {}).get("vocabulary")
    if vocabulary is None:
        raise CrossmodalError(
            f"{folder}: has no list of words: it reads no texts, or by an encoder"
        )
    for word in vocabulary:
        if (model.words(word) or {}).get(word):  # marks of sequences are no words
            print(word)
