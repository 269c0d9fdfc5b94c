"""Items that a model searches, and places of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from crossmodal.config import params
from crossmodal.config.experiment import Experiment
from crossmodal.data.prepared import PREPARED, SPLITS, Prepared
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.models.model import Model
from crossmodal.search.folder_gallery import FolderGallery, files_of
from crossmodal.search.gallery import Gallery, SplitGallery


@dataclass(frozen=True)
class Place:
    """The items to search.

    Args:
        folder: A folder of files; None: the dataset that the model was fitted on.
        split: Its split.
        params: The params.yaml that names the dataset.
        overlays: Files laid over it.
    """

    folder: Path | None
    split: str
    params: Path
    overlays: Sequence[Path] = ()

    @property
    def training(self) -> "Place":
        """The items that a model was fitted on."""
        return replace(self, folder=None, split="train")

    def holds(self, modality: str) -> bool:
        """Return whether there are items of a modality, of which a folder may have one alone."""
        return not self.folder or bool(files_of(self.folder, modality)[0])

    def gallery(self, modality: str, run: str, model: Model) -> Gallery:
        """Return the items of one modality.

        Args:
            modality: The modality.
            run: `<experiment>/seed<n>` of the model.
            model: The model.

        Raises:
            CrossmodalError: If there are none, or no experiment says what the model was fitted on.
        """
        if self.folder:
            return FolderGallery(self.folder, modality)
        if self.split not in SPLITS:
            raise CrossmodalError(f"--split: {unknown(self.split, SPLITS)}")
        experiment = self._experiment(run)
        feature = next(name for view, name in experiment.views.items() if view == modality)
        return SplitGallery(
            PREPARED / experiment.dataset,
            self.split,
            modality,
            Path("features", experiment.dataset, f"{feature}.h5"),
            # of an experiment with changed categories, these are of some of the items alone
            None if experiment.changes else Path("embeddings", f"{run}.h5"),
            model,
        )

    def training_pairs(self, run: str) -> int | None:
        """Return the number of pairs that a model was fitted on; None without its dataset."""
        try:
            dataset = Prepared(PREPARED / self._experiment(run).dataset)
            items = {item for item, split in dataset.splits.items() if split == "train"}
            captions = sum(caption.item in items for caption in dataset.captions)
        except CrossmodalError:
            return None
        return max(len(items), captions)

    @cached_property  # a search asks for each modality, and reading takes a part of a second
    def _experiments(self) -> dict[str, Experiment]:
        return params.read(self.params, *self.overlays).experiments

    def _experiment(self, run: str) -> Experiment:
        """Return the experiment of a run."""
        name = run.partition("/")[0]
        experiment = self._experiments.get(name)
        if not experiment:
            files = ", ".join(map(str, (self.params, *self.overlays)))
            raise CrossmodalError(
                f"{files}: no experiment {name!r}, which would say what the "
                "model was fitted on; name the file that has it with --configfile, or a folder "
                "with --in"
            )
        return experiment
