"""Facts of plug-ins from a check of params.yaml, so that they need not be imported again.

A change of one entry imports its plug-in alone.
"""

import inspect
from collections.abc import Sequence
from typing import TypeVar

from pydantic import Field, ValidationError
from pydantic_core import to_jsonable_python

from crossmodal.config.fit import Modality, Options
from crossmodal.config.plugins import BrokenPluginError
from crossmodal.data.feature import Shape
from crossmodal.plugin import Count, Plugin, Strict

Takes = dict[Modality, Sequence[Shape]]
Answers = TypeVar("Answers", bound=Strict)


def answers(plugin: Plugin, facts: type[Answers], **stated: object) -> Answers:
    """Return facts of a plug-in, which are attributes of it, beside those that are stated.

    Raises:
        BrokenPluginError: If one is of another type, with the plug-in's file.
    """
    own = {
        fact: getattr(plugin, fact)
        for fact, field in facts.model_fields.items()
        if fact not in stated and (field.is_required() or hasattr(plugin, fact))
    }
    return _made(plugin, facts, own | stated)


def default_values(options: type[Strict]) -> Options:
    """Return the options that have a default, each made anew."""
    fields = options.model_fields.items()
    return {n: f.get_default(call_default_factory=True) for n, f in fields if not f.is_required()}


def defaults_of(plugin: Plugin, stated: Options) -> Options:
    """Return the options of a plug-in that have a default, as JSON has them.

    Raises:
        BrokenPluginError: If it does not take them so, beside those that are stated.
    """
    defaults: Options = to_jsonable_python(default_values(plugin.Options))
    _made(plugin, plugin.Options, defaults | stated)
    return defaults


def _made(plugin: Plugin, model: type[Answers], values: dict[str, object]) -> Answers:
    """Return a model of what a plug-in says; an error names the plug-in's file."""
    try:
        return model(**values)
    except ValidationError as error:
        (wrong, *_), kind = error.errors(), type(plugin)
        name = str(wrong["loc"][0])
        raise BrokenPluginError(
            f"{inspect.getsourcefile(kind)}: {kind.__name__} has {name} = {values.get(name)!r}: "
            f"{wrong['msg']}"
        ) from None


class FeatureFacts(Strict):
    """Facts of a feature that the rules ask for, and `chunk`; see `data.feature.Feature`."""

    modality: str
    shape: str
    reads: tuple[str, ...]
    of: tuple[str, ...]
    weights: str
    files: tuple[str, ...]
    threads: Count
    chunk: Count
    gpu: bool
    invertible: bool
    packages: tuple[str, ...]


class EntryFacts(Strict):
    """Answers of the plug-in of one entry of `datasets`, `features` or `methods`.

    Attributes:
        of: Digest of the entry.
        defaults: Options that have a default.
        qrels: Of a dataset, names of the qrels that it has.
    """

    of: str
    defaults: Options
    qrels: list[str]


class ExperimentFacts(Strict):
    """Answers of an experiment's method, with its options.

    Attributes:
        of: Digest of all that was checked.
        weights: File of the method's weights.
        random: Whether the seed matters.
        task: 'category' or 'instance'.
        threads: That the method makes use of.
        gpu: Whether it can use a GPU.
        scores_on_gpu: Whether the evaluation of its runs can.
        takes: Shapes of rows that it takes of each modality, of further views `further`; not kept.
    """

    of: str
    weights: str
    random: bool
    task: str
    threads: Count
    gpu: bool
    scores_on_gpu: bool = False
    takes: Takes = Field({}, exclude=True)
    further: Takes = Field({}, exclude=True)


class Facts(Strict):
    """Answers of all plug-ins that params.yaml names, with its options.

    Attributes:
        key: Hash of params.yaml and of all source that was checked.
        source: Hash of that source.
        entries: Entry, such as 'methods.sam' -> answers of its plug-in.
        features: Of each entry of `features`, what the rules ask for.
        experiments: Of each experiment, answers of its method.
        broken: Entry -> why its plug-in cannot be used; of experiments, one of theirs.
    """

    key: str = ""
    source: str = ""
    entries: dict[str, EntryFacts] = Field(default={})
    features: dict[str, FeatureFacts] = Field(default={})
    experiments: dict[str, ExperimentFacts] = Field(default={})
    broken: dict[str, str] = Field(default={})
