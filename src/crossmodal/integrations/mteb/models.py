"""Model folders as mteb's encoders and search models."""

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from mteb._create_dataloaders import create_dataloader  # which mteb's own models import, too
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ScoringFunction
from mteb.types import PromptType

from crossmodal.data.own_items import MODALITIES
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import sha256
from crossmodal.learning.method import Direction
from crossmodal.models.model import ARGUMENTS, WEIGHTS, Model, load
from crossmodal.search.inner_products import find_form

OURS = {"image": "image", "text": "text", "audio": "speech"}  # modalities
THEIRS = {ours: theirs for theirs, ours in OURS.items()}
# form of the embeddings -> what mteb computes
SIMILARITIES = {"unit": ScoringFunction.COSINE, "plain": ScoringFunction.DOT_PRODUCT}
# every model has one of these, which need no network, to know the shape of an embedding
EXAMPLES = {"texts": ["a"], "speech": [(np.zeros(16_000, np.float32), 16_000)]}
BLOCK = 64  # queries that are scored at a time


def load_model(folder: Path, weights: Path = WEIGHTS) -> "Encoder | SearchModel":
    """What `mteb.evaluate` takes for a fitted model.

    It is an encoder where the score is the cosine or the inner product of two embeddings, and a
    search model, which scores by itself, where it is another function.

    Args:
        folder: A model folder, models/<experiment>/seed<n>.
        weights: Folder of networks' weights.

    Raises:
        CrossmodalError: If the folder is incomplete, or the model cannot embed new items.
    """
    model = load(folder, weights)
    similarity = _similarity(model)
    meta = ModelMeta.create_empty(
        {
            "name": f"crossmodal/{'-'.join(folder.resolve().parts[-2:])}",
            "revision": sha256(folder / "model.safetensors")[:16],
            "modalities": [THEIRS[modality] for modality in model.modalities],
            "framework": ["PyTorch"],
            "similarity_fn_name": similarity,
        }
    )
    return Encoder(model, meta) if similarity else SearchModel(model, meta)


class Encoder(AbsEncoder):
    """A model whose score is the cosine, or the inner product, of two embeddings.

    Args:
        model: The model.
        meta: What mteb knows of it.
    """

    def __init__(self, model: Model, meta: ModelMeta) -> None:
        self.model, self.mteb_model_meta = model, meta

    def encode(
        self,
        inputs: Iterable[dict[str, Any]],
        *,
        task_metadata: TaskMetadata,
        prompt_type: PromptType | None = None,
        **_: Any,
    ) -> np.ndarray:
        """Embeddings (n, d) of all batches.

        Raises:
            CrossmodalError: If an item has several modalities.
        """
        return _embed(self.model, inputs, _modality(task_metadata, prompt_type))


class SearchModel:
    """A model with a score of its own, such as order similarity, a matchmap or a bilinear form.

    Args:
        model: The model.
        meta: What mteb knows of it.
    """

    def __init__(self, model: Model, meta: ModelMeta) -> None:
        self.model, self.mteb_model_meta = model, meta

    def index(
        self,
        corpus: Any,
        *,
        task_metadata: TaskMetadata,
        encode_kwargs: dict[str, Any],
        **_: Any,
    ) -> None:
        """Embed the documents.

        Raises:
            CrossmodalError: If a document has several modalities.
        """
        self._ids = list(corpus["id"])
        self._gallery = self._embedded(corpus, task_metadata, PromptType.document, encode_kwargs)

    def search(
        self,
        queries: Any,
        *,
        task_metadata: TaskMetadata,
        top_k: int,
        encode_kwargs: dict[str, Any],
        top_ranked: dict[str, list[str]] | None = None,
        **_: Any,
    ) -> dict[str, dict[str, float]]:
        """The best documents of each query: query's id -> document's id -> score.

        Args:
            queries: The queries.
            task_metadata: Says of which modalities they and the documents are.
            top_k: How many documents are wanted of each query.
            encode_kwargs: Options of mteb's batches.
            top_ranked: The only documents that count for each query; None: all do.

        Raises:
            CrossmodalError: If a query has several modalities.
        """
        rows = self._embedded(queries, task_metadata, PromptType.query, encode_kwargs)
        kinds = (PromptType.query, PromptType.document)
        first, second = (_modality(task_metadata, kind) for kind in kinds)
        places, found = {id: place for place, id in enumerate(self._ids)}, {}
        for id, scores in zip(queries["id"], self._scores(rows, (first, second)), strict=True):
            among = np.array([places[one] for one in (top_ranked or {id: self._ids})[id]], int)
            best = among[np.argsort(-scores[among], kind="stable")[:top_k]]
            found[id] = {self._ids[place]: float(scores[place]) for place in best}
        return found

    def _scores(self, rows: np.ndarray, direction: Direction) -> Iterator[np.ndarray]:
        """Scores (n,) of one query after the other."""
        for start in range(0, len(rows), BLOCK):
            yield from self.model.score(rows[start : start + BLOCK], self._gallery, direction)

    def _embedded(
        self, items: Any, task: TaskMetadata, kind: PromptType, options: dict[str, Any]
    ) -> np.ndarray:
        inputs = create_dataloader(items, task_metadata=task, prompt_type=kind, **options)
        return _embed(self.model, inputs, _modality(task, kind))


def _similarity(model: Model) -> ScoringFunction | None:
    """Which of mteb's similarities is the score, in both directions; None if none is."""
    argument = next(name for name in EXAMPLES if MODALITIES[name] in model.modalities)
    with warnings.catch_warnings(action="ignore"):  # the example may have no known word
        width = model.embed(**{argument: EXAMPLES[argument]}).shape[1:]
    first, second = model.modalities
    forms = {find_form(model, direction, width) for direction in ((first, second), (second, first))}
    return SIMILARITIES.get(forms.pop()) if len(forms) == 1 else None


def _modality(task: TaskMetadata, kind: PromptType | None) -> str:
    """Our name of the modality of a task's queries, or of its documents.

    Raises:
        CrossmodalError: If there are several.
    """
    found = task.get_modalities(kind)
    if len(found) != 1 or found[0] not in OURS:
        raise CrossmodalError(
            f"{task.name}: an item is {' and '.join(found)}; a model embeds images, texts or "
            "speech, one of them at a time; choose another task"
        )
    return OURS[found[0]]


def _embed(model: Model, batches: Iterable[dict[str, Any]], modality: str) -> np.ndarray:
    """Embeddings (n, ...) of mteb's batches; NaN behind the last step of a shorter sequence."""
    column, argument = THEIRS[modality], ARGUMENTS[modality]
    read = _waveforms if modality == "speech" else list
    found = [model.embed(**{argument: read(batch[column])}) for batch in batches]
    if found[0].ndim == 2:
        return np.concatenate(found)
    longest = max(rows.shape[1] for rows in found)
    return np.concatenate([_lengthened(rows, longest) for rows in found])


def _waveforms(clips: Iterable[Any]) -> list[tuple[np.ndarray, int]]:
    """Waveforms and sampling rates of mteb's audio, whose channels come before its samples."""
    return [(np.asarray(c["array"], np.float32).T, int(c["sampling_rate"])) for c in clips]


def _lengthened(rows: np.ndarray, steps: int) -> np.ndarray:
    """Sequences (n, steps, ...) with NaN behind those that are there."""
    behind = [(0, 0), (0, steps - rows.shape[1]), *[(0, 0)] * (rows.ndim - 2)]
    return np.pad(rows, behind, constant_values=np.nan)
