"""The schema of params.yaml: everything that can be asked for, checked before any job runs."""

import hashlib
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from crossmodal.config import plugins
from crossmodal.config.checks import Checks, member
from crossmodal.config.estimates import Estimates
from crossmodal.config.experiment import Experiment, Group, Name, Options
from crossmodal.config.facts import Facts, FeatureFacts
from crossmodal.config.grids import combinations, member_name
from crossmodal.config.groups import Layers, based, expand, merged
from crossmodal.config.overlays import naming, read_files
from crossmodal.config.table import Figure, Suite, Table
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_text
from crossmodal.options import Strict
from crossmodal.resources.needs import Resources

CHECKED = Path(".snakemake/params-checked.json")  # beside params.yaml
NAMES = ("plugin", "label", "published")  # keys of an entry that are no options


def _with_bases(entries: Any, info: ValidationInfo) -> Any:
    """Entries with all that they inherit; an unnamed plug-in is called like the first base."""
    section = str(info.field_name)
    if not isinstance(entries, dict) or not all(isinstance(e, dict) for e in entries.values()):
        return entries  # the schema reports what is wrong
    found = {}
    for name, layers in based(entries, section).items():
        named = {"plugin": layers[0][0].split(".")[1]} if section in plugins.BASES else {}
        said = [said for _, said in layers]
        found[name] = {k: v for part in (named, *said) for k, v in part.items() if k != "base"}
    return found


Based = BeforeValidator(_with_bases)


