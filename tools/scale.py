"""Write docs/scale.md, a plan for 100 million pairs: `python tools/scale.py`.

Costs of a pair are those by which `crossmodal plan` estimates COCO and Flickr30k: the difference of
both, divided by their numbers of items, has no start of a program in it.
"""

from dataclasses import dataclass
from pathlib import Path

from crossmodal.config import params
from crossmodal.config.params import Params
from crossmodal.io.files import write_text
from crossmodal.workflow.job_costs import Costs

ROOT = Path(__file__).parents[1]
SMALL, LARGE = "flickr30k", "coco"
PAIRS, CAPTIONS, EPOCHS = 100_000_000, 5, 200  # of both datasets: captions of an image, epochs
PARTS = 128
# processor seconds, by `python benchmarks/parts.py`
READING, JOINING, HASHING = 11.2e-6, 4.2e-3, 0.7e-3  # of a pair, of a MB, of a MB
HELD = 805  # bytes of a pair in memory
PROCESSOR, GPU = 0.05, 2.5  # dollars an hour: an assumption
PAGE = """# A plan for 100 million pairs

For those who have 250 times what Places Audio has: what each step would take for {pairs:,} pairs of an image and a caption, and what would have to change first. **Nothing of this size has been run.** Rates are those by which `crossmodal plan` estimates COCO and Flickr30k, the cost of one more image; reading, hashing and joining were measured (`python benchmarks/parts.py`). Prices assume {processor} dollars an hour for a processor and {gpu} for a GPU: replace them by yours.

| step | jobs | hours of one job | processor hours | GPU hours | dollars | memory of a job (GB) | written (TB) |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

Written by `python tools/scale.py`.

## What is computed where

- `prepare`: one job beside the raw files, on a machine with a disk of {media:.0f} TB. The disk is what limits it. With `max_shard_size: 1GB`, [media are in shards](parameters.md#media-in-shards), of which one is open.
- `extract_part`: {parts} jobs with a GPU each, as one array; `jobs: {parts}` of the feature. Each part reads all items, but of the media the shards of its own items alone, and verifies each file as it reads it.
- `join_parts`: one job, which reads and writes {feature:.1f} TB twice.
- `train`: one job with GPUs of one machine. A pass is one epoch; the suites of the papers make {epochs}.
- `evaluate`: of the test split alone, so that its cost does not grow with the training split.

## Numbers of files

| pairs | media (TB) | shards of 1 GB | parts of a feature, until they are joined |
| ---: | ---: | ---: | ---: |
{files}

Besides them a prepared dataset has four files, and a feature one. All shards are in one folder, which Snakemake, DVC and an object store take as a whole; a job has at most four of them open.

## What would have to change

In the order in which one would meet it:

1. **Media in an object store**: a job gets the folder of shards as a whole, {media:.0f} TB for each of {parts} parts. On a file system that all jobs share, nothing is copied; from a store, a part would have to ask for its own shards alone.

2. **Items in memory**: each job holds all items and captions as objects, {held:.0f} GB. A table that is read in slices would need no more than a slice.

3. **Features in memory**: a fit holds the features of its training split, {training:.1f} TB. It would have to read batches from the file, as it does with image files.

4. **Near duplicates and search**: both compare all pairs, unlike most steps ([growth.md](growth.md)); [search](search.md) has an approximate index for millions.

With 10 million pairs, a tenth of each number but of the parts, items take {tenth_held:.0f} GB and the features of a fit {tenth_training:.0f} GB: one large machine does without any of this.
"""  # noqa: E501 (paragraphs of a page)


@dataclass(frozen=True)
class Step:
    """A step at the size of the plan."""

    name: str
    jobs: int
    processor: float  # hours of all jobs
    gpu: float
    memory_gb: float
    written_tb: float = 0.0

    def row(self) -> str:
        """Return a row of the table; a job holds its GPU while a processor works for it, too."""
        hours = self.processor + self.gpu
        one, price = hours / self.jobs, hours * (PROCESSOR + (GPU if self.gpu else 0))
        numbers = [self.jobs, one, self.processor, self.gpu, price, self.memory_gb]
        return f"| {self.name} | " + " | ".join(map(_cell, [*numbers, self.written_tb])) + " |"


def _cell(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.{0 if number >= 10 else 1}f}"


class Rates:
    """Costs of one more item."""

    def __init__(self, project: Params) -> None:
        counts = (project.dataset_of(name).counts() for name in (LARGE, SMALL))
        large, small = counts
        self.items = sum(large.values()) - sum(small.values())
        self.training = large["train"] - small["train"]

    def of(self, rule: str, job: str, measure: str, of_training: bool = False) -> float:
        """Return a cost of one more item, for example seconds.

        Args:
            rule: Rule of the job.
            job: Its name, with a place for the dataset's.
            measure: Field of `Cost`.
            of_training: Whether items of the training split count alone.
        """
        large, small = (getattr(Costs().of(rule, job.format(n)), measure) for n in (LARGE, SMALL))
        return (large - small) / (self.training if of_training else self.items)


def plan(rates: Rates) -> tuple[list[Step], dict[str, float]]:
    """Return the steps, and numbers of the text."""
    hours, terabytes = PAIRS / 3600, PAIRS / 1e6

    def time(rule: str, job: str, measure: str = "seconds") -> float:
        return rates.of(rule, job, measure) * hours

    reading, held = READING * hours, HELD * PAIRS / 1e9
    media = rates.of("prepare", "{}", "disk_mb") * terabytes
    rows = rates.of("extract", "{}/vgg19_centre", "disk_mb") * terabytes
    training = rates.of("train", "{}_fc7_sh", "memory_mb", of_training=True) * terabytes
    fit = rates.of("train", "{}_fc7_sh", "gpu_seconds", of_training=True) * hours / EPOCHS
    unit = time("extract", "{}/vgg19_centre_fc7_unit") + reading
    tokens = time("extract", "{}/tokens") / CAPTIONS + reading
    joining = (JOINING + HASHING) * rows * 1e6 / 3600
    network = time("extract", "{}/vgg19_centre", "gpu_seconds")
    steps = [
        Step("prepare", 1, time("prepare", "{}"), 0, held, media),
        Step("extract a VGG19 layer", PARTS, PARTS * reading, network, held, rows),
        Step("join its parts", 1, joining, 0, held, rows),
        Step("normalise it (`fc7`)", 1, unit, 0, held, rows),
        Step("extract `tokens`", 1, tokens, 0, held),
        Step("train SH, a pass", 1, reading, fit, 1e3 * training + held),
    ]
    numbers = {"media": media, "feature": rows, "held": held, "training": training}
    return steps, numbers | {"tenth_held": held / 10, "tenth_training": 100 * training}


def page(project: Params) -> str:
    """Return docs/scale.md."""
    steps, numbers = plan(Rates(project))
    rows = "\n".join(step.row() for step in steps)
    prices = {"processor": PROCESSOR, "gpu": GPU, "parts": PARTS, "epochs": EPOCHS, "pairs": PAIRS}
    sizes = ((pairs, numbers["media"] * pairs / PAIRS) for pairs in (PAIRS // 10, PAIRS))
    files = "\n".join(
        f"| {pairs:,} | {media:.1f} | {media * 1e3:,.0f} | {PARTS} |" for pairs, media in sizes
    )
    return PAGE.format(rows=rows, files=files, **prices, **numbers)


if __name__ == "__main__":
    write_text(ROOT / "docs/scale.md", page(params.read(ROOT / "params.yaml")))
