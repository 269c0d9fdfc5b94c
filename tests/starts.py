"""README's starts with data of one's own, and files such as each speaks of."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
from PIL import Image

README = (Path(__file__).parents[1] / "README.md").read_text()
SECTION = README.partition("## Your own data")[2].partition("\n## ")[0]
ITEMS = re.search(r"`holiday/items.csv`:\n\n```csv\n(.*?)```", SECTION, re.DOTALL)[1]
FOLDER, ARRAYS, HUGGING_FACE = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
WORDS = ["sea", "sand", "hill", "snow", "tree", "road", "lake", "boat", "bird", "rain", "wind"]
COLOURS = {"red": (200, 40, 40), "green": (40, 200, 40), "blue": (40, 40, 200)}
KINDS, EACH = 3, 20


def steps(start):
    """Commands of a start, each with the lines that README prints below it."""
    for step in re.findall(r"^(?!#).*\n(?:# .*\n)*", start, re.MULTILINE):
        command, *printed = step.splitlines()
        yield command, [line.removeprefix("# ") for line in printed]


def shown(start):
    """File that a start prints the head of, and the lines of it."""
    command, lines = next(iter(steps(start)))
    return Path(command.split()[-1]), lines


def noisy(colour, rng):
    pixels = np.clip(colour + rng.normal(0, 60, (32, 32, 3)), 0, 255).astype(np.uint8)
    return Image.fromarray(pixels)


def write_holiday(folder):
    """The README's CSV with more rows of the same form, and the images it names."""
    rng, rows = np.random.default_rng(0), ITEMS
    (folder / "holiday/photos").mkdir(parents=True)
    for n in range(10, 25):
        for name in COLOURS:
            things = " and the ".join(rng.choice(WORDS, 4))
            rows += f"{name}{n},photos/{name}{n}.jpg,the {name} and a {things},{name}\n"
    (folder / "holiday/items.csv").write_text(rows)
    for row in csv.DictReader(io.StringIO(rows)):
        if row["image"]:
            picture = noisy(COLOURS.get(row["labels"], (128, 128, 128)), rng)
            picture.save(folder / "holiday" / row["image"])


def write_arrays(folder):
    """Random maps of hidden vectors of three kinds, and README's ids."""
    place, lines = shown(ARRAYS)
    header, first = (line.split(",") for line in lines)
    count, kinds = KINDS * EACH, [first[1], *(f"kind{n}" for n in range(1, KINDS))]
    rows = [[f"item{n}", kinds[n % KINDS]] for n in range(count)]
    with open(folder / place, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, first, *rows[1:]])
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(count, 6)) + 3 * np.eye(6)[np.arange(count) % KINDS]
    for file in re.findall(r"features (\S+)", ARRAYS):
        np.save(
            folder / file, hidden @ rng.normal(size=(6, 16)) + rng.normal(size=(count, 16)) / 10
        )


def write_dogs(folder):
    """Pictures in folders of splits, and README's first record with others of its form."""
    place, lines = shown(HUGGING_FACE)
    first, rng = json.loads(lines[0]), np.random.default_rng(0)
    rows = [first]
    for n in range(2, 46):
        colour = [*COLOURS][n % len(COLOURS)]
        texts = [
            f"A {colour} dog at the {rng.choice(WORDS)}.",
            f"The {colour} {rng.choice(WORDS)}.",
        ]
        rows.append({"file_name": f"{'test' if n > 35 else 'train'}/{n}.png", "text": texts})
        rows[-1]["label"] = first["label"] if colour == "red" else colour
    for n, row in enumerate(rows):
        path = folder / place.parent / row["file_name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        noisy(COLOURS[[*COLOURS][n % len(COLOURS)]], rng).save(path)
    content = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / place).write_text(content)
