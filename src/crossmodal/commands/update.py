"""Continue training an online model on new pairs."""

from collections.abc import Iterator
from pathlib import Path

from crossmodal.commands.datasets import to_prepare
from crossmodal.data.media import PreparedMedia
from crossmodal.data.prepared import FILES, PREPARED, Item, Prepared, is_prepared
from crossmodal.data.split import Split, label_matrix, label_names
from crossmodal.errors import CrossmodalError
from crossmodal.io.checkpoints import unfinished_work
from crossmodal.io.files import digest, readable
from crossmodal.io.progress import track
from crossmodal.io.snapshots import Snapshot
from crossmodal.learning.curve import LearningCurve
from crossmodal.learning.method import Run
from crossmodal.methods._online.bidirectional import Bidirectional
from crossmodal.models.extractor import Extractor
from crossmodal.models.fit_facts import Facts, Seen
from crossmodal.models.model_folder import Fitted, read_model, write_model
from crossmodal.workflow.records import verified

LOGGED = ("loss", "violating", "seconds")


class Pairs:
    """The pairs of a split of a prepared dataset, with features extracted as the model's were.

    Args:
        dataset: The prepared dataset.
        fitted: The model.
        weights: Folder of networks' weights.
        split: Name of the split.

    Attributes:
        items: Items that have a row in each view, in the dataset's order.
        names: Labels of the model, then those that only the dataset has, (C,).

    Raises:
        CrossmodalError: If a feature cannot be extracted from the dataset.
    """

    def __init__(
        self, dataset: Prepared, fitted: Fitted, weights: Path, split: str = "train"
    ) -> None:
        self.dataset, self.relevance, self.views = dataset, fitted.facts["relevance"], fitted.views
        self.extractors = {
            modality: Extractor(view.meta, weights, dataset)
            for modality, view in fitted.views.items()
        }
        self.rows = {modality: e.rows_of(dataset) for modality, e in self.extractors.items()}
        self.items = [
            item
            for item in dataset.split(split)
            if all(rows.get(item.id) for rows in self.rows.values())
        ]
        new = set(label_names(dataset, self.relevance)) - set(fitted.labels)
        self.names = (*fitted.labels, *sorted(new))

    def batches(self, start: int, stop: int, size: int) -> Iterator[Split]:
        """Yield the pairs number `start` to `stop - 1`, `size` at a time."""
        for first in range(start, stop, size):
            yield self._batch(self.items[first : min(first + size, stop)])

    def _batch(self, items: list[Item]) -> Split:
        views = {}
        for modality, extractor in self.extractors.items():
            rows = {item.id: self.rows[modality][item.id] for item in items}
            view = views[modality] = extractor.view(self.dataset, rows)
            width, expected = (v.vectors().shape[1] for v in (view, self.views[modality]))
            if width != expected:
                raise CrossmodalError(
                    f"{self.dataset.folder}: its {modality} features have {width} columns, those "
                    f"of the model {expected}"
                )
        labels = label_matrix(items, self.names, self.relevance)
        return Split([item.id for item in items], labels, views, self.names)


