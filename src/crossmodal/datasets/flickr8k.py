"""Flickr8k (Hodosh et al. 2013): 8,000 photographs in official splits, five captions each."""

import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from crossmodal.data.dataset import Dataset, Source
from crossmodal.data.qrels import Judgement
from crossmodal.data.writer import Writer
from crossmodal.datasets._flickr8k_classes import classes
from crossmodal.datasets._flickr8k_experts import EXPERTS, judgements
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.progress import track
from crossmodal.plugin import Strict
from crossmodal.rendering.synthesiser import flac, in_processes, open_synthesiser, random_speech

HOSTS = (
    "https://github.com/jbrownlee/Datasets/releases/download/Flickr8k",
    "http://nlp.cs.illinois.edu/HockenmaierGroup/Framing_Image_Description",
)
HELP = "Request it from its authors at https://forms.illinois.edu/sec/1713398."
IMAGES, TEXTS, CAPTIONS = "Flickr8k_Dataset.zip", "Flickr8k_text.zip", "Flickr8k.token.txt"
LISTS = {
    "train": "Flickr_8k.trainImages.txt",
    "validation": "Flickr_8k.devImages.txt",
    "test": "Flickr_8k.testImages.txt",
}
COUNTS = {"train": 6000, "validation": 1000, "test": 1000}
COUNTS_IN_CLASSES = {"train": 1340, "validation": 210, "test": 219}
CAPTIONS_PER_IMAGE = 5
AUDIO, WAVS = "flickr_audio.tar.gz", "wav2capt.txt"
TEXT_AND_IMAGES = tuple(
    Source(file, tuple(f"{host}/{file}" for host in HOSTS), help=HELP) for file in (IMAGES, TEXTS)
)
RECORDINGS = Source(
    AUDIO,
    (f"https://groups.csail.mit.edu/sls/downloads/flickraudio/downloads/{AUDIO}",),
    help=f"Get {AUDIO} from https://groups.csail.mit.edu/sls/downloads/flickraudio.",
)
SEED, BATCH = 0, 500  # of synthetic speech; each batch has a process of its own


class _Clip(NamedTuple):
    """Speech of a caption, and where it is known when each word is said."""

    id: str
    audio: bytes | None
    words: Sequence[tuple[str, float, float]] = ()


