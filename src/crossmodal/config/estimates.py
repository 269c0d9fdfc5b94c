"""What each job needs, from the sizes of its data, which are known before these are there."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crossmodal.config import plugins
from crossmodal.config.grids import combinations
from crossmodal.resources.needs import INTERPRETER, READING, START, Resources, in_turn
from crossmodal.resources.sizes import BLOCK, Extent, FitSize, RowSize

if TYPE_CHECKING:
    from crossmodal.config.params import Params

LABEL_SETS = 0.3  # different sets of labels for each item that may have several
SCORERS = 4  # the method's scores of the test split, and those of three controls


class Estimates:
    """A method with a rule's name says what one of its jobs needs.

    Args:
        params: What to run.
    """

    def __init__(self, params: "Params") -> None:
        self.params = params

    def of(self, rule: str, *names: str) -> Resources:
        """What the job of a rule needs that these values of its wildcards name."""
        return getattr(self, rule)(*names)

    def jobs(self) -> Iterator[tuple[str, ...]]:
        """Rule and names of all jobs that experiments of params.yaml lead to, but broken ones."""
        for dataset in self.params.datasets:
            if f"datasets.{dataset}" not in self.params.broken:
                yield "prepare", dataset
        for experiment, spec in self.params.experiments.items():
            if f"experiments.{experiment}" in self.params.broken:
                continue
            for feature in self._features(spec.views.values()):
                yield "extract", spec.dataset, feature
            for rule in ("train", "embed", "evaluate"):
                yield rule, experiment

    def extent(self, dataset: str) -> Extent:
        """Size of a dataset."""
        return self.params.dataset_of(dataset).extent()

    def prepare(self, dataset: str) -> Resources:
        """See `Dataset.resources`."""
        return self.params.dataset_of(dataset).resources()

    def extract(self, dataset: str, feature: str) -> Resources:
        """See `Feature.resources`."""
        plugin, extent = self.params.instance("features", feature), self.extent(dataset)
        sources = {name: self.row_size(extent, name) for name in plugin.of}
        return plugin.resources(extent, sources)

    def row_size(self, extent: Extent, feature: str) -> RowSize:
        """Size of a feature of a dataset of this size."""
        plugin = self.params.instance("features", feature)
        sources = {name: self.row_size(extent, name) for name in plugin.of}
        return plugin.row_size(extent, sources)

    def fit_size(self, experiment: str) -> FitSize:
        """Size of what an experiment learns from."""
        spec = self.params.experiments[experiment]
        extent = self.extent(spec.dataset)
        stored = {m: self.row_size(extent, name) for m, name in spec.views.items()}
        shares = {split: count / extent.total for split, count in extent.items.items()}
        items = extent.items["train"]
        sets = extent.labels if spec.relevance == "category" else LABEL_SETS * items
        return FitSize(stored, shares, items, extent.labels, sets)

    def train(self, experiment: str) -> Resources:
        """Those of one process for each GPU that is asked for."""
        return self._fit(experiment).together(self.params.experiments[experiment].gpus)

    def _fit(self, experiment: str) -> Resources:
        """See `Method.resources`; combinations of searched options are fitted in turn."""
        job, size = self.params.fit_job(experiment), self.fit_size(experiment)
        return in_turn(
            _method(job, options).resources(size) for options in combinations(job["search"])
        )

    def embed(self, experiment: str) -> Resources:
        """The validation and the test split, their embeddings, and the products of one pass."""
        size, fit = self.fit_size(experiment), self._fit(experiment)
        method = _method(self.params.fit_job(experiment), {})
        splits = ("validation", "test")
        share = sum(size.shares[split] for split in splits) / size.shares["train"]
        passes = 3 * getattr(method.options, "epochs", 10)
        written = self._embedded(experiment)
        return Resources(
            INTERPRETER + size.held(*splits) + fit.disk + 2 * written,
            fit.operations * share / passes,
            START + (size.held(*splits) + written) / READING,
            fit.gpu,
            fit.gpu_memory,
            disk=written,
        )

    def evaluate(self, experiment: str) -> Resources:
        """The embeddings, and blocks of scores, of the method and of three controls; the products
        of the method's, in both directions of both splits.
        """
        size = self.fit_size(experiment)
        method = _method(self.params.fit_job(experiment), {})
        pairs, products = {}, 0.0
        for split in ("validation", "test"):
            first, second = list(size.part(split).values())[:2]
            pairs[split] = first.count * second.count
            products += 2 * pairs[split] * method.score_products(first, second)
        seconds = START + 2 * SCORERS * 1e-7 * pairs["test"]
        memory = INTERPRETER + 2 * self._embedded(experiment) + 2 * BLOCK
        return Resources(memory, 2 * products, seconds, disk=20_000)

    def evaluate_posteriors(self, experiment: str) -> Resources:
        """Embeddings of all splits, twice, and a classifier of the training split's."""
        size, found = self.fit_size(experiment), self.embed(experiment)
        written = self._embedded(experiment) / (1 - size.shares["train"])
        return Resources(
            found.memory + size.held("train") + 4 * written + 2 * BLOCK,
            found.operations / (1 - size.shares["train"]) + 2000 * size.labels * written,
            found.seconds + size.held("train") / READING,
            found.gpu,
            found.gpu_memory,
            disk=20_000,
        )

    def _embedded(self, experiment: str) -> float:
        """Bytes of the embeddings of the validation and test splits."""
        method = _method(self.params.fit_job(experiment), {})
        rows = list(self.fit_size(experiment).part("validation", "test").values())[:2]
        return sum(4 * view.count * method.embedding_width(view) for view in rows)

    def _features(self, names: Any) -> Iterator[str]:
        """Features and all that they are computed from."""
        for name in names:
            yield from self._features(self.params.feature_of(name).of)
            yield name


def _method(job: dict[str, Any], options: dict[str, Any]) -> Any:
    """The method of a fit with some of its options."""
    return plugins.make("methods", job["plugin"], job["options"] | options, "options")
