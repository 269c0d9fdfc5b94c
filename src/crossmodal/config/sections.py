"""Sections of params.yaml: entries with all that they inherit, groups and grids."""

import os
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ByteSize,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from crossmodal.config import plugins
from crossmodal.config.experiment import Experiment, Group, Name
from crossmodal.config.fit import Entry, Fit, Options
from crossmodal.config.grids import combinations, member_name
from crossmodal.config.groups import Layers, based, expand, merged
from crossmodal.config.table import Figure, Names, Table
from crossmodal.errors import CrossmodalError
from crossmodal.plugin import Strict

NAMES = ("plugin", "label", "published")  # keys of an entry that are no options
FURTHER_NAMES = {"features": ("jobs",), "datasets": ("max_shard_size",)}  # more of some sections
Place = Annotated[str, AfterValidator(os.path.expanduser)] | None  # `~` is the home folder
JOBS = TypeAdapter(Annotated[int, Field(strict=True, gt=0)])
SIZE = TypeAdapter(Annotated[ByteSize, Field(gt=1, le=2 * 10**9)])  # of a shard; `true` is 1


def _with_bases(entries: object, info: ValidationInfo) -> object:
    """Return entries with all that they inherit; a plug-in is called like the first base."""
    section = str(info.field_name)
    if not isinstance(entries, dict):
        return entries  # the schema reports what is wrong
    # likewise an entry that is none, beside others that are
    inherited = {name: entry for name, entry in entries.items() if not isinstance(entry, dict)}
    entries = {name: entry for name, entry in entries.items() if isinstance(entry, dict)}
    for name, layers in based(entries, section).items():
        named = {"plugin": layers[0][0].split(".")[1]} if section in plugins.BASES else {}
        parts = [named, *(values for _, values in layers)]
        inherited[name] = {k: v for part in parts for k, v in part.items() if k != "base"}
    return inherited


Based = BeforeValidator(_with_bases)


