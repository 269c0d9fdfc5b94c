"""Places audio captions (Harwath et al. 2018): photographs, each described aloud by one person.

A pair is an utterance, its transcript by a speech recogniser, and the photograph of Places205 that
it describes. There is a training and a validation list and no test list: Cheng et al. 2022 choose
their model and report their results on the same 1,000 pairs, which are both splits here.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.files import JsonObject
from crossmodal.io.progress import track

SPEECH, IMAGES = "PlacesAudio_400k_distro.tar.gz", "imagesPlaces205_resize.tar.gz"
# folders in the archives; looking for files in them would take another hour
SPEECH_ROOT = "PlacesAudio_400k_distro"
IMAGE_ROOT = "data/vision/torralba/deeplearning/images256"
COUNTS = {"train": 402_385, "validation": 1000, "test": 1000}  # Cheng et al. 2022, section IV-A
LISTS = {"train": "train.json", "validation": "val.json", "test": "val.json"}


@dataclass(frozen=True)
class _Pair:
    id: str
    split: str
    text: str
    wav: str
    image: str


class Places(Dataset):
    """402,385 pairs for training; the same 1,000 for validation and for testing."""

    licence = "speech CC BY-SA; images: research and education only, not to be passed on"
    citation = (
        "D. Harwath, A. Recasens, D. Suris, G. Chuang, A. Torralba, J. Glass, Jointly discovering "
        "visual objects and spoken words, ECCV 2018; images: B. Zhou, A. Lapedriza, J. Xiao, "
        "A. Torralba, A. Oliva, Learning deep features for scene recognition, NIPS 2014"
    )
    sources = (
        Source(
            SPEECH,
            (f"https://data.csail.mit.edu/placesaudio/{SPEECH}",),
            help=f"Get {SPEECH} (85 GB) from "
            "https://groups.csail.mit.edu/sls/downloads/placesaudio/downloads.cgi.",
        ),
        Source(
            IMAGES,
            (f"http://data.csail.mit.edu/places/places205/{IMAGES}",),
            help="Open an account at http://places.csail.mit.edu/user/register.php and get "
            f"{IMAGES} (126 GB) from http://places.csail.mit.edu/downloadData.html.",
        ),
    )

    def counts(self) -> dict[str, int]:
        """Return pairs of each split."""
        return COUNTS

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read both archives once, in their order; see `Dataset.prepare`."""
        with Archive(raw / SPEECH) as speech, Archive(raw / IMAGES) as images:
            pairs = _read_pairs(speech)
            for pair, content in _contents(images, pairs, IMAGE_ROOT, "image"):
                out.item(pair.id, pair.split, image=content, suffix=Path(pair.image).suffix)
            for pair, content in _contents(speech, pairs, SPEECH_ROOT, "wav"):
                out.caption(pair.id, pair.id, pair.text, content, Path(pair.wav).suffix)


def _read_pairs(archive: Archive) -> list[_Pair]:
    """Return the pairs of all splits; ids begin with the split, since two splits share pairs."""
    members = {f"{SPEECH_ROOT}/metadata/{file}" for file in LISTS.values()}
    lists = dict(islice(archive.walk(members), len(members)))
    pairs = []
    for split, file in LISTS.items():
        member = f"{SPEECH_ROOT}/metadata/{file}"
        try:
            entries = json.loads(lists[member])["data"]
            pairs += [_pair(entry, split) for entry in entries]
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise CrossmodalError(
                f"{archive.path}: {member}: not a list of utterances ({type(error).__name__}: "
                f"{error}); delete the archive and download it again"
            ) from error
    return pairs


def _pair(entry: JsonObject, split: str) -> _Pair:
    text = " ".join(entry["asr_text"].split())
    # some releases have a slash before the path
    wav, image = entry["wav"].lstrip("/"), entry["image"].lstrip("/")
    return _Pair(f"{split}/{entry['uttid']}", split, text, wav, image)


def _contents(
    archive: Archive, pairs: Iterable[_Pair], root: str, kind: str
) -> Iterator[tuple[_Pair, bytes]]:
    """Yield pairs with their image or wav file, in the archive's order."""
    wanted = defaultdict(list)
    for pair in pairs:
        wanted[str(PurePosixPath(root, getattr(pair, kind)))].append(pair)
    for member, content in track(archive.walk(wanted), len(wanted), f"prepare places, {kind}"):
        for pair in wanted[member]:
            yield pair, content
