"""A dataset that comes in ten parts: mAP against the pairs seen, as CSV and as a figure.

After each part `crossmodal update` makes a new model, which the validation items judge:

    python tools/stream.py models/scenes_stream/seed0 scenes results/stream
"""

import sys
from pathlib import Path

from crossmodal.commands.update import Pairs, update
from crossmodal.data.prepared import PREPARED, Prepared
from crossmodal.io.files import write_csv
from crossmodal.learning.selection import selection_score
from crossmodal.models.model_folder import Fitted, read_model
from crossmodal.reporting.figures import Line, draw_lines

PARTS, BATCH, TRIPLETS = 10, 10, 1000  # triplets after each batch of pairs
WEIGHTS = Path("data/raw/weights")
AXES = ("pairs seen", "mAP, validation items")


def stream(model: Path, dataset: str, folder: Path) -> None:
    """Write part1 to part10, each of them a model, and mAP.csv and mAP.svg."""
    fitted = read_model(model)
    pairs = len(_pairs(fitted, dataset, "train").items)
    part_size = -(-pairs // PARTS // BATCH) * BATCH  # whole batches
    scores = [(0, _score(fitted, dataset))]
    for number, start in enumerate(range(0, pairs, part_size), 1):
        part = folder / f"part{number}"
        if not (part / "model.safetensors").exists():
            update(model, dataset, part, TRIPLETS, BATCH, part_size, WEIGHTS)
        model = part
        scores.append((min(start + part_size, pairs), _score(read_model(model), dataset)))
    write_csv(folder / "mAP.csv", ["pairs", "mAP"], scores)
    x, y = (list(column) for column in zip(*scores, strict=True))
    draw_lines(folder / "mAP.svg", [Line(fitted.facts["plugin"], x, y)], dataset, AXES)


def _pairs(fitted: Fitted, dataset: str, split: str) -> Pairs:
    return Pairs(Prepared(PREPARED / dataset), fitted, WEIGHTS, split)


def _score(fitted: Fitted, dataset: str) -> float:
    """Return the mean mAP of both directions."""
    pairs = _pairs(fitted, dataset, "validation")
    count = len(pairs.items)
    return selection_score(fitted.method, next(pairs.batches(0, count, count)))


if __name__ == "__main__":
    stream(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
