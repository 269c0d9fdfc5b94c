"""What a check of params.yaml finds out of plug-ins, which need not be imported again."""

from typing import Any

from pydantic import Field

from crossmodal.plugin import Strict


class FeatureFacts(Strict):
    """What the rules ask of a feature; see `data.feature.Feature`."""

    modality: str
    shape: str
    reads: tuple[str, ...]
    of: tuple[str, ...]
    weights: str
    threads: int
    gpu: bool
    invertible: bool
    packages: tuple[str, ...]


class Facts(Strict):
    """Answers of all plug-ins that params.yaml names, with its options."""

    key: str = Field(description="Hash of params.yaml and of all source that was checked.")
    features: dict[str, FeatureFacts]
    defaults: dict[str, dict[str, Any]] = Field(
        {}, description="Section and plug-in, such as 'methods.sam' -> options that have a default."
    )
    gpu: dict[str, bool] = Field(description="Plug-in of a method -> whether it can use a GPU.")
    weights: dict[str, str] = Field({}, description="Experiment -> file of its method's weights.")
    random: dict[str, bool] = Field({}, description="Experiment -> whether its seed matters.")
    tasks: dict[str, str] = Field({}, description="Experiment -> task of its method.")
    threads: dict[str, int] = Field({}, description="Experiment -> threads of its method.")
    broken: dict[str, str] = Field(
        {}, description="Entry -> why its plug-in cannot be used; of experiments, one of theirs."
    )
