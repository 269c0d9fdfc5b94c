"""A fitted method on items that no dataset knows."""

import warnings
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from crossmodal.data.feature_file import Ragged, Rows
from crossmodal.data.own_items import MODALITIES, OwnItems
from crossmodal.data.split import View
from crossmodal.errors import CrossmodalError, listed
from crossmodal.io.hub_repository import SCHEME, fetch, repository_of
from crossmodal.learning.method import Direction
from crossmodal.models.estimator_arrays import array_of, check_finite
from crossmodal.models.extractor import Extractor
from crossmodal.models.intact_model import read_intact_model, values_of
from crossmodal.models.model_folder import Fitted

WEIGHTS = Path("data/raw/weights")
MODEL_FILES = ("model.json", "model.safetensors")  # without the curve, which nothing computes from
ARGUMENTS = {modality: name for name, modality in MODALITIES.items()}  # of `embed`


def load(folder: str | Path, weights: str | Path = WEIGHTS) -> "Model":
    """Load a fitted model, to embed items that no dataset knows.

    Args:
        folder: A model folder, models/<experiment>/seed<n>; or `hf://ORG/NAME`, a model that
            `crossmodal push` sent to the Hugging Face hub, `hf://ORG/NAME@REVISION` a commit, tag
            or branch of it.
        weights: Folder of the weights of the networks that features are made with; they are read,
            and compared with their checksums, when a modality is first embedded.

    Raises:
        CrossmodalError: If the folder is incomplete, corrupt or of another version, if its parts do
            not fit together, or the repository cannot be had or holds other files than such a
            model.
    """
    if str(folder).startswith(SCHEME):
        folder = fetch(repository_of(str(folder)), MODEL_FILES)
    _refuse_several(Path(folder))
    return Model(read_intact_model(Path(folder)), Path(weights))


def _refuse_several(folder: Path) -> None:
    """Check that a folder is not that of an experiment, with a model of each seed."""
    if (folder / "model.json").exists():
        return
    if seeds := sorted(path.parent.name for path in folder.glob("seed*/model.json")):
        raise CrossmodalError(
            f"{folder}: has a model of each seed ({', '.join(seeds)}); name one, as in "
            f"{folder / seeds[0]}"
        )


