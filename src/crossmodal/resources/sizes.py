"""Sizes of datasets, of features and of what a method learns from, known before they are there."""

from dataclasses import dataclass, field

Numbers = float  # a count of numbers, on average
IN_MEMORY = 2**30  # bytes; of larger image files those of a batch are read
# bytes of scores at a time, and of those that are ranked; see `crossmodal.metrics.blocks`
BLOCK, STRIP = 256 * 2**20, 16 * 2**20


def decoding(file: float) -> float:
    """Seconds of decoding and resizing an image file of so many bytes: two milliseconds, and more
    for large files.
    """
    return 0.002 + file / 2e7


@dataclass(frozen=True)
class RowSize:
    """Size of a feature, or of a part of its rows.

    Args:
        count: Number of rows.
        width: Numbers in a row; of a sequence those of all its steps, the mean of all rows.
        itemsize: Bytes of a number.
        steps: Steps of a row that is a sequence; 0 for vectors.
        words: Size of the vocabulary of a sequence of words.
        layer: Columns of the last layer, of a network's activations.
    """

    count: float
    width: float
    itemsize: int = 4
    steps: float = 0
    words: int = 0
    layer: int = 0

    @property
    def bytes(self) -> float:
        """Size of all rows."""
        return self.count * self.width * self.itemsize

    @property
    def files(self) -> bool:
        """Whether the rows are image files."""
        return self.itemsize == 1 and self.steps > 0

    @property
    def held(self) -> float:
        """Bytes of what is read of the rows before they are used."""
        return min(self.bytes, IN_MEMORY) if self.files else self.bytes


@dataclass(frozen=True)
class Extent:
    """Size of a dataset, known before it is there; means are rounded.

    Args:
        items: Items of each split.
        captions: Captions of an item.
        labels: Number of different labels.
        image: Bytes of an image file; 0 without images.
        clip: Seconds of a spoken caption; 0 without speech.
        clips: Spoken captions of an item.
        words: Words of a caption.
        vocabulary: Different words of all captions.
        columns: Columns of each published matrix.
        raw: Bytes of the published files whose `Source` does not say.
    """

    items: dict[str, int]
    captions: float = 1
    labels: int = 0
    image: float = 0
    clip: float = 0
    clips: float = 0
    words: float = 11
    vocabulary: int = 10_000
    columns: dict[str, int] = field(default_factory=dict)
    raw: float = 0

    @property
    def total(self) -> int:
        """Items of all splits."""
        return sum(self.items.values())

    @property
    def all_words(self) -> float:
        """Words of all captions."""
        return self.total * self.captions * self.words

    @property
    def decoding(self) -> float:
        """Seconds of decoding and resizing an image."""
        return decoding(self.image)

    @property
    def media(self) -> float:
        """Bytes of images, clips of 16 bits at 16 kHz, and matrices of small numbers."""
        clips = self.clips * (44 + 32_000 * self.clip)
        return self.total * (self.image + clips + 2 * sum(self.columns.values()))


@dataclass(frozen=True)
class FitSize:
    """Size of what a method learns from.

    Args:
        stored: Rows of the feature file of each view.
        shares: Share of the items that each split has.
        items: Training items.
        labels: Number of labels.
        label_sets: Number of different sets of labels that items have.
    """

    stored: dict[str, RowSize]
    shares: dict[str, float]
    items: float
    labels: int
    label_sets: float

    def part(self, *splits: str) -> dict[str, RowSize]:
        """The rows of some splits."""
        share = sum(self.shares.get(split, 0) for split in splits)
        return {
            m: RowSize(r.count * share, r.width, r.itemsize, r.steps, r.words)
            for m, r in self.stored.items()
        }

    @property
    def train(self) -> dict[str, RowSize]:
        """The training rows of each view."""
        return self.part("train")

    @property
    def pairs(self) -> float:
        """Training pairs: rows of the view that has most."""
        return max(rows.count for rows in self.train.values())

    @property
    def width(self) -> float:
        """Columns of all views."""
        return sum(rows.width for rows in self.stored.values())

    def held(self, *splits: str) -> float:
        """Bytes of the rows of some splits."""
        return sum(rows.held for rows in self.part(*splits).values())

    @property
    def repeated(self) -> float:
        """Bytes of the copy, a row for each pair in float32, of views whose rows belong to several
        pairs.
        """
        views = (rows for rows in self.train.values() if rows.count < self.pairs)
        return sum(4 * self.pairs * rows.width for rows in views)

    @property
    def placed(self) -> float:
        """Bytes of the training rows that a GPU holds: all but image files."""
        return sum(rows.bytes for rows in self.train.values() if not rows.files)

    @property
    def scores(self) -> float:
        """Scores of one direction of the validation split."""
        first, second = list(self.part("validation").values())[:2]
        return first.count * second.count

    @property
    def scoring(self) -> float:
        """Bytes at the peak of scoring the validation split, which is done in blocks."""
        return min(BLOCK, 4 * self.scores + STRIP)

    @property
    def scoring_time(self) -> float:
        """Seconds of scoring the validation split in both directions."""
        return 2 * 1e-7 * self.scores
