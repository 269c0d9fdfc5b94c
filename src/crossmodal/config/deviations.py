"""Sections of docs/deviations.md by the plug-ins that their decisions are about."""

import functools
from importlib.resources import files

import yaml
from pydantic import Field

from crossmodal.config.table import Names
from crossmodal.plugin import Strict


class Scope(Strict):
    """Plug-ins whose rows a section is about; without any, it is about all rows."""

    datasets: Names = Field(default=[])
    features: Names = Field(default=[])
    methods: Names = Field(default=[])


@functools.cache
def read_scopes() -> dict[str, Scope]:
    """Return the sections of published/deviations.yaml, in its order."""
    text = (files("crossmodal") / "published" / "deviations.yaml").read_text(encoding="utf-8")
    sections = yaml.load(text, yaml.CSafeLoader)
    return {section: Scope.model_validate(scope) for section, scope in sections.items()}


def sections_of(dataset: str, features: set[str], method: str) -> list[str]:
    """Return the sections that are about a row.

    Args:
        dataset: Plug-in of its dataset.
        features: Plug-ins of its features.
        method: Plug-in of its method.
    """
    return [
        section
        for section, scope in read_scopes().items()
        if dataset in scope.datasets
        or features.intersection(scope.features)
        or method in scope.methods
        or scope == Scope()
    ]