class Params(Strict):
    """params.yaml."""

    suite: str = Field(description="What results/tables/all.md holds: a key of `suites`.")
    stated_suites: dict[str, Suite] = Field(alias="suites")
    seeds: Annotated[int, Field(gt=0)]
    deterministic: bool = Field(
        True, description="Whether a GPU uses deterministic algorithms alone."
    )
    mirror: str | None = Field(None, description="Folder or URL that replaces the datasets' hosts.")
    tables: Annotated[dict[Name, Table], Based]
    figures: Annotated[dict[Name, Figure], Based]
    groups: dict[Name, Group] = Field(alias="experiments")
    datasets: Annotated[dict[Name, Options], Based]
    features: Annotated[dict[Name, Options], Based]
    methods: Annotated[dict[Name, Options], Based]
    _experiments: dict[str, Experiment] = PrivateAttr(default_factory=dict)
    _layers: dict[str, Layers] = PrivateAttr(default_factory=dict)
    _facts: Facts = PrivateAttr()
    _made: dict[tuple[str, str], Any] = PrivateAttr(default_factory=dict)

    @property
    def suites(self) -> dict[str, list[str]]:
        """Tables of each suite."""
        return {name: suite.tables for name, suite in self.stated_suites.items()}

    @property
    def experiments(self) -> dict[str, Experiment]:
        """Every experiment of every group and grid, by name."""
        return self._experiments

    @model_validator(mode="after")
    def _make_experiments(self) -> "Params":
        """Replace groups and grids by what they stand for, wherever they are named."""
        named: dict[str, list[str]] = {}
        for group, members in expand(self.groups).items():
            for name, layers in members.items():
                spec = self._experiment(layers)
                names = [member_name(name, chosen) for chosen in combinations(spec.grid)]
                if twice := [m for m in names if m in self._experiments or names.count(m) > 1]:
                    raise CrossmodalError(
                        f"params.yaml: experiments: a grid makes {twice[0]!r} again"
                    )
                try:
                    self._experiments |= spec.members(name)
                except CrossmodalError as error:
                    raise CrossmodalError(f"params.yaml: experiments.{name}.{error}") from None
                self._layers |= dict.fromkeys(names, layers)
                named[name] = names
            named[group] = [member for name in members for member in named[name]]
        for shown in (*self.tables.values(), *self.figures.values()):
            shown.experiments = [m for name in shown.experiments for m in named.get(name, [name])]
        for name in self.tables:
            self._leave_out_references(name)
        return self

    def _leave_out_references(self, name: str) -> None:
        """Keep the reference rows of a table only where it, or a suite of its, shows them.

        Raises:
            CrossmodalError: If nothing else is left.
        """
        table, known = self.tables[name], self._experiments
        suites = (suite for suite in self.stated_suites.values() if name in suite.tables)
        if table.references or any(suite.references for suite in suites):
            return
        named = table.experiments
        table.experiments = [e for e in named if e not in known or not known[e].reference]
        if not table.experiments:
            raise CrossmodalError(
                f"params.yaml: tables.{name}.experiments: all are reference rows; add one that is "
                "none, or `references: true`"
            )

    def _experiment(self, layers: Layers) -> Experiment:
        """An experiment from all that is said of it."""
        said = merged(layers)
        views = {m: self.features.get(name, {}) for m, name in said.get("views", {}).items()}
        labels = {m: str(entry.get("label", said["views"][m])) for m, entry in views.items()}
        method = self.methods.get(said.get("method", ""), {})
        labels["method"] = str(method.get("label", said.get("method")))
        said["label"] = _filled(said["label"], labels)
        if source := said.get("published"):
            labels["method"] = str(method.get("published", labels["method"]))
            said["published"] = source | {
                "method": _filled(source.get("method", "{method}"), labels)
            }
        try:
            return Experiment.model_validate(said)
        except ValidationError as error:
            raise CrossmodalError(plugins.explain(error, Experiment, layers[-1][0])) from None

    def layers_of(self, experiment: str) -> Layers:
        """What is said of an experiment, with the address of each part."""
        return self._layers[experiment]

    def plugin(self, kind: str, name: str) -> dict[str, Any]:
        """File name and options of one entry of `datasets`, `features` or `methods`."""
        entry = getattr(self, kind)[name]
        options = {key: value for key, value in entry.items() if key not in NAMES}
        return {"plugin": entry["plugin"], "options": options}

    def feature_of(self, name: str) -> FeatureFacts:
        """What is known of one entry of `features`."""
        self.require("features", name)
        return self._facts.features[name]

    def lacking(self, name: str) -> list[str]:
        """Packages that one entry of `features` needs and that are not installed."""
        return [package for package in self.feature_of(name).packages if not find_spec(package)]

    def dataset_of(self, name: str) -> Any:
        """The dataset of one entry of `datasets`."""
        return self.instance("datasets", name)

    def uses_gpu(self, experiment: str) -> bool:
        """Whether an experiment's method can use a GPU."""
        self.require("experiments", experiment)
        return self._facts.gpu[self.fit_job(experiment)["plugin"]]

    def weights_of(self, experiment: str) -> str:
        """File in `data/raw/weights/` that an experiment's method begins with, or empty."""
        self.require("experiments", experiment)
        return self._facts.weights[experiment]

    def needs(self, rule: str, dataset: str, *names: str) -> Resources:
        """What a job needs: kept by the check, unless the user's own data have another size now.

        Args:
            rule: Rule of the job.
            dataset: The dataset that it works on.
            names: Values of the rule's wildcards.
        """
        job, estimates = " ".join([rule, *names]), Estimates(self)
        if job in self._facts.needs and self._facts.extents[dataset] == estimates.extent(dataset):
            return self._facts.needs[job]
        return estimates.of(rule, *names)

    def fit_job(self, experiment: str) -> dict[str, Any]:
        """All that a fit of an experiment depends on, but its data."""
        spec = self.experiments[experiment]
        method = self.plugin("methods", spec.method)
        method["options"] |= spec.options | spec.set_by_grid()
        data = {"views": spec.views, "relevance": spec.relevance}
        if spec.search and spec.searched_by == "first":
            data["searched_by"] = "first"
        if spec.changes:
            data["changes"] = spec.changes.model_dump(exclude={"label"})
        return {**method, "search": spec.search, **data}

    @property
    def broken(self) -> dict[str, str]:
        """Entries that cannot be used, since a plug-in is broken: 'methods.cca' -> the reason."""
        return self._facts.broken

    def usable(self, kind: str) -> list[str]:
        """Entries of a section but those whose plug-in is broken.

        Args:
            kind: 'datasets', 'features' or 'methods'.
        """
        return [name for name in getattr(self, kind) if f"{kind}.{name}" not in self.broken]

    def require(self, kind: str, name: str) -> None:
        """Check that the plug-ins of an entry are whole.

        Raises:
            CrossmodalError: With file and line of the one that is not.
        """
        if reason := self.broken.get(f"{kind}.{name}"):
            raise CrossmodalError(reason)

    def is_deterministic(self, experiment: str) -> bool:
        """Whether every seed of an experiment would give the same model."""
        self.require("experiments", experiment)
        return not self._facts.random[experiment]

    def task_of(self, experiment: str) -> str:
        """What an experiment's method learns to retrieve: 'category' or 'instance'."""
        self.require("experiments", experiment)
        return self._facts.tasks[experiment]

    def seeds_of(self, experiment: str) -> range:
        """Seeds of an experiment, from 0; one where nothing is random."""
        if self.is_deterministic(experiment):
            return range(1)
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
        Checks(self, self._facts).all()
        estimates = Estimates(self)
        self._facts.extents = {name: estimates.extent(name) for name in self.usable("datasets")}
        self._facts.needs = {" ".join(job): estimates.of(*job) for job in estimates.jobs()}

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
        made, broken = {}, {}
        for kind, name in self._entries():
            try:
                made[kind, name] = self.instance(kind, name)
            except plugins.BrokenPluginError as error:
                broken[f"{kind}.{name}"] = str(error)
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
        return Facts(key=key, features=asked, gpu=gpu, broken=broken)

    def instance(self, kind: str, name: str) -> Any:
        """The plug-in of an entry, made when it is first wanted."""
        if (kind, name) not in self._made:
            entry, where = self.plugin(kind, name), f"{kind}.{name}"
            member(entry["plugin"], plugins.names(kind), f"{where}.plugin")
            self._made[kind, name] = plugins.make(kind, entry["plugin"], entry["options"], where)
        return self._made[kind, name]

    def _entries(self) -> Iterator[tuple[str, str]]:
        return ((kind, name) for kind in plugins.BASES for name in getattr(self, kind))


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
        if checked and not params.broken:  # what is broken may be mended outside of the package
            write_text(checked, params._facts.model_dump_json())
    return params


def _key(config: dict[str, Any]) -> str:
    """Hash of the content and of the package's source."""
    found = hashlib.sha256(json.dumps(config, default=str).encode())
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def read(*files: Path) -> Params:
    """Read and check params.yaml, and files laid over it.

    What was checked before need not be checked again.
    """
    with naming(files):
        return parse(read_files(files), files[0].parent / CHECKED)


def _filled(text: str, labels: dict[str, str]) -> str:
    """A text with the labels of the method and of the views where it says so."""
    for name, label in labels.items():
        text = text.replace(f"{{{name}}}", label)
    return text
