"""Model folders as mteb's encoders and search models."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from datasets import Dataset
from mteb._create_dataloaders import create_dataloader  # which mteb's own models import, too
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ScoringFunction
from mteb.types import PromptType

from crossmodal.data.dataset import Dataset as Data
from crossmodal.errors import CrossmodalError
from crossmodal.integrations.mteb.description import origins, sizes
from crossmodal.io.files import sha256
from crossmodal.io.hub_repository import SCHEME, fetch, repository_of
from crossmodal.learning.method import Direction
from crossmodal.models.model import MODEL_FILES, WEIGHTS, Model, load
from crossmodal.models.origins import datasets_of
from crossmodal.search.gallery import embed_items
from crossmodal.search.inner_products import find_form

OURS = {"image": "image", "text": "text", "audio": "speech"}  # modalities
THEIRS = {ours: theirs for theirs, ours in OURS.items()}
# form of the embeddings -> what mteb computes
SIMILARITIES: dict[str | None, ScoringFunction] = {
    "unit": ScoringFunction.COSINE,
    "plain": ScoringFunction.DOT_PRODUCT,
}
# items whose embedding shows its shape; they need no network, and every model takes one of them
EXAMPLES: dict[str, list[object]] = {
    "text": ["a"],
    "speech": [(np.zeros(16_000, np.float32), 16_000)],
}
Batch = dict[str, list[Any]]  # column -> values, of types of mteb
NOTHING: Mapping[str, Data] = MappingProxyType({})
BLOCK = 64  # queries that are scored at a time


def load_model(
    folder: Path | str, weights: Path = WEIGHTS, datasets: Mapping[str, Data] = NOTHING
) -> "Encoder | SearchModel":
    """Load a fitted model as an argument of `mteb.evaluate`.

    It is an encoder if the score is the cosine or the inner product of two embeddings, else a
    search model, which computes the score itself.

    Args:
        folder: A model folder, models/<experiment>/seed<n>; or `hf://ORG/NAME`, a repository of the
            Hugging Face hub, which mteb's results then name.
        weights: Folder of networks' weights.
        datasets: Those of params.yaml by name; they say the licence and language of what the model
            was fitted on, and which of mteb's tasks have items of it.

    Raises:
        CrossmodalError: If the folder is incomplete, or the model cannot embed new items.
    """
    folder, published = _named(str(folder))
    model = load(folder, weights)
    width, similarity = _similarity(model)
    origin = {name: datasets[name] for name in datasets_of(model.facts) if name in datasets}
    meta = ModelMeta.create_empty(
        {
            "modalities": [THEIRS[modality] for modality in model.modalities],
            "framework": ["PyTorch", "safetensors"],
            "similarity_fn_name": similarity,
            "embed_dim": width,
            "use_instructions": False,
            **sizes(model, folder, weights),
            **origins(origin.items()),
            **published,
        }
    )
    return Encoder(model, meta) if similarity else SearchModel(model, meta)


def _named(address: str) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a model, and how mteb names it."""
    if address.startswith(SCHEME):
        repository = repository_of(address)
        folder = fetch(repository, MODEL_FILES)
        facts = {"name": repository.name, "revision": folder.name, "reference": repository.page}
        return folder, {**facts, "open_weights": True}
    folder = Path(address)
    name = f"crossmodal/{'-'.join(folder.resolve().parts[-2:])}"
    return folder, {"name": name, "revision": sha256(folder / "model.safetensors")[:16]}


class Encoder(AbsEncoder):
    """A model whose score is the cosine, or the inner product, of two embeddings.

    Args:
        model: The model.
        meta: Its description for mteb.
    """

    def __init__(self, model: Model, meta: ModelMeta) -> None:
        self.model, self.mteb_model_meta = model, meta

    def encode(
        self,
        inputs: Iterable[Batch],
        *,
        task_metadata: TaskMetadata,
        prompt_type: PromptType | None = None,
        **_: object,
    ) -> np.ndarray:
        """Return the embeddings (n, d) of all batches.

        Raises:
            CrossmodalError: If an item has several modalities.
        """
        return _embed(self.model, inputs, _modality(task_metadata, prompt_type))


