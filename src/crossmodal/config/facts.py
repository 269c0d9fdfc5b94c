"""Facts of plug-ins from a check of params.yaml, so that they need not be imported again."""

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


class Facts(Strict):
    """Answers of all plug-ins that params.yaml names, with its options.

    Attributes:
        key: Hash of params.yaml and of all source that was checked.
        features: Of each entry of `features`.
        gpu: Plug-in of a method -> whether it can use a GPU.
        scores_on_gpu: Plug-in of a method -> whether the evaluation of its runs can.
        defaults: Section and plug-in, such as 'methods.sam' -> options that have a default.
        weights: Experiment -> file of its method's weights.
        random: Experiment -> whether its seed matters.
        tasks: Experiment -> task of its method.
        threads: Experiment -> threads of its method.
        qrels: Entry of `datasets` -> names of the qrels that it has.
        broken: Entry -> why its plug-in cannot be used; of experiments, one of theirs.
    """

    key: str
    features: dict[str, FeatureFacts]
    gpu: dict[str, bool]
    scores_on_gpu: dict[str, bool] = Field(default={})
    defaults: dict[str, Options] = Field(default={})
    weights: dict[str, str] = Field(default={})
    random: dict[str, bool] = Field(default={})
    tasks: dict[str, str] = Field(default={})
    threads: dict[str, int] = Field(default={})
    qrels: dict[str, list[str]] = Field(default={})
    broken: dict[str, str] = Field(default={})
