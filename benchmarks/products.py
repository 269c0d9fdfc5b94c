"""Products of float32 matrices by `crossmodal.nn.onednn`, next to PyTorch's own.

The sizes are those of the caption pipelines and of SAM: a step of the GRU forwards and backwards,
the gradient of its weights, the image map, a hidden layer. One thread; both take turns, the best
round of each counts. On processors of Intel the ratio is about 1.
Run: python benchmarks/products.py
"""

from time import perf_counter

import torch

from crossmodal.nn.onednn import product

ROUNDS, SECONDS = 6, 0.3
SIZES = {
    "GRU of 512 units, forwards": ((128, 512), (1536, 512)),
    "GRU of 512 units, backwards": ((128, 1536), (512, 1536)),
    "GRU of 512 units, weights": ((1536, 1600), (512, 1600)),
    "GRU of 1536 units, forwards": ((128, 1536), (4608, 1536)),
    "image map, FNE of VGG16": ((128, 12416), (1536, 12416)),
    "hidden layer of SAM": ((200, 4096), (1024, 4096)),
}


def rate(multiply, a, b):
    """GFLOP per second."""
    multiply(a, b)
    calls, start = 0, perf_counter()
    while perf_counter() - start < SECONDS:
        multiply(a, b)
        calls += 1
    return 2e-9 * calls * len(a) * b.numel() / (perf_counter() - start)


def main():
    torch.set_num_threads(1)
    print(f"{'GFLOP per second':<32}{'ours':>8}{'peer':>8}{'ratio':>8}")
    for name, shapes in SIZES.items():
        a, b = (torch.randn(shape) for shape in shapes)
        rounds = [
            (rate(product, a, b), rate(torch.nn.functional.linear, a, b)) for _ in range(ROUNDS)
        ]
        fast, slow = (max(rates) for rates in zip(*rounds, strict=True))
        print(f"{name:<32}{fast:8.0f}{slow:8.0f}{fast / slow:8.2f}", flush=True)


if __name__ == "__main__":
    main()