class SearchModel:
    """A model with a score of its own, such as order similarity, a matchmap or a bilinear form.

    Args:
        model: The model.
        meta: Its description for mteb.
    """

    def __init__(self, model: Model, meta: ModelMeta) -> None:
        self.model, self.mteb_model_meta = model, meta

    def index(
        self,
        corpus: Dataset,
        *,
        task_metadata: TaskMetadata,
        encode_kwargs: dict[str, object],
        **_: object,
    ) -> None:
        """Embed the documents.

        Raises:
            CrossmodalError: If a document has several modalities.
        """
        self._ids = list(corpus["id"])
        self._gallery = self._embedded(corpus, task_metadata, PromptType.document, encode_kwargs)

    def search(
        self,
        queries: Dataset,
        *,
        task_metadata: TaskMetadata,
        top_k: int,
        encode_kwargs: dict[str, object],
        top_ranked: dict[str, list[str]] | None = None,
        **_: object,
    ) -> dict[str, dict[str, float]]:
        """Return the best documents of each query: id of the query -> id of the document -> score.

        Args:
            queries: The queries.
            task_metadata: Modalities of queries and documents.
            top_k: Number of documents per query.
            encode_kwargs: Options of mteb's batches.
            top_ranked: Candidate documents of each query; None: all.

        Raises:
            CrossmodalError: If a query has several modalities.
        """
        rows = self._embedded(queries, task_metadata, PromptType.query, encode_kwargs)
        kinds = (PromptType.query, PromptType.document)
        first, second = (_modality(task_metadata, kind) for kind in kinds)
        places = {id: place for place, id in enumerate(self._ids)}
        results: dict[str, dict[str, float]] = {}
        for id, scores in zip(queries["id"], self._scores(rows, (first, second)), strict=True):
            among = np.array([places[one] for one in (top_ranked or {id: self._ids})[id]], int)
            best = among[np.argsort(-scores[among], kind="stable")[:top_k]]
            results[id] = {self._ids[place]: float(scores[place]) for place in best}
        return results

    def _scores(self, rows: np.ndarray, direction: Direction) -> Iterator[np.ndarray]:
        """Yield the scores (n,) of one query after the other."""
        for start in range(0, len(rows), BLOCK):
            yield from self.model.score(rows[start : start + BLOCK], self._gallery, direction)

    def _embedded(
        self, items: Dataset, task: TaskMetadata, kind: PromptType, options: dict[str, object]
    ) -> np.ndarray:
        inputs = create_dataloader(items, task_metadata=task, prompt_type=kind, **options)
        return _embed(self.model, inputs, _modality(task, kind))


def _similarity(model: Model) -> tuple[int | None, ScoringFunction | None]:
    """Return the width of vectors, and mteb's similarity that is the score in both directions.

    Each is None where there is none.
    """
    modality = next(name for name in EXAMPLES if name in model.modalities)
    with warnings.catch_warnings(action="ignore"):  # the model may not know the word
        shape = embed_items(model, modality, EXAMPLES[modality]).shape[1:]
    first, second = model.modalities
    forms = {find_form(model, direction, shape) for direction in ((first, second), (second, first))}
    similarity = SIMILARITIES.get(forms.pop()) if len(forms) == 1 else None
    return shape[0] if len(shape) == 1 else None, similarity


def _modality(task: TaskMetadata, kind: PromptType | None) -> str:
    """Return our name of the modality of a task's queries, or of its documents.

    Raises:
        CrossmodalError: If there are several.
    """
    modalities = task.get_modalities(kind)
    if len(modalities) != 1 or modalities[0] not in OURS:
        raise CrossmodalError(
            f"{task.name}: an item is {' and '.join(modalities)}; a model embeds images, texts or "
            "speech, one of them at a time; choose another task"
        )
    return OURS[modalities[0]]


def _embed(model: Model, batches: Iterable[Batch], modality: str) -> np.ndarray:
    """Return embeddings (n, ...) of mteb's batches; NaN pads shorter sequences."""
    column = THEIRS[modality]
    read = _waveforms if modality == "speech" else list
    parts = [embed_items(model, modality, read(batch[column])) for batch in batches]
    if parts[0].ndim > 2:
        longest = max(rows.shape[1] for rows in parts)
        parts = [_padded(rows, longest) for rows in parts]
    return np.concatenate(parts)


def _waveforms(clips: Iterable[dict[str, Any]]) -> list[tuple[np.ndarray, int]]:
    """Return waveforms and sampling rates of mteb's audio, of shape (channels, samples)."""
    return [(np.asarray(c["array"], np.float32).T, int(c["sampling_rate"])) for c in clips]


def _padded(rows: np.ndarray, steps: int) -> np.ndarray:
    """Pad sequences with NaN to (n, steps, ...)."""
    behind = [(0, 0), (0, steps - rows.shape[1]), *[(0, 0)] * (rows.ndim - 2)]
    return np.pad(rows, behind, constant_values=np.nan)