class Sections(Strict):
    """Content of params.yaml."""

    suite: str = Field(description="What results/tables/all.md holds: a key of `suites`.")
    suites: dict[str, Annotated[Names, Field(min_length=1)]] = Field(
        description="Tables that are made together."
    )
    seeds: Annotated[int, Field(gt=0)]
    deterministic: bool = Field(
        True, description="Whether a GPU uses deterministic algorithms alone."
    )
    portable: bool = Field(
        False,
        description="Whether x86-64 processors use AVX2 alone, so that other ones compute the "
        "same; slower where there is AVX-512.",
    )
    mirror: Place = Field(None, description="Folder or URL that replaces the datasets' hosts.")
    checkpoints: Place = Field(
        None,
        description="Folder of unfinished work that all machines see, where jobs run in folders "
        "of their own.",
    )
    private_storage: bool = Field(
        False,
        description="Whether none but those who hold the licences of all datasets can read the "
        "storage that Snakemake uploads outputs to.",
    )
    tables: Annotated[dict[Name, Table], Based]
    figures: Annotated[dict[Name, Figure], Based]
    groups: dict[Name, Group] = Field(alias="experiments")
    datasets: Annotated[dict[Name, Options], Based]
    features: Annotated[dict[Name, Options], Based]
    methods: Annotated[dict[Name, Options], Based]
    _experiments: dict[str, Experiment] = PrivateAttr(default_factory=dict)
    _layers: dict[str, Layers] = PrivateAttr(default_factory=dict)
    _places: dict[str, str] = PrivateAttr(default_factory=dict)

    @property
    def experiments(self) -> dict[str, Experiment]:
        """Every experiment of every group and grid, by name."""
        return self._experiments

    @model_validator(mode="after")
    def _make_experiments(self) -> Self:
        """Replace groups and grids by what they stand for, wherever they are named."""
        named: dict[str, list[str]] = {}
        for group, members in expand(self.groups).items():
            for name, layers in members.items():
                spec = self._experiment(name, layers)
                names = [member_name(name, chosen) for chosen in combinations(spec.grid)]
                if twice := [m for m in names if m in self._experiments or names.count(m) > 1]:
                    raise CrossmodalError(
                        f"params.yaml: experiments.{group}: a grid makes {twice[0]!r} again"
                    )
                try:
                    self._experiments |= spec.members(name)
                except CrossmodalError as error:
                    raise CrossmodalError(f"params.yaml: experiments.{name}.{error}") from None
                self._layers |= dict.fromkeys(names, layers)
                named[name] = names
            named[group] = [member for name in members for member in named[name]]
        entries: list[Table | Figure] = [*self.tables.values(), *self.figures.values()]
        for entry in entries:
            entry.experiments = [m for name in entry.experiments for m in named.get(name, [name])]
        return self

    def _experiment(self, name: str, layers: Layers) -> Experiment:
        """Return an experiment from its layers of settings."""
        settings = merged(layers)
        if settings.get("embeddings"):
            row = layers[-1][0].split(".")[-1]
            label = row if settings["label"] == "{method}" else settings["label"]
            place = next(at for at, values in reversed(layers) if "embeddings" in values)
            own = self._views_of(name, settings["embeddings"], f"{place}.embeddings")
            settings |= {"views": own, "method": "frozen", "label": label}
        views = {m: self.features.get(name, {}) for m, name in settings.get("views", {}).items()}
        labels = {m: str(entry.get("label", settings["views"][m])) for m, entry in views.items()}
        method = self.methods.get(settings.get("method", ""), {})
        labels["method"] = str(method.get("label", settings.get("method")))
        settings["label"] = _filled(settings["label"], labels)
        if source := settings.get("published"):
            labels["method"] = str(method.get("published", labels["method"]))
            settings["published"] = source | {
                "method": _filled(source.get("method", "{method}"), labels)
            }
        try:
            return Experiment.model_validate(settings)
        except ValidationError as error:
            raise CrossmodalError(plugins.explain(error, Experiment, layers[-1][0])) from None

    def _views_of(
        self, experiment: str, embeddings: dict[str, Options], where: str
    ) -> dict[str, str]:
        """Return views of embeddings that another program computed: features of their own."""
        views = {modality: f"{experiment}_{modality}_embeddings" for modality in embeddings}
        for modality, name in views.items():
            if name in self.features:
                raise CrossmodalError(
                    f"params.yaml: {where}.{modality}: {name!r} is a feature already"
                )
            self.features[name] = {"plugin": "array", "modality": modality} | embeddings[modality]
            self._places[name] = f"{where}.{modality}"
        return views

    def layers_of(self, experiment: str) -> Layers:
        """Return the layers of settings of an experiment, each with its address."""
        return self._layers[experiment]

    def address_of(self, experiment: str) -> str:
        """Return the address of an experiment, or of the row of a group that it is."""
        return self._layers[experiment][0][0]

    def plugin(self, kind: str, name: str) -> Entry:
        """Return plug-in and options of one entry of `datasets`, `features` or `methods`."""
        entry = getattr(self, kind)[name]
        names = (*NAMES, *FURTHER_NAMES.get(kind, ()))
        options = {key: value for key, value in entry.items() if key not in names}
        return {"plugin": entry["plugin"], "options": options}

    def jobs_of(self, feature: str) -> int:
        """Return the number of jobs that extract a feature, each a part of it."""
        needed = "a whole number of at least 1"
        return self._number(f"features.{feature}.jobs", JOBS, needed) or 1

    def shard_size_of(self, dataset: str) -> int | None:
        """Return the bytes of a shard of a dataset's media, at most; None: all are in one file."""
        needed = "a size of at most 2GB, such as 1GB"
        return self._number(f"datasets.{dataset}.max_shard_size", SIZE, needed)

    def _number(self, where: str, kind: TypeAdapter[Any], needed: str) -> int | None:
        """Return the number at an address; None if none is set."""
        section, name, key = where.split(".")
        value = getattr(self, section)[name].get(key)
        try:
            return None if value is None else int(kind.validate_python(value))
        except ValidationError:
            raise CrossmodalError(
                f"params.yaml: {where}: must be {needed}, but it is {value!r}"
            ) from None

    def fit(self, experiment: str) -> Fit:
        """Return all that a fit of an experiment depends on, but its data."""
        spec = self.experiments[experiment]
        method = self.plugin("methods", spec.method)
        method["options"] |= spec.options | spec.set_by_grid()
        first = spec.search and spec.searched_by == "first"
        return Fit(
            **method,
            search=spec.search,
            views=dict(spec.views.items()),
            relevance=spec.relevance,
            searched_by="first" if first else None,
            changes=spec.changes,
        )

    def papers_of(self, table: str) -> list[str]:
        """Return the papers of a table: as it states, else those of its published rows."""
        spec = self.tables[table]
        rows = [self.experiments[name].published for name in spec.experiments]
        rows += spec.cited.rows().values() if spec.cited else []
        return spec.papers or sorted({row.paper for row in rows if row})

    def shown_in(self, table: str) -> list[str]:
        """Return the experiments that a table or one of its figures shows."""
        spec = self.tables[table]
        parts = [spec.experiments, *(self.figures[name].experiments for name in spec.figures)]
        parts.append([spec.map.experiment] if spec.map else [])
        return list(dict.fromkeys(experiment for part in parts for experiment in part))


def _filled(text: str, labels: dict[str, str]) -> str:
    """Return a text with the labels of the method and of the views in their places."""
    for name, label in labels.items():
        text = text.replace(f"{{{name}}}", label)
    return text
