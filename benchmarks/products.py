"""Products of float32 matrices by `crossmodal.nn.onednn`, next to PyTorch's own.

The sizes are those of the caption pipelines and of SAM: a step of the GRU forwards and backwards,
the gradient of its weights, the image map, a hidden layer. One thread; both take turns, the best
round of each counts. On processors of Intel the ratio is about 1.
Run: PYTHONPATH=. python benchmarks/products.py
"""

from functools import partial

import torch

from benchmarks.ratio import Row, in_turns, named, show
from crossmodal.nn.onednn import product

ROUNDS, FLOP = 6, 2e10
SIZES = {
    "GRU of 512 units, forwards": ((128, 512), (1536, 512)),
    "GRU of 512 units, backwards": ((128, 1536), (512, 1536)),
    "GRU of 512 units, weights": ((1536, 1600), (512, 1600)),
    "GRU of 1536 units, forwards": ((128, 1536), (4608, 1536)),
    "image map, FNE of VGG16": ((128, 12416), (1536, 12416)),
    "hidden layer of SAM": ((200, 4096), (1024, 4096)),
}


def repeated(multiply, a, b, calls):
    for _ in range(calls):
        multiply(a, b)


def ratios():
    torch.set_num_threads(1)
    for name, shapes in SIZES.items():
        a, b = (torch.randn(shape) for shape in shapes)
        calls = max(1, round(FLOP / (2 * len(a) * b.numel())))
        works = (partial(repeated, m, a, b, calls) for m in (product, torch.nn.functional.linear))
        times = (seconds / calls for seconds in in_turns(*works, rounds=ROUNDS))
        size = f"{len(a):,} x {a.shape[1]:,} x {len(b):,}"
        yield Row(f"Product: {name}", size, named("torch"), *times, "about 1 on Intel's processors")


if __name__ == "__main__":
    show(ratios())
