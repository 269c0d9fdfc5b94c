"""Facts of plug-ins from a check of params.yaml, so that they need not be imported again.

A change of one entry imports its plug-in alone.
"""

from pydantic import Field

from crossmodal.config.fit import Options
from crossmodal.plugin import Count, Strict


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
        gpu: Of a method, whether it can use a GPU.
        scores_on_gpu: Of a method, whether the evaluation of its runs can.
    """

    of: str
    defaults: Options
    qrels: list[str]
    gpu: bool
    scores_on_gpu: bool


class ExperimentFacts(Strict):
    """Answers of an experiment's method, with its options.

    Attributes:
        of: Digest of all that was checked.
        weights: File of the method's weights.
        random: Whether the seed matters.
        task: 'category' or 'instance'.
        threads: That the method makes use of.
    """

    of: str
    weights: str
    random: bool
    task: str
    threads: int


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
