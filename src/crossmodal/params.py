"""The schema of params.yaml: everything that can be asked for, checked before any job runs."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args

import yaml
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from crossmodal import plugins
from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.published import Published, published_values
from crossmodal.files import write_text
from crossmodal.schema import STEP, Experiment, Figure, Logged, Metric, Name, Options, Strict, Table
from crossmodal.search import combinations, member_name


class FeatureFacts(Strict):
    """What the rules ask of a feature; see `features.base.Feature`."""

    modality: str
    reads: tuple[str, ...]
    of: tuple[str, ...]
    weights: str
    threads: int
    gpu: bool
    media: bool


class Facts(Strict):
    """What a check of params.yaml found out of plug-ins, which need not be imported again."""

    key: str = Field(description="Hash of params.yaml and of all source that was checked")
    features: dict[str, FeatureFacts]
    gpu: dict[str, bool] = Field(description="Plug-in of a method -> whether it can use a GPU")
    weights: dict[str, str] = Field({}, description="Experiment -> file of its method's weights")


class Params(Strict):
    """The whole of params.yaml."""

    suite: str = Field(description="What results/tables/all.md holds: a key of `suites`")
    suites: dict[str, Annotated[list[str], Field(min_length=1)]]
    seeds: Annotated[int, Field(gt=0)]
    mirror: str | None = Field(None, description="Folder or URL that replaces the datasets' hosts")
    tables: dict[Name, Table]
    figures: dict[Name, Figure]
    experiments: dict[Name, Experiment]
    datasets: dict[Name, Options]
    features: dict[Name, Options]
    methods: dict[Name, Options]
    _facts: Facts = PrivateAttr()
    _made: dict[tuple[str, str], Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _put_members_for_grids(self) -> "Params":
        """A grid's experiments take its place, wherever it is named."""
        grids = {name: combinations(spec.grid) for name, spec in self.experiments.items()}
        counts = Counter(member_name(name, chosen) for name in grids for chosen in grids[name])
        if twice := [name for name, count in counts.items() if count > 1]:
            raise CrossmodalError(f"params.yaml: experiments: a grid makes {twice[0]!r} again")
        members = {name: spec.members(name) for name, spec in self.experiments.items()}
        self.experiments = {n: spec for found in members.values() for n, spec in found.items()}
        for shown in (*self.tables.values(), *self.figures.values()):
            shown.experiments = [m for name in shown.experiments for m in members.get(name, [name])]
        return self

    def plugin(self, kind: str, name: str) -> dict[str, Any]:
        """File name and options of one entry of `datasets`, `features` or `methods`."""
        options = dict(getattr(self, kind)[name])
        return {"plugin": options.pop("plugin", name), "options": options}

    def feature_of(self, name: str) -> FeatureFacts:
        """What is known of one entry of `features`."""
        return self._facts.features[name]

    def dataset_of(self, name: str) -> Any:
        """The dataset of one entry of `datasets`."""
        return self._instance("datasets", name)

    def uses_gpu(self, experiment: str) -> bool:
        """Whether an experiment's method can use a GPU."""
        return self._facts.gpu[self.fit_job(experiment)["plugin"]]

    def weights_of(self, experiment: str) -> str:
        """File in `data/raw/weights/` that an experiment's method begins with, or empty."""
        return self._facts.weights[experiment]

    def fit_job(self, experiment: str) -> dict[str, Any]:
        """All that a fit of an experiment depends on, but its data."""
        spec = self.experiments[experiment]
        method = self.plugin("methods", spec.method)
        method["options"] |= spec.options | spec.set_by_grid()
        return {**method, "search": spec.search, "views": spec.views, "labels": spec.labels}

    def seeds_of(self, experiment: str) -> range:
        """Seeds of an experiment, from 0."""
        return range(self.experiments[experiment].seeds or self.seeds)

    def shown_in(self, table: str) -> list[str]:
        """Experiments that a table or one of its figures shows."""
        spec = self.tables[table]
        shown = [spec.experiments, *(self.figures[name].experiments for name in spec.figures)]
        shown.append([spec.map.experiment] if spec.map else [])
        return list(dict.fromkeys(experiment for part in shown for experiment in part))

    def check(self, key: str) -> None:
        """Check every name and option against what exists, and keep the facts.

        Args:
            key: Under which the facts are kept.

        Raises:
            CrossmodalError: With key path, value and the allowed values.
        """
        self._facts = self._find_facts(key)
        _member(self.suite, self.suites, "suite")
        for suite, tables in self.suites.items():
            for table in tables:
                _member(table, self.tables, f"suites.{suite}")
        if "all" in self.tables:
            raise CrossmodalError("params.yaml: tables.all: 'all' is taken; choose another name")
        for name, table in self.tables.items():
            for experiment in table.experiments:
                _member(experiment, self.experiments, f"tables.{name}.experiments")
            for figure in table.figures:
                _member(figure, self.figures, f"tables.{name}.figures")
            if table.map:
                _member(table.map.experiment, self.experiments, f"tables.{name}.map.experiment")
            for kind in ("margins", "similarity"):
                for experiment in getattr(table, kind):
                    _member(experiment, table.experiments, f"tables.{name}.{kind}")
            for label, source in table.cited.items():
                _check_published(source, f"tables.{name}.cited.{label}")
        for name in self.features:
            for source in self.feature_of(name).of:
                _member(source, self.features, f"features.{name}")
        for name in self.experiments:
            self._check_experiment(name)
        for name in self.figures:
            self._check_figure(name)

    def _recall(self, checked: Path, key: str) -> bool:
        """Take the facts of an earlier check, if they are of this content and source."""
        try:
            facts = Facts.model_validate_json(checked.read_bytes())
        except (OSError, ValidationError):
            return False
        self._facts = facts
        return facts.key == key

    def _find_facts(self, key: str) -> Facts:
        """Make every plug-in once, and ask it."""
        made = {(kind, name): self._instance(kind, name) for kind, name in self._entries()}
        asked = {
            name: {fact: getattr(feature, fact) for fact in FeatureFacts.model_fields}
            for (kind, name), feature in made.items()
            if kind == "features"
        }
        gpu = {
            self.plugin(kind, name)["plugin"]: method.gpu
            for (kind, name), method in made.items()
            if kind == "methods"
        }
        return Facts(key=key, features=asked, gpu=gpu)

    def _instance(self, kind: str, name: str) -> Any:
        """The plug-in of an entry, made when it is first wanted."""
        if (kind, name) not in self._made:
            entry, where = self.plugin(kind, name), f"{kind}.{name}"
            _member(entry["plugin"], plugins.names(kind), f"{where}.plugin")
            self._made[kind, name] = plugins.make(kind, entry["plugin"], entry["options"], where)
        return self._made[kind, name]

    def _entries(self) -> Iterator[tuple[str, str]]:
        return ((kind, name) for kind in plugins.BASES for name in getattr(self, kind))

    def _check_figure(self, name: str) -> None:
        figure, where = self.figures[name], f"figures.{name}"
        for experiment in figure.experiments:
            _member(experiment, self.experiments, f"{where}.experiments")
            numbers = {STEP: 0} | self.fit_job(experiment)["options"]
            numbers = [name for name, value in numbers.items() if type(value) in (int, float)]
            _member(figure.x, numbers, f"{where}.x")
        logged = figure.x == STEP
        _member(figure.y, get_args(Logged if logged else Metric), f"{where}.y")

    def _check_experiment(self, name: str) -> None:
        spec, where = self.experiments[name], f"experiments.{name}"
        _member(spec.dataset, self.datasets, f"{where}.dataset")
        _member(spec.method, self.methods, f"{where}.method")
        for modality, feature in spec.views.items():
            _member(feature, self.features, f"{where}.views.{modality}")
            described = self.feature_of(feature).modality
            if described != modality:
                raise CrossmodalError(
                    f"params.yaml: {where}.views.{modality}: {feature!r} describes {described}"
                )
        if spec.published:
            _check_published(spec.published, f"{where}.published")
        job = self.fit_job(name)
        method = plugins.make("methods", job["plugin"], job["options"], f"{where}.options")
        self._facts.weights[name] = method.weights
        for options in combinations(job["search"]):
            plugins.make("methods", job["plugin"], job["options"] | options, f"{where}.search")


