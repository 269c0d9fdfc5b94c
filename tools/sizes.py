"""Write docs/sizes.md: Table I of Cheng et al. 2022, with all parts. Run: python tools/sizes.py."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from crossmodal.config import params
from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import View
from crossmodal.methods.vase import VASE

ROOT = Path(__file__).parents[1]
FRAMES, PIXELS = 2_048, 224
MODELS = {"vase_vgg16": (164.92, 23.09), "vase_resnet50": (80.78, 12.33)}  # as printed
HEAD = (
    "# Parameters and multiply-adds of VASE\n\n"
    "For readers of VASE's Table I: the size and cost of its networks, for one image and one clip "
    "of 2,048 frames, as tested (without the transcripts' branch). Table I of Cheng et al. 2022 "
    "counts the parameters of all parts, but not the multiply-adds of the GRU. Written by `python "
    "tools/sizes.py`.\n\n"
    "| model | part | parameters (M) | multiply-adds (G) |\n| --- | --- | ---: | ---: |\n"
)


def network(name: str) -> nn.ModuleDict:
    """A method's network without values."""
    files = Ragged(np.zeros(1, np.uint8), np.array([0, 1]))
    frames = Ragged(np.zeros((1, 40), np.float16), np.array([0, 1]))
    views = {
        modality: View(rows, np.arange(1), ["0"], {})
        for modality, rows in (("image", files), ("speech", frames))
    }
    options = params.read(ROOT / "params.yaml").plugin("methods", name)["options"]
    with torch.device("meta"):
        return VASE(**options).build(views).to("meta").eval()


def parts(built: nn.ModuleDict) -> dict[str, tuple[nn.Module, tuple[int, ...]]]:
    """Each part with the shape of its input."""
    speech = built["speech"]
    cnn, dims = speech.steps.convolutions, speech.project.in_features
    return {
        "image network": (built["trunk"], (1, 3, PIXELS, PIXELS)),
        "map of images": (built["image"], (1, built["image"].in_features)),
        "speech network": (cnn, (1, FRAMES, 40)),
        "BiGRU": (speech.recurrent, (FRAMES // cnn.stride,)),
        "map of clips": (speech.project, (1, dims)),
    }


def products(part: nn.Module, shape: tuple[int, ...]) -> float:
    """Multiply-adds; a GRU reads each of its matrices once a step."""
    matrices = [p.numel() for name, p in part.named_parameters() if "weight" in name]
    if len(shape) == 1:
        return shape[0] * sum(matrices)
    with FlopCounterMode(display=False) as counter:
        part(torch.empty(shape, device="meta"))
    return counter.get_total_flops() / 2


def main() -> None:
    """Write the page."""
    text = HEAD
    for name, printed in MODELS.items():
        found = {
            part: (sum(p.numel() for p in module.parameters()), products(module, shape))
            for part, (module, shape) in parts(network(name)).items()
        }
        found["all"] = tuple(map(sum, zip(*found.values(), strict=True)))
        rows = [(part, f"{size / 1e6:.2f}", f"{n / 1e9:.2f}") for part, (size, n) in found.items()]
        for row in [*rows, ("published", *(f"{value:.2f}" for value in printed))]:
            text += f"| `{name}` | {' | '.join(row)} |\n"
    (ROOT / "docs/sizes.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