class Flickr8k(Dataset):
    """The official splits; captions of images in no split are left out."""

    class Options(Strict):
        speech: Literal["none", "recorded", "synthetic"] = Field(
            "none",
            description="'recorded': the captions read aloud by people (Harwath and Glass 2015); "
            "'synthetic': by espeak-ng, in many voices; 'none': texts alone.",
        )
        word_times: bool = Field(
            False,
            description="Whether to keep when each word of synthetic speech is said, for "
            "`spoken_words`.",
        )
        classes: bool = Field(
            False,
            description="Whether to keep only photographs of 20 classes, of up to 200 each: those "
            "whose captions name one thing. The classes are no part of the published dataset.",
        )

    options: Options
    licence = (
        "research and education only; the photographs belong to Flickr users; recordings CC BY-SA"
    )
    citation = (
        "M. Hodosh, P. Young, J. Hockenmaier, Framing image description, JAIR 47, 2013; "
        "recordings: D. Harwath, J. Glass, Deep multimodal semantic embeddings, ASRU 2015"
    )
    sources = (*TEXT_AND_IMAGES, RECORDINGS)
    # the first two are all of Flickr8k, whose photographs are in all splits of Flickr30k
    mteb_tasks = (
        "FlickrAudioToImageRetrieval",
        "FlickrImageToAudioRetrieval",
        "Flickr30kI2TRetrieval",
        "Flickr30kT2IRetrieval",
        "AROFlickrOrder",
    )

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        recorded = self.options.speech == "recorded"
        self.sources = TEXT_AND_IMAGES + (RECORDINGS,) * recorded
        if not recorded and not self.options.classes:  # which leave captions out
            self.qrels = {"expert": (TEXTS,)}

    def counts(self) -> dict[str, int]:
        """Return the official splits, or those of their photographs that have a class."""
        return COUNTS_IN_CLASSES if self.options.classes else COUNTS

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the archives; see `Dataset.prepare`."""
        texts = _write_images(raw, out, self.options.classes)
        spoken: Iterable[_Clip] = (_Clip(id, None) for id in texts)
        suffix = ""
        if self.options.speech == "recorded":
            spoken, suffix = _recorded(raw / AUDIO, texts), ".wav"
        elif self.options.speech == "synthetic":
            spoken, suffix = _synthetic(texts), ".flac"
        for clip in track(spoken, len(texts), f"prepare flickr8k, speech: {self.options.speech}"):
            id, words = clip.id, clip.words if self.options.word_times else ()
            out.caption(id, _item_of(id), texts[id], clip.audio, suffix, words=words)

    def judge(self, name: str, raw: Path) -> Iterable[Judgement]:
        """Read the judgements of experts; see `Dataset.judge`."""
        with Archive(raw / TEXTS) as texts:
            captions = _read_captions(texts.text(CAPTIONS))
            files = [file for listed in LISTS.values() for file in texts.text(listed).split()]
            ids = {
                f"{Path(file).stem}#{number}"
                for file in files
                for number in sorted(captions[file])[:CAPTIONS_PER_IMAGE]
            }
            return [*judgements(texts.text(EXPERTS), ids)]


def _write_images(raw: Path, out: Writer, with_class: bool) -> dict[str, str]:
    """Write the listed images, or those with a class; text of each caption, by caption id."""
    texts_by_id = {}
    with Archive(raw / TEXTS) as texts, Archive(raw / IMAGES) as images:
        captions = _read_captions(texts.text(CAPTIONS))
        members = {Path(member).name: member for member in images.names}
        lists = {split: texts.text(name).split() for split, name in LISTS.items()}
        files = [(split, file) for split, listed in lists.items() for file in listed]
        category = classes(captions) if with_class else {}
        if with_class:
            files = [(split, file) for split, file in files if file in category]
        for split, file in track(files, len(files), "prepare flickr8k"):
            if file not in members or len(captions[file]) < CAPTIONS_PER_IMAGE:
                raise CrossmodalError(
                    f"{raw}: {file!r} of split {split!r} has {len(captions[file])} captions "
                    f"in {TEXTS} and is{' not' * (file not in members)} in {IMAGES}; get both "
                    "again"
                )
            image = images.read(members[file])
            out.item(Path(file).stem, split, category.get(file, ""), image=image, suffix=".jpg")
            for number, text in sorted(captions[file].items())[:CAPTIONS_PER_IMAGE]:
                texts_by_id[f"{Path(file).stem}#{number}"] = text
    return texts_by_id


def _item_of(caption: str) -> str:
    return caption.rpartition("#")[0]


def _read_captions(text: str) -> dict[str, dict[int, str]]:
    """Return captions by image file and number; lines are <file>#<number> TAB <caption>.

    One id of the official file, `2258277193_586949ec62.jpg.1`, names no image; no split lists it.
    """
    captions: dict[str, dict[int, str]] = defaultdict(dict)
    for line, content in enumerate(text.splitlines(), 1):
        name, tab, caption = content.partition("\t")
        file, mark, number = name.rpartition("#")
        if not (tab and mark and number.isdigit() and caption.strip()):
            raise CrossmodalError(
                f"{CAPTIONS}: line {line}: {content!r} is not <file>#<number>, tab, caption"
            )
        captions[file][int(number)] = caption.strip()
    return captions


def _recorded(path: Path, texts: Collection[str]) -> Iterator[_Clip]:
    """Yield recordings, in the archive's order; captions without one are left out."""
    with Archive(path) as archive:
        ids = _read_recordings(archive.text(WAVS))
        present = {wav: member for member in archive.names if (wav := Path(member).name) in ids}
        wanted = {member: ids[wav] for wav, member in present.items() if ids[wav] in texts}
        silent = {_item_of(id) for id in texts} - {_item_of(id) for id in wanted.values()}
        if silent:
            raise CrossmodalError(
                f"{path}: {len(silent)} images have no recording, for example {min(silent)!r}; "
                "delete the archive and download it again"
            )
        if missing := sorted(set(texts) - set(wanted.values())):
            print(f"{path}: captions without a recording are left out: {missing}", file=sys.stderr)
        for member, content in archive.walk(wanted):
            yield _Clip(wanted[member], content)


def _read_recordings(text: str) -> dict[str, str]:
    """Return caption id of each recording; lines are <recording> <image file> #<number>."""
    ids = {}
    for line, content in enumerate(text.splitlines(), 1):
        wav, file, number = (content.split() + 3 * [""])[:3]
        if not (Path(wav).suffix == ".wav" and re.fullmatch(r"#\d+", number)):
            raise CrossmodalError(
                f"{WAVS}: line {line}: {content!r} is not <recording>.wav <image file> #<number>"
            )
        ids[wav] = f"{Path(file).stem}{number}"
    return ids


def _synthetic(texts: dict[str, str]) -> Iterator[_Clip]:
    """Yield the speech of captions; the same on every machine."""
    captions = list(enumerate(texts.items()))
    batches = [captions[start : start + BATCH] for start in range(0, len(captions), BATCH)]
    for batch in in_processes(_speak, batches):
        yield from batch


def _speak(batch: list[tuple[int, tuple[str, str]]]) -> list[_Clip]:
    clips = []
    with open_synthesiser(SEED) as synthesiser:
        for number, (id, text) in batch:
            samples = random_speech(synthesiser, text, np.random.default_rng([SEED, number]))
            clips.append(_Clip(id, flac(samples), synthesiser.words))
    return clips
