"""NUS-WIDE: lists, concepts, labels, tags, and the photographs."""

import numpy as np

from tests.datasets.layouts import pack, photograph, small

TOP10 = ["animal", "clouds", "flowers", "food", "grass", "person", "sky", "toy", "water", "window"]
TIED = ["buildings", "plants"]  # no smaller than the ten
OTHERS = [f"concept{n:02d}" for n in range(69)]
CONCEPTS = sorted([*TOP10, *TIED, *OTHERS])
# not all concepts are among the tags that are counted
WORDS = [*TOP10, *TIED, *OTHERS[:50], *(f"word{n:02d}" for n in range(48))]
EACH, SEVERAL, UNLABELLED = 30, 60, 10


def _shown():
    """Concepts of each photograph, the first of them its main thing."""
    rng = np.random.default_rng(7)
    shown = [[name] for name in [*TOP10, *TIED] for _ in range(EACH)]
    shown += [rng.choice(CONCEPTS, 3, replace=False).tolist() for _ in range(SEVERAL)]
    shown += [[] for _ in range(UNLABELLED)]
    return [shown[row] for row in rng.permutation(len(shown))]


SHOWN = _shown()
ROWS = range(len(SHOWN))
TRAINED = [row % 5 < 3 for row in ROWS]
UNTAGGED, UNNAMED, UNCOUNTED = range(0, 8), range(20, 28), range(40, 44)
NO_TEXT = {*UNTAGGED, *UNNAMED, *UNCOUNTED}
TOP10_ROWS = [row for row in ROWS if len(SHOWN[row]) == 1 and SHOWN[row][0] in TOP10]
PATHS = [f"folder{row % 7}/{row // 7:04d}_{9000 + row}.jpg" for row in ROWS]
PATHS[15] = f"folder9/0000_{9000 + 14}.jpg"  # the photograph of row 14 again


def _parts(rows):
    trained = sum(TRAINED[row] for row in rows)
    return {"train": trained, "test": len(rows) - trained}


COUNTS = {
    "10k": {"train": 180, "test": 20},
    "top10": _parts(TOP10_ROWS),
    "81": _parts([row for row in ROWS if row not in NO_TEXT]),
}
CONSTANTS = {"PHOTOGRAPHS": len(SHOWN), "PER_CONCEPT": 20, "COUNTS": COUNTS}
SMALL = small("nuswide", **CONSTANTS)
DATASETS = {
    "nuswide_10k": {"protocol": "10k", "validation": 20, "seed": 0, "sizes": None},
    "nuswide_top10": {"protocol": "top10", "validation": 40, "seed": 0, "sizes": None},
    "nuswide_81": {"protocol": "81", "validation": 40, "seed": 0, "sizes": None},
}
TABLE = {
    "dataset": "nuswide_top10",
    "views": {"image": "colour", "text": "tags"},
    "relevance": "category",
    "method": "cca",
}


def tags(row):
    """The tags of a photograph: names of concepts, words that go with them, and others."""
    main = SHOWN[row][0] if SHOWN[row] else CONCEPTS[row % 81]
    words = [f"word{4 * CONCEPTS.index(main) % 48 + n:02d}" for n in range(row % 3 + 1)]
    named = [*(SHOWN[row] or [main]), *words, "rare", "日本"]
    if row in UNTAGGED:
        return []
    if row in UNNAMED:
        return [*words, "rare"]
    return ["rare", OTHERS[60]] if row in UNCOUNTED else named


def make(folder, rng):
    """The lists are of Windows; the numbers are parted by tabs, or by spaces, one too many."""
    lists = {"Image": ROWS, "TrainImage": [], "TestImage": []}
    for row in ROWS:
        lists["TrainImage" if TRAINED[row] else "TestImage"].append(row)
    pack(
        folder / "ImageList.zip",
        {
            f"ImageList/{name}list.txt": _lines(PATHS[row].replace("/", "\\") for row in rows)
            for name, rows in lists.items()
        },
    )
    pack(folder / "ConceptsList.zip", {"Concepts81.txt": _lines(CONCEPTS)})
    labels = {
        f"AllLabels/Labels_{name}.txt": _lines(int(name in shown) for shown in SHOWN)
        for name in CONCEPTS
    }
    # one number of the official file is wrong; it is not used
    broken = {"TrainTestLabels/Labels_lake_Train.txt": "0\n-1130179\n0\n"}
    pack(folder / "Groundtruth.zip", labels | broken)
    pack(folder / "NUS_WID_Tags.zip", _tag_files())
    photographs = {
        f"Flickr/{path}": photograph(CONCEPTS.index(shown[0]) if shown else 0, 81, rng)
        for path, shown in zip(PATHS, SHOWN, strict=True)
    }
    pack(folder / "Flickr.zip", photographs)


def _tag_files():
    numbers = [path.rpartition("_")[2].removesuffix(".jpg") for path in PATHS]
    return {
        "Final_Tag_List.txt": _lines([*WORDS, "rare"]),
        "TagList1k.txt": _lines(WORDS),
        "All_Tags.txt": _lines(f"{numbers[row]}  {' '.join(tags(row))} " for row in ROWS),
        "AllTags1k.txt": _lines("".join(f"{int(w in tags(row))}\t" for w in WORDS) for row in ROWS),
        "AllTags81.txt": _lines(
            "".join(f"{int(name in tags(row))} " for name in CONCEPTS) for row in ROWS
        ),
    }


def _lines(values):
    return "".join(f"{value}\r\n" for value in values)