def update(
    folder: Path,
    dataset: str,
    output: Path,
    triplets: int,
    batch_size: int,
    pairs: int | None,
    weights: Path,
) -> None:
    """Write a model that is trained on further pairs; an interrupted update resumes.

    The pairs are those of the dataset's training split, in its order, that are new to the model;
    the model stores how many it has seen. Two updates with half of the pairs each give the same
    model, bit for bit, as one update, if the halves are whole batches.

    Args:
        folder: A model folder; it is not changed.
        dataset: Key of `datasets`; it must be prepared.
        output: The new model folder.
        triplets: Triplets to draw in each direction after each batch.
        batch_size: Pairs in a batch.
        pairs: Number of pairs to learn from; None: all new ones.
        weights: Folder of networks' weights.

    Raises:
        CrossmodalError: If the method is not an online one, the output holds a model, no new pairs
            are left, or the dataset does not fit the model.
    """
    fitted, prepared = read_model(folder), PreparedMedia(PREPARED / dataset)
    method = _online_method(fitted, folder)
    _refuse(fitted, folder, output, dataset)
    stream = Pairs(prepared, fitted, weights)
    start = _position(stream, fitted.facts, dataset)
    stop = min(len(stream.items), start + pairs if pairs else len(stream.items))
    inputs = [folder / "model.safetensors", *(prepared.folder / name for name in FILES)]
    read = verified(map(readable, inputs))
    with unfinished_work(output, ["update", triplets, batch_size, start, stop, read]) as work:
        first_pairs = range(start, stop, batch_size)
        curve = _learn(method, fitted, stream, first_pairs, stop, triplets, work)
        seen: Seen = {"pairs": stop, "ids": _ids(stream, stop)}
        facts: Facts = {
            "plugin": fitted.facts["plugin"],
            "options": fitted.facts["options"],
            "relevance": fitted.facts["relevance"],
            "seed": fitted.facts["seed"],
            "updated": str(folder),
            "seen": fitted.facts.get("seen", {}) | {dataset: seen},
        }
        LearningCurve(curve).write(output / "curve.csv")
        train = Split([], label_matrix([], stream.names, "labels"), fitted.views, stream.names)
        write_model(output, method, facts, train)
    print(f"{output}: trained on {stop - start} pairs; {dataset}: {stop} of {len(stream.items)}")


def _learn(
    method: Bidirectional,
    fitted: Fitted,
    stream: Pairs,
    first_pairs: range,
    stop: int,
    triplets: int,
    work: Path,
) -> list[dict[str, float]]:
    """Train on batch after batch; return the rows of the curve, with running totals."""
    snapshot, size = Snapshot(work), first_pairs.step
    curve: list[dict[str, float]] = []
    if saved := snapshot.load():
        method.restore(saved[0], fitted.views)
        curve = saved[1]["curve"]
    done, run = len(curve), Run(fitted.facts["seed"])
    batches = stream.batches(first_pairs.start + done * size, stop, size)
    for batch, split in enumerate(track(batches, len(first_pairs), "update", done), done + 1):
        log = method.partial_fit(split, triplets, run)
        totals = {
            "pairs": float(min(first_pairs.start + batch * size, stop)),
            "triplets": float(batch * triplets),
        }
        curve.append(totals | {name: log[name] for name in LOGGED})
        snapshot.save_if_due(lambda: (method.state(), {"curve": curve}))
    return curve


def _online_method(fitted: Fitted, folder: Path) -> Bidirectional:
    if not isinstance(fitted.method, Bidirectional):
        raise CrossmodalError(
            f"{folder}: {fitted.facts['plugin']} is no online method; train a model of cmolrs or "
            "full_sgd"
        )
    return fitted.method


def _refuse(fitted: Fitted, folder: Path, output: Path, dataset: str) -> None:
    """Refuse an update that is not possible, before anything is written."""
    if missing := Facts.__required_keys__ - fitted.facts.keys():
        raise CrossmodalError(f"{folder / 'model.json'}: no {min(missing)!r}; train again")
    if (output / "model.safetensors").exists():
        raise CrossmodalError(f"{output}: holds a model; name a new folder, or remove it first")
    if not is_prepared(dataset):
        raise CrossmodalError(f"{PREPARED / dataset}: not prepared; run `{to_prepare(dataset)}`")


def _position(stream: Pairs, facts: Facts, dataset: str) -> int:
    """Return the number of the dataset's pairs that the model has seen."""
    seen = facts.get("seen", {}).get(dataset, {"pairs": 0, "ids": _ids(stream, 0)})
    if seen["ids"] != _ids(stream, seen["pairs"]):
        raise CrossmodalError(
            f"{stream.dataset.folder}: its first {seen['pairs']} training pairs are not those that "
            "the model has seen; give the changed dataset another name"
        )
    if seen["pairs"] == len(stream.items):
        raise CrossmodalError(
            f"{stream.dataset.folder}: the model has seen all {seen['pairs']} training pairs"
        )
    return seen["pairs"]


def _ids(stream: Pairs, pairs: int) -> str:
    return digest([item.id for item in stream.items[:pairs]])
