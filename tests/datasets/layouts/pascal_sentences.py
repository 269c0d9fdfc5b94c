"""Pascal Sentences: one web page, its photographs or those of PASCAL VOC 2008, and VOC's labels."""

from tests.datasets.layouts import pack, photograph, small

CATEGORIES = [
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
]
SIZES = (4, 2, 2)
CONSTANTS = {"SIZES": SIZES}
SMALL = small("pascal_sentences", **CONSTANTS)
DATASETS = {"pascal_sentences": {"seed": 0}}
TABLE = {
    "dataset": "pascal_sentences",
    "views": {"image": "colour", "text": "bow_item"},
    "relevance": "category",
    "method": "cca",
}
FEW, MANY = ("aeroplane/2008_000001.jpg", 4), ("tvmonitor/2008_000159.jpg", 6)
SHARED = "2008_000001.jpg"  # shows two categories
REPEATED = "bird/2008_000020.jpg"  # has one caption twice
UNLABELLED = "cat/2008_000060.jpg"


def files():
    """The photographs in the page's order."""
    found = {}
    for c, category in enumerate(CATEGORIES):
        for number in range(sum(SIZES)):
            name = f"2008_{c * sum(SIZES) + number:06d}.jpg"
            found[f"{category}/{name}"] = c
    found["bicycle/" + SHARED] = found.pop("bicycle/2008_000008.jpg")
    return dict(sorted(found.items()))


def captions(file):
    """As many as the photograph has, with what HTML makes of some characters."""
    category, count = file.split("/")[0], dict([FEW, MANY]).get(file, 5)
    things = [
        "A {} & its shadow .",
        "The old {} .",
        "One {} , \u201cseen\u201d .",
        "{} again",
        "{}",
    ]
    return [things[n % 5].format(f"{category} {n}") for n in range(count)]


def labels(file):
    """All that a photograph shows, its category first."""
    category = file.split("/")[0]
    return [category, "person"] if category < "cow" else [category]


def make(folder, rng):
    """Write the page as the site has it: cells in lines of their own, tables inside of cells."""
    rows = []
    for file in files():
        texts = [c.replace("&", "&amp;").replace("\u201c", "&ldquo;") for c in captions(file)]
        texts += texts[:1] * (file == REPEATED)
        table = "\n".join(f"<tr><td> {text} </td></tr>" for text in texts)
        rows.append(f'<tr>\n<td><img src="{file}"></td>\n<td><table><tbody>{table}\n')
        rows.append("</tbody></table></td>\n</tr>\n")
    head = '<html><body><img src="/logo.jpg"><table><tr><td>Pascal Sentences</td></tr></table>'
    page = f"{head}\n<table>\n{''.join(rows)}</table></body></html>\n"
    (folder / "index.html").write_bytes(page.encode().replace("\u201d".encode(), b"\x94"))
    images = {file.split("/")[1]: c for file, c in files().items() if file != "bicycle/" + SHARED}
    images["2008_009999.jpg"] = 0  # described by nobody
    members = {
        f"VOCdevkit/VOC2008/JPEGImages/{name}": photograph(c, len(CATEGORIES), rng)
        for name, c in images.items()
    }
    members["VOCdevkit/VOC2008/ImageSets/Main/trainval.txt"] = "2008_000001\n"
    pack(folder / "VOCtrainval_14-Jul-2008.tar", members)
    own = {file: photograph(c, len(CATEGORIES), rng) for file, c in files().items()}
    pack(folder / "pascal-sentences.zip", own)
    rows = [f"{file},{';'.join(labels(file))}" for file in files() if file != UNLABELLED]
    (folder / "voc_labels.csv").write_text("\n".join(["image,labels", *rows, ""]))
