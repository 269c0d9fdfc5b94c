"""params.yaml: everything that can be asked for, checked before any job runs."""

import hashlib
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from pydantic import PrivateAttr, TypeAdapter, ValidationError

from crossmodal.config import plugin_files, plugins
from crossmodal.config.checks import Checks, member
from crossmodal.config.facts import (
    EntryFacts,
    ExperimentFacts,
    Facts,
    FeatureFacts,
    answers,
    defaults_of,
)
from crossmodal.config.fit import Entry, Options, non_defaults
from crossmodal.config.overlays import naming, read_files
from crossmodal.config.sections import Sections
from crossmodal.config.workflow_files import project_of
from crossmodal.config.yaml_text import refuse_other_types
from crossmodal.data.dataset import Dataset
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import digest, write_text
from crossmodal.io.shaped_json import recall

CHECKED = Path(".snakemake/params-checked.json")  # beside params.yaml


class Params(Sections):
    """params.yaml, and what its plug-ins answer."""

    _facts: Facts = PrivateAttr(default_factory=Facts)
    _made: dict[tuple[str, str], Any] = PrivateAttr(default_factory=dict)

    def plugin(self, kind: str, name: str) -> Entry:
        """Return plug-in and options of an entry, those with a default too."""
        entry = super().plugin(kind, name)
        return {"plugin": entry["plugin"], "options": self._defaults(kind, name) | entry["options"]}

    def feature_of(self, name: str) -> FeatureFacts:
        """Return the facts of one entry of `features`."""
        self.require("features", name)
        return self._facts.features[name]

    def lacking(self, name: str) -> list[str]:
        """Return the packages that one entry of `features` needs and that are not installed."""
        return [package for package in self.feature_of(name).packages if not find_spec(package)]

    def dataset_of(self, name: str) -> Dataset:
        """Return the dataset of one entry of `datasets`."""
        return self.instance("datasets", name)

    def facts_of(self, experiment: str) -> ExperimentFacts:
        """Return the facts of an experiment's method, with its options."""
        self.require("experiments", experiment)
        return self._facts.experiments[experiment]

    @property
    def broken(self) -> dict[str, str]:
        """Entries that cannot be used, since a plug-in is broken: 'methods.cca' -> the reason."""
        return self._facts.broken

    def usable(self, kind: str) -> list[str]:
        """Return the entries of a section but those whose plug-in is broken.

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
        """Return whether every seed of an experiment would give the same model."""
        return not self.facts_of(experiment).random

    def described(self, experiment: str) -> str:
        """Return the digest of the description of a fit."""
        return digest(*self.description(experiment))

    def description(self, experiment: str) -> tuple[dict[str, Any], ...]:
        """Return all that is stated of a fit: its job, its dataset and its features.

        Options at their default are left out, so that a new one changes no digest.
        """
        fit, spec = self.fit(experiment), self.experiments[experiment]
        names, features = [*fit.views.values()], {}
        while names:
            name = names.pop()
            features[name] = self._stated("features", name, self.plugin("features", name))
            names += self.feature_of(name).of
        options: Entry = {"plugin": fit.plugin, "options": fit.options}
        method = self._stated("methods", spec.method, options)
        data = self._stated("datasets", spec.dataset, self.plugin("datasets", spec.dataset))
        return non_defaults(fit) | method, {**data}, features

    def plugins_of(self, experiment: str) -> tuple[str, str, set[str]]:
        """Return the plug-ins of an experiment's method, dataset and features."""
        _, dataset, features = self.description(experiment)
        plugins = {str(entry["plugin"]) for entry in features.values()}
        return self.fit(experiment).plugin, str(dataset["plugin"]), plugins

    def _defaults(self, kind: str, name: str) -> Options:
        """Return the options of an entry that have a default, once they are known."""
        facts = self._facts.entries.get(f"{kind}.{name}")
        return facts.defaults if facts else {}

    def _stated(self, kind: str, name: str, entry: Entry) -> Entry:
        """Return an entry with those options alone that are not at their default."""
        defaults = self._defaults(kind, name)
        options = {
            name: value
            for name, value in entry["options"].items()
            if name not in defaults or value != defaults[name]
        }
        return {"plugin": entry["plugin"], "options": options}

    def seeds_of(self, experiment: str) -> range:
        """Return the seeds of an experiment, from 0; one where nothing is random."""
        if self.is_deterministic(experiment):
            return range(1)
        return range(self.experiments[experiment].seeds or self.seeds)

    def check(self, facts: Facts, earlier: Facts) -> None:
        """Check every name and option against what exists, and keep the facts.

        Args:
            facts: Where the facts are put.
            earlier: Facts of an earlier check of the same source; what is as it was is not checked
                again.

        Raises:
            CrossmodalError: With key path, value and the allowed values.
        """
        for kind in plugins.BASES:
            for name in getattr(self, kind):
                self._ask(kind, name, facts, earlier)
        self._facts = facts
        Checks(self, facts, earlier).all()

    def _ask(self, kind: str, name: str, facts: Facts, earlier: Facts) -> None:
        """Put the facts of an entry's plug-in, which is made unless the entry is as it was."""
        where, entry = f"{kind}.{name}", self.plugin(kind, name)
        of = digest(entry)
        if where in earlier.entries and earlier.entries[where].of == of:
            facts.entries[where] = earlier.entries[where]
            if kind == "features":
                facts.features[name] = earlier.features[name]
            return
        try:
            plugin = self.instance(kind, name)
            if kind == "features":
                facts.features[name] = answers(plugin, FeatureFacts)
            if kind == "methods":  # an experiment's may differ with its options
                answers(plugin, ExperimentFacts, of=of)
            facts.entries[where] = EntryFacts(
                of=of,
                defaults=defaults_of(plugin, entry["options"]),
                qrels=[*plugin.qrels] if kind == "datasets" else [],
            )
        except plugins.BrokenPluginError as error:
            facts.broken[where] = str(error)
        except CrossmodalError:
            raise
        except (Exception, SystemExit) as error:  # whatever a user's file raises
            module = plugins.module(kind, entry["plugin"])
            place = plugins._place(module, cast(Exception, error))
            facts.broken[where] = f"{place}: {type(error).__name__}: {error}; correct the plug-in"

    def instance(self, kind: str, name: str) -> Any:
        """Return the plug-in of an entry, which is made at the first call."""
        if (kind, name) not in self._made:
            entry, where = self.plugin(kind, name), self._places.get(name, f"{kind}.{name}")
            member(entry["plugin"], plugins.names(kind), f"{where}.plugin")
            self._made[kind, name] = plugins.make(kind, entry["plugin"], entry["options"], where)
        return self._made[kind, name]