class Model:
    """A fitted method, and how its views are made of images, texts and speech.

    Args:
        fitted: Content of a model folder.
        weights: Folder of networks' weights.

    Attributes:
        method: The method, restored.
        facts: Facts of the fit: method, options, seed, validation score and so on.
        labels: Names of the dataset's labels, (C,).
        modalities: The two modalities that can be embedded.
        features: How the features of each view were extracted, see `FeatureFile.meta`.
    """

    def __init__(self, fitted: Fitted, weights: Path) -> None:
        self.method, self.facts, self.labels = fitted.method, fitted.facts, fitted.labels
        self.modalities = tuple(fitted.views)[:2]
        self.features = {modality: view.meta for modality, view in fitted.views.items()}
        self._views, self._weights = fitted.views, weights
        self._extractors: dict[str, Extractor] = {}

    def embed(
        self,
        *,
        images: Sequence[object] | None = None,
        texts: Sequence[str] | None = None,
        speech: Sequence[object] | None = None,
        label: str = "",
    ) -> np.ndarray:
        """Embed new items of one modality, rows in order, (n, ...).

        A row depends on the method: a vector of the shared space, or, for matchmaps,
        positions (n, l, D) of images and steps (n, t, D) of clips, NaN behind a clip's last.
        Compare rows by `score` alone. A warning names texts of which the model knows no word: their
        rows say nothing of them.

        Args:
            images: Paths, contents of image files, or Pillow's images.
            texts: Texts.
            speech: Paths, contents of audio files, or pairs of a waveform, float in [-1, 1] of
                shape (samples,) or (samples, channels), and its sampling rate in Hz.
            label: What the extraction of features is called while its progress is shown; by
                default nothing is.

        Raises:
            CrossmodalError: If not exactly one modality of the model is given, an item cannot be
                read, weights are missing, or features came with the dataset, see `embed_features`.
        """
        items = OwnItems(images=images, texts=texts, speech=speech)
        self._require(items.modality)
        if texts is not None and (rows := self.wordless(texts)):
            warnings.warn(
                f"the model knows no word of {listed(repr(texts[row]) for row in rows)}; the "
                "embeddings of these texts say nothing of them",
                stacklevel=2,
            )
        view = self._extractor(items.modality).view(items, label=label)
        _check_shape(view, self._views[items.modality], items.modality)
        return self.method.embed(items.modality, view)

    def words(self, text: str) -> dict[str, bool] | None:
        """Return each word of a text, and whether the model knows it.

        None where it reads texts by a dual encoder, which has no list of words.

        Raises:
            CrossmodalError: If the model reads no texts, or weights are missing.
        """
        self._require("text")
        return self._extractor("text").words(text)

    def wordless(self, texts: Sequence[str]) -> list[int]:
        """Return the rows of the texts of which the model knows no word.

        Raises:
            CrossmodalError: See `words`.
        """
        words = map(self.words, texts)
        return [row for row, of in enumerate(words) if of is not None and not any(of.values())]

    def embed_features(self, modality: str, rows: np.ndarray | Sequence[np.ndarray]) -> np.ndarray:
        """Embed features that are computed already, (n, ...).

        Args:
            modality: One of `modalities`.
            rows: Features like those that the model was fitted on: array (n, d), or one array
                (length, ...) each where they are sequences.

        Raises:
            CrossmodalError: If the modality or the shape of the rows is not the model's.
        """
        self._require(modality)
        fitted = self._views[modality].features
        if not isinstance(rows, Collection) or not len(rows):
            raise CrossmodalError(f"{modality}: give a list or array of at least one row")
        features: Rows
        if isinstance(fitted, Ragged):
            named = ((row, f"{modality}[{number}]") for number, row in enumerate(rows))
            features = Ragged.concatenate([_cast(row, fitted.values, name) for row, name in named])
        else:
            features = _cast(rows, fitted, modality)
        ids = [str(row) for row in range(len(features))]
        view = View(features, np.arange(len(features)), ids, self._views[modality].meta)
        return self.method.embed(modality, view)

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return scores (q, g) of all queries against the whole gallery, higher is better.

        Args:
            queries: Embeddings of modality `direction[0]`, (q, ...).
            gallery: Embeddings of modality `direction[1]`, (g, ...).
            direction: Modalities of query and gallery; both may be the same for methods that learn
                from categories.

        Raises:
            CrossmodalError: If the method does not retrieve in this direction, or the rows are not
                its embeddings.
        """
        if isinstance(direction, str) or len(direction) != 2:
            raise CrossmodalError(
                f"direction {direction!r}: name the modalities of query and gallery, as in "
                f"{self.modalities}"
            )
        for modality in direction:
            self._require(modality)
        if len(set(direction)) == 1 and self.method.task == "instance":
            raise CrossmodalError(
                f"direction {direction}: the method compares two modalities; name both"
            )
        sides = array_of(queries, "queries"), array_of(gallery, "gallery")
        try:
            scores = self.method.score(*sides, direction)
            if np.isnan(scores).any():
                raise ValueError("scores would be NaN")
        except (TypeError, ValueError, RuntimeError) as error:  # of NumPy, of PyTorch
            raise CrossmodalError(
                f"direction {direction}: queries {sides[0].shape} and gallery {sides[1].shape} "
                f"cannot be compared ({error}); give what `embed` returns"
            ) from error
        return scores

    def _require(self, modality: str) -> None:
        if modality not in self.modalities:
            raise CrossmodalError(
                f"the model embeds {' and '.join(self.modalities)}, not {modality}"
            )

    def _extractor(self, modality: str) -> Extractor:
        """Return the extractor of a modality, made when it is first needed."""
        if modality not in self._extractors:
            self._extractors[modality] = Extractor(self._views[modality].meta, self._weights)
        return self._extractors[modality]


def _check_shape(view: View, fitted: View, modality: str) -> None:
    """Check that rows that were extracted are of the shape of those that were fitted."""
    shape, expected = (values_of(rows).shape[1:] for rows in (view, fitted))
    if shape != expected:
        raise CrossmodalError(
            f"{modality}: its feature has rows of shape {shape}, but the model was fitted on "
            f"{expected}; fetch the model again, or train it again"
        )


def _cast(rows: ArrayLike, fitted: np.ndarray, modality: str) -> np.ndarray:
    """Return rows as an array of the type and width of those that the model was fitted on."""
    array = array_of(rows, modality)
    suits = array.ndim == fitted.ndim and array.shape[1:] == fitted.shape[1:]
    if not suits or not np.can_cast(array.dtype, fitted.dtype, "same_kind"):
        raise CrossmodalError(
            f"{modality}: features of shape {array.shape} and type {array.dtype}; the model was "
            f"fitted on rows of shape {fitted.shape[1:]} and type {fitted.dtype}; give an array of "
            "such rows"
        )
    with np.errstate(over="ignore"):  # what is too large becomes infinite
        features = array.astype(fitted.dtype)
    check_finite(features, modality)
    return features
