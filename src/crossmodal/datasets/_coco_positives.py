"""Judgements of MS COCO's test captions and images, beyond those that belong together.

ECCV Caption (Chun et al. 2022) and CxC (Parekh et al. 2021) are files of the package
`eccv_caption`, whose code is never imported; Plausible Match (Chun et al. 2021) is published beside
it. Each has two objects of JSON, from the id of an image to those of captions, and the other way.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from crossmodal.data.qrels import Judgement
from crossmodal.errors import CrossmodalError
from crossmodal.io.wheels import WheelFile

PACKAGE = "eccv_caption"
PACKED = {
    "eccv": {
        "image_to_caption": "47b822df8932da569a471a557f49e7b45465dac3728c2e2922f7bfbd25399242",
        "caption_to_image": "3f1d209e7fc4100acc4092818125884d1523582ccebf950a4f89ff71babe281a",
    },
    "cxc": {
        "image_to_caption": "e567e46b527901bb87ad9cf6511d005e5ad80620a968db1b3314bce23c917a61",
        "caption_to_image": "95fa65de2171c2d5df8769b46770cb74b9d4e09522d0c255e5d166c56028d125",
    },
}
PLAUSIBLE = ("pm_image_to_caption.json", "pm_caption_to_image.json")


def positive_files(name: str, raw: Path) -> list[Path]:
    """Return the two files of 'eccv', 'cxc' or 'plausible'; from images, and from captions.

    Raises:
        CrossmodalError: If the package is not installed, or has other files.
    """
    if name not in PACKED:
        return [raw / file for file in PLAUSIBLE]
    paths = []
    for way, digest in PACKED[name].items():
        source = WheelFile(PACKAGE, f"{PACKAGE}/data/{name}_{way}.json", digest)
        if not source.installed():
            raise CrossmodalError(
                f"{name}: needs {PACKAGE}, MIT; run `pip install crossmodal-retrieval[eccv]`"
            )
        source.check(source.path())
        paths.append(source.path())
    return paths


def judgements(
    path: Path, queries: Mapping[int, str], documents: Mapping[int, str]
) -> Iterator[Judgement]:
    """Yield the answers of the queries in a file.

    Args:
        path: The file.
        queries: Our id of each image or caption by COCO's.
        documents: The same of what answers them; answers that are not in the dataset are left out.

    Raises:
        CrossmodalError: If it is another file, or a query is not in the dataset.
    """
    try:
        answers = json.loads(path.read_text(encoding="utf-8"))
        for query, own in answers.items():
            for document in dict.fromkeys(map(int, own)):
                if document in documents:
                    yield Judgement(queries[int(query)], documents[document])
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise CrossmodalError(
            f"{path}: is not a file of positives of COCO's test images ({type(error).__name__}: "
            f"{error}); get it again"
        ) from error