def parse(config: dict[str, Any], checked: Path | None = None) -> Params:
    """Check the content of params.yaml.

    Args:
        config: The content.
        checked: Where the facts of the last check are kept: if neither the content nor any source
            has changed since, plug-ins are not imported.

    Raises:
        CrossmodalError: One line per finding, with key path, value and what is allowed.
    """
    try:
        params = Params.model_validate(config)
    except ValidationError as error:
        raise CrossmodalError(plugins.explain(error, Params)) from None
    key = _key(config)
    if not (checked and params._recall(checked, key)):
        params.check(key)
        if checked:
            write_text(checked, params._facts.model_dump_json())
    return params


def _key(config: dict[str, Any]) -> str:
    """Hash of the content and of the package's source."""
    found = hashlib.sha256(json.dumps(config, default=str).encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def read(path: Path) -> Params:
    """Read and check a params.yaml."""
    refuse_repeats(path)
    return parse(yaml.safe_load(Path(path).read_text(encoding="utf-8")) or {})


def refuse_repeats(path: Path) -> None:
    """Check that no mapping of a YAML file has a key twice: readers would drop the first one.

    Raises:
        CrossmodalError: With the lines of both, or if the file is no YAML.
    """
    try:
        todo = [yaml.compose(Path(path).read_text(encoding="utf-8"), yaml.CSafeLoader)]
    except (OSError, yaml.YAMLError) as error:
        raise CrossmodalError(f"{path}: {error}") from error
    seen: set[int] = set()
    while todo:
        node = todo.pop()
        if id(node) in seen:  # an anchor's content stands wherever it is named
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                name, line = str(key.value), key.start_mark.line + 1
                if lines.setdefault(name, line) != line:
                    raise CrossmodalError(
                        f"{path}: line {line}: key {name!r} is there already, in line "
                        f"{lines[name]}; remove one"
                    )
                todo.append(value)
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value


def _check_published(source: Published, where: str) -> None:
    try:
        published_values(source)
    except CrossmodalError as error:
        raise CrossmodalError(f"params.yaml: {where}: {error}") from None


def _member(value: str, allowed: Any, where: str) -> None:
    if value not in allowed:
        known = ", ".join(sorted(allowed)) or "none"
        raise CrossmodalError(f"params.yaml: {where}: {value!r} is unknown; known: {known}")
