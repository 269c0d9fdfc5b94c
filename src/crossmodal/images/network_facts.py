"""What is known of a network before it is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from crossmodal.images.crops import Preparation
from crossmodal.resources.networks import Workload


@dataclass(frozen=True)
class Network:
    """Facts about a network.

    Args:
        library: Where its architecture comes from.
        architecture: Its name there.
        width: Width of the customary one-layer embedding (FC7), which ends the read-out: fc7, the
            pooled last block or head, both expansions of the last fire module, timm's pooled
            output.
        maps_width: Channels of its last convolutional maps; 0 if it has none.
        classifier: The final classification layer, which is left out; empty if timm does that.
        maps: Module with these maps, rectified, before any pooling; of timm's they end
            `forward_features`.
        blocks: Pattern of the modules that end the stem, a block or the head; empty if the network
            has no blocks, or is one of timm's by name.
        preparation: How images are prepared for it.
        work: Its size without the classifier, for one crop.
        held: Numbers of one crop that are held at the same time where nothing is trained.
        columns: What may be read of it, 'all' or 'blocks', and how many numbers that are.
        repository: Of its published weights on the Hugging Face hub; empty if there is none.
    """

    library: Literal["torchvision", "timm"]
    architecture: str
    width: int
    maps_width: int
    classifier: str = ""
    maps: str = ""
    blocks: str = ""
    preparation: Preparation = field(default_factory=Preparation)
    work: Workload = field(default_factory=Workload)
    held: float = 0
    columns: Mapping[str, int] = field(default_factory=dict)
    repository: str = ""
