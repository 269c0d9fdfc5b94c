"""Checks of every name and option of params.yaml against what exists."""

from collections.abc import Collection
from typing import Any, get_args

from crossmodal.config import plugins
from crossmodal.config.experiment import Experiment
from crossmodal.config.external_numbers import external_numbers
from crossmodal.config.facts import ExperimentFacts, Facts, answers
from crossmodal.config.fit import non_defaults
from crossmodal.config.grids import combinations
from crossmodal.config.published_numbers import Published, papers, published_numbers
from crossmodal.config.sections import Sections
from crossmodal.config.table import TRAINING, Logged, Metric, Table
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.io.files import digest


def member(value: str, allowed: Collection[str], where: str) -> None:
    """Check that a name exists.

    Raises:
        CrossmodalError: With its address in params.yaml, and names that are allowed.
    """
    if value not in allowed:
        raise CrossmodalError(f"params.yaml: {where}: {unknown(value, allowed)}")


class Checks:
    """Checks, a method per section; errors name the key path, the value and allowed ones.

    Args:
        params: What is checked.
        facts: Facts of its plug-ins, to which the checks add those of experiments.
        earlier: Facts of an earlier check of the same source.
    """

    def __init__(self, params: Sections, facts: Facts, earlier: Facts) -> None:
        self.params, self.facts, self.earlier = params, facts, earlier
        # a group may be named, and was replaced by its experiments
        self.nameable = params.experiments.keys() | params.groups.keys()

    def all(self) -> None:
        """Check all sections, features before the experiments on them."""
        self._check_suites()
        for kind in plugins.BASES:
            for name, entry in getattr(self.params, kind).items():
                _check_names(entry, f"{kind}.{name}")
        for name, table in self.params.tables.items():
            self._check_table(f"tables.{name}", table)
        for name in self.params.datasets:
            self.params.shard_size_of(name)
        for name in self.params.features:
            self.params.jobs_of(name)
            self._check_sources(name)
        for name in self.params.experiments:
            self._check_experiment(name)
        for name in self.params.figures:
            self._check_figure(name)

    def _check_suites(self) -> None:
        params = self.params
        member(params.suite, params.suites, "suite")
        for suite, tables in params.suites.items():
            for table in tables:
                member(table, params.tables, f"suites.{suite}")
        if "all" in params.tables:
            raise CrossmodalError("params.yaml: tables.all: 'all' is taken; choose another name")

    def _check_table(self, where: str, table: Table) -> None:
        for key, allowed in (
            ("experiments", self.nameable),
            ("figures", self.params.figures),
            ("margins", table.experiments),
            ("similarity", table.experiments),
            ("papers", papers()),
        ):
            for name in getattr(table, key):
                member(name, allowed, f"{where}.{key}")
        if table.map:
            member(table.map.experiment, self.params.experiments, f"{where}.map.experiment")
        for source in table.cited.rows().values() if table.cited else ():
            _check_published(source, f"{where}.cited")
        if table.external:
            member(table.external, external_numbers(), f"{where}.external")
        for name in table.qrels.values():
            if not name.endswith(".csv"):
                self._check_qrels(f"{where}.relevance", name, table)

    def _check_qrels(self, where: str, name: str, table: Table) -> None:
        """Check that the datasets of a table have qrels of a name."""
        for experiment in table.experiments:
            dataset = self.params.experiments[experiment].dataset
            if f"datasets.{dataset}" not in self.facts.broken:
                own = self.facts.entries[f"datasets.{dataset}"].qrels
                named = [*own, "own", "a path that ends in .csv"]
                member(name, named, f"{where} of {dataset}")

    def _check_sources(self, name: str, results: tuple[str, ...] = ()) -> str:
        """Check what a feature is computed from; why it cannot be used, or nothing.

        Args:
            name: Of the feature.
            results: Features that are computed from it, the last one first.
        """
        entry, broken = f"features.{name}", self.facts.broken
        if name in results:
            way = " from ".join((*results, name))
            raise CrossmodalError(f"params.yaml: {entry}: it is computed from itself, {way}")
        if entry not in broken:
            for source in self.facts.features[name].of:
                member(source, self.params.features, entry)
                if reason := self._check_sources(source, (*results, name)):
                    broken[entry] = reason
        return broken.get(entry, "")

    def _check_figure(self, name: str) -> None:
        figure, where = self.params.figures[name], f"figures.{name}"
        for experiment in figure.experiments:
            member(experiment, self.nameable, f"{where}.experiments")
            options = self.params.fit(experiment).options.items()
            numbers = [name for name, value in options if type(value) in (int, float)]
            allowed = [*TRAINING, *numbers, *self.params.experiments[experiment].facts]
            member(figure.x, allowed, f"{where}.x")
        logged = figure.x in TRAINING
        member(figure.y, get_args(Logged if logged else Metric), f"{where}.y")
        if figure.direction:
            first, second = list(self.params.experiments[figure.experiments[0]].views)[:2]
            both = (f"{first}-to-{second}", f"{second}-to-{first}")
            member(figure.direction, both, f"{where}.direction")

    def _check_experiment(self, name: str) -> None:
        spec, where = self.params.experiments[name], self.params.address_of(name)
        member(spec.dataset, self.params.datasets, f"{where}.dataset")
        member(spec.method, self.params.methods, f"{where}.method")
        for modality, feature in spec.views.items():
            member(feature, self.params.features, f"{where}.views.{modality}")
        if reason := self._reason(spec):
            self.facts.broken[f"experiments.{name}"] = reason
            return
        for modality, feature in spec.views.items():
            described = self.facts.features[feature].modality
            if described != modality:
                raise CrossmodalError(
                    f"params.yaml: {where}.views.{modality}: {feature!r} describes {described}"
                )
        if spec.beside:
            self._check_beside(f"{where}.beside", spec, spec.beside)
        if spec.published:
            _check_published(spec.published, f"{where}.published")
        self._check_method(name, where)

    def _reason(self, spec: Experiment) -> str:
        """Return why an experiment cannot run: its first plug-in that is broken, or nothing."""
        used = [f"datasets.{spec.dataset}", f"methods.{spec.method}"]
        used += [f"features.{feature}" for feature in spec.views.values()]
        return next((self.facts.broken[entry] for entry in used if entry in self.facts.broken), "")

    def _check_method(self, name: str, where: str) -> None:
        """Check that an experiment's method takes its options and views; keep its facts."""
        spec, fit = self.params.experiments[name], self.params.fit(name)
        for option in spec.grid.keys() & spec.search.keys():
            raise CrossmodalError(
                f"params.yaml: {where}: {option!r} is in `grid` and in `search`; "
                "leave it out of one"
            )
        shapes = [self.facts.features[feature].shape for feature in spec.views.values()]
        of = digest(non_defaults(fit), [*spec.views.items()], shapes, spec.gpus)
        earlier = self.earlier.experiments.get(name)
        if earlier and earlier.of == of:
            self.facts.experiments[name] = earlier
            return
        method = plugins.make("methods", fit.plugin, fit.options, f"{where}.options")
        self._check_views(f"{where}.views", spec, method)
        self.facts.experiments[name] = answers(method, ExperimentFacts, of=of)
        if spec.gpus > 1 and not method.distributed:
            raise CrossmodalError(
                f"params.yaml: {where}.gpus: is {spec.gpus}, but the method {fit.plugin!r} "
                "trains on one; leave it out"
            )
        for options in combinations(fit.search):
            plugins.make("methods", fit.plugin, fit.options | options, f"{where}.search")

    def _check_beside(self, where: str, spec: Experiment, name: str) -> None:
        """Check that queries of both experiments are the same."""
        member(name, self.params.experiments, where)
        other = self.params.experiments[name]
        if (other.dataset, set([*other.views][:2])) != (spec.dataset, set([*spec.views][:2])):
            raise CrossmodalError(
                f"params.yaml: {where}: {name!r} is on {other.dataset} with other "
                "modalities; name an experiment on the same dataset, with the same two"
            )

    def _check_views(self, where: str, spec: Experiment, method: Any) -> None:
        """Check that the method takes these views, and rows like theirs."""
        for number, (modality, feature) in enumerate(spec.views.items()):
            takes = method.takes if number < 2 else method.further
            if modality not in takes:
                place = "as the first two views" if number < 2 else "as a further view"
                allowed = ", ".join(takes) or "none"
                raise CrossmodalError(
                    f"params.yaml: {where}.{modality}: {spec.method!r} takes no {modality} "
                    f"{place}, with its options; it takes: {allowed}"
                )
            shapes, shape = takes[modality], self.facts.features[feature].shape
            if shape not in shapes:
                fit = [
                    name
                    for name, other in self.facts.features.items()
                    if other.modality == modality and other.shape in shapes
                ]
                raise CrossmodalError(
                    f"params.yaml: {where}.{modality}: rows of {feature!r} are of the shape "
                    f"{shape}, but {spec.method!r} takes {' or '.join(shapes)}; "
                    f"that fit: {', '.join(fit) or 'none'}"
                )


def _check_names(entry: dict[str, Any], where: str) -> None:
    """Check that the names of an entry in tables are texts."""
    for key in entry.keys() & {"label", "published"}:
        if not isinstance(entry[key], str) or not entry[key].strip():
            raise CrossmodalError(
                f"params.yaml: {where}.{key}: must be a text, but it is {entry[key]!r}; quote it"
            )


def _check_published(source: Published, where: str) -> None:
    try:
        published_numbers(source)
    except CrossmodalError as error:
        raise CrossmodalError(
            f"params.yaml: {where}: {error}; a method is called by its `published` there, else by "
            "its label"
        ) from None