def parse(config: dict[str, Any], checked: Path | None = None) -> Params:
    """Check the content of params.yaml.

    Args:
        config: The content.
        checked: Where the facts of the last check are kept: unless its source has changed since,
            a plug-in is imported only if its entry or an experiment with it has changed.

    Raises:
        CrossmodalError: One line per finding, with key path, value and what is allowed.
    """
    refuse_other_types(config)
    try:
        params = Params.model_validate(config)
    except ValidationError as error:
        raise CrossmodalError(plugins.explain(error, Params)) from None
    source = _source()
    key = digest(config, source)  # Snakemake has the sections of an overlay in another order
    earlier = recall(checked, TypeAdapter(Facts), Facts()) if checked else Facts()
    if earlier.key == key:
        params._facts = earlier
        return params
    if earlier.source != source:  # plug-ins may have had other options
        earlier = Facts()
    params.check(Facts(key=key, source=source), earlier)
    if checked and not params.broken:  # what is broken may be mended outside of the package
        with suppress(OSError):  # the project's folder may be somebody else's
            write_text(checked, params._facts.model_dump_json())
    return params


def _source() -> str:
    """Hash of the source of this package and of plug-ins outside of it."""
    hashed = hashlib.sha256()
    own = Path(__file__).parents[1].rglob("*.py")
    for path in sorted({*own, *plugin_files.sources().values()}):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def read(*files: Path) -> Params:
    """Read and check params.yaml, and files laid over it.

    What was checked before need not be checked again.
    """
    project = project_of(files[0])
    plugin_files.look_in(project)
    with naming(files):
        return parse(read_files(files), project / CHECKED)
