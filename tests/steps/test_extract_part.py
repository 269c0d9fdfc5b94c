import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

from crossmodal.config import plugins
from crossmodal.data.feature_reader import open_features, read_features
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.io.checkpoints import FOLDER
from crossmodal.steps.extract import extract, share
from crossmodal.steps.extract_part import extract_part
from crossmodal.steps.join_parts import join_parts
from crossmodal.workflow.specs import ExtractSpec
from tests.steps.test_extract import SPEC, Toy
from tests.test_fuzz import mutate

ITEMS, CAPTIONS = 7, 3
CHUNKS = 6  # of 21 captions, 4 each
TEXTS = ("a red ball", "the dog runs to a ball", "red and blue birds over the house")
FEATURES = {
    "bow": {"size": 9, "weighting": "counts", "unit": "item", "stop_words": True},
    "tokens": {"min_count": 1, "fit_on": ["train"], "bos": True},
    "fisher_vectors": {
        **{"min_count": 1, "fit_on": ["train"], "bos": False},
        **{"word_dims": 2, "components": 2, "iterations": 3},
    },
}


@pytest.fixture(autouse=True)
def folder():
    """A prepared dataset in the working folder, which is a temporary one."""
    folder = Path("data/prepared/toy")
    with Writer(folder) as out:
        for item in range(ITEMS):
            out.item(f"item{item}", "train" if item % 3 else "test")
            for caption in range(CAPTIONS):
                out.caption(f"item{item}#{caption}", f"item{item}", TEXTS[(item + caption) % 3])
    return folder


def places(name):
    return Path("features/toy") / f"{name}.h5", Path("data/prepared/toy"), Path("features/toy")


def whole(name, spec=SPEC):
    """The bytes of a feature file that one job writes; it is removed."""
    output, folder, features = places(name)
    extract(spec, output, folder, features, Path("weights"))
    content = output.read_bytes()
    output.unlink()
    return content


def part_file(name, part, parts):
    return Path("features/toy") / f"{name}.parts/{part}-of-{parts}.zip"


def extract_one(name, part, parts, spec=SPEC):
    _, folder, features = places(name)
    path = part_file(name, part, parts)
    extract_part(spec, path, folder, features, Path("weights"), part, parts)
    return path


def in_parts(name, parts, spec=SPEC):
    """The bytes of a feature file that several jobs write, the last part first."""
    paths = [extract_one(name, part, parts, spec) for part in range(parts, 0, -1)]
    join_parts(places(name)[0], paths[::-1])
    return places(name)[0].read_bytes()


@pytest.fixture
def made(monkeypatch):
    """Let all plug-ins be a given feature."""
    return lambda feature: monkeypatch.setattr("crossmodal.config.plugins.make", lambda *_: feature)


class Maps(Toy):
    """Maps of a network."""

    shape = "maps"

    def values(self, id):
        return np.random.default_rng(list(id.encode())).standard_normal((2, 3)).astype(np.float16)

    def __init__(self):
        super().__init__()
        self.shape = "maps"


class Standardised(Toy):
    """Rows less the mean of the training split's."""

    def fit(self, dataset, sources):
        rows = [r for r in self.rows(dataset) if dataset.splits[r.item] == "train"]
        self.mean = np.mean([self.values(row.id) for row in rows], axis=0)

    def extract(self, dataset, rows, sources):
        return (super().extract(dataset, rows, sources) - self.mean).astype(np.float32)

    def learnt(self):
        return {"mean": self.mean.tolist()}


class Doubled(Toy):
    """Twice another feature."""

    of = ("words",)

    def extract(self, dataset, rows, sources):
        return 2 * sources["words"].vectors()


KINDS = {
    "vectors of captions": lambda: Toy(),
    "vectors of items": lambda: Toy("item", dtype=np.float16),
    "sequences": lambda: Toy(ragged=True, dtype=np.int8),
    "maps": Maps,
    "fitted on the training split": Standardised,
}


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_joined_parts_are_the_bytes_of_one_job(made, kind, parts):
    made(KINDS[kind]())
    assert in_parts("words", parts) == whole("words")


@pytest.mark.parametrize("parts", [2, 30])
def test_parts_of_a_feature_of_a_feature_are_its_bytes(made, parts):
    made(Toy())
    in_parts("words", 2)
    made(Doubled())
    expected = whole("doubled")
    assert in_parts("doubled", parts) == expected
    source, found = open_features(places("words")[0]), read_features(places("doubled")[0])
    np.testing.assert_array_equal(found.features, 2 * source.vectors()[:])
    assert found.meta["sources"] == {"words": source.meta}


@pytest.mark.parametrize("plugin", FEATURES)
def test_plug_ins_in_parts_give_the_bytes_of_one_job(monkeypatch, plugin):
    spec = ExtractSpec(plugin=plugin, options=FEATURES[plugin], code="0123")
    monkeypatch.setattr(plugins.load("features", plugin), "chunk", 2)
    assert in_parts(plugin, 3, spec) == whole(plugin, spec)


@pytest.mark.parametrize("parts", range(1, 12))
@pytest.mark.parametrize("chunks", [0, 1, 5, 9])
def test_parts_have_every_chunk_once_in_order_and_alike(chunks, parts):
    starts = range(0, 4 * chunks, 4)
    shares = [share(starts, part, parts) for part in range(1, parts + 1)]
    assert [start for each in shares for start in each] == [*starts]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("stop", [0, 1, 2])
def test_a_stopped_part_alone_resumes(made, stop):
    made(Toy())
    expected = whole("words")
    first = extract_one("words", 1, 2).read_bytes()
    stopped = Toy(stop_at=stop)
    made(stopped)
    with pytest.raises(KeyboardInterrupt):
        extract_one("words", 2, 2)
    assert not part_file("words", 2, 2).exists()
    resumed = Toy()
    made(resumed)
    extract_one("words", 2, 2)
    assert len(stopped.asked) == stop
    assert len(stopped.asked + resumed.asked) == CHUNKS // 2
    assert part_file("words", 1, 2).read_bytes() == first
    join_parts(places("words")[0], [part_file("words", part, 2) for part in (1, 2)])
    assert places("words")[0].read_bytes() == expected
    assert not list(FOLDER.rglob("*.npy"))


def test_a_stopped_join_is_made_again(made, monkeypatch):
    made(Toy())
    expected = whole("words")
    paths = [extract_one("words", part, 3) for part in (1, 2, 3)]
    with monkeypatch.context() as patch:
        patch.setattr("crossmodal.steps.join_parts.write_features", interrupted)
        with pytest.raises(KeyboardInterrupt):
            join_parts(places("words")[0], paths)
    join_parts(places("words")[0], paths)
    assert places("words")[0].read_bytes() == expected


def interrupted(*_):
    raise KeyboardInterrupt


class Learning(Toy):
    """Learns something else each time."""

    def learnt(self):
        return {"mean": random.random()}


def test_parts_that_learnt_different_things_are_refused(made):
    made(Learning())
    with pytest.raises(CrossmodalError, match=r"2-of-2\.zip: differs from .* in mean: .* `jobs`"):
        in_parts("words", 2)
    assert not places("words")[0].exists()


def test_parts_of_other_options_are_refused(made):
    made(Toy())
    other = SPEC.model_copy(update={"options": {"size": 5}})
    paths = [extract_one("words", 1, 2), extract_one("words", 2, 2, other)]
    with pytest.raises(CrossmodalError, match=r"differs from .* in extractor"):
        join_parts(places("words")[0], paths)


def test_devices_of_all_parts_are_named(made, monkeypatch):
    made(Toy())
    paths = []
    for part, device in enumerate(("H100", "A100", "H100"), 1):
        monkeypatch.setattr("crossmodal.io.provenance._device", lambda device=device: device)
        paths.append(extract_one("words", part, 3))
    join_parts(places("words")[0], paths)
    assert read_features(places("words")[0]).meta["made"]["device"] == "H100, A100"


@pytest.mark.parametrize("part", [0, 3])
def test_a_part_that_is_not_there_is_refused(made, part):
    made(Toy())
    with pytest.raises(CrossmodalError, match=f"no part {part} of 2"):
        extract_one("words", part, 2)


def test_a_missing_part_is_refused(made):
    made(Toy())
    paths = [extract_one("words", 1, 2), part_file("words", 2, 2)]
    with pytest.raises(CrossmodalError, match=r"2-of-2\.zip"):
        join_parts(places("words")[0], paths)


@pytest.mark.parametrize("case", range(12))
def test_a_damaged_part_is_refused_or_harmless(made, case):
    made(Toy(ragged=True))
    expected = whole("words")
    paths = [extract_one("words", part, 2) for part in (1, 2)]
    paths[1].write_bytes(mutate(paths[1].read_bytes(), random.Random(case)))
    refusal = ""
    try:
        join_parts(places("words")[0], paths)
    except CrossmodalError as error:
        refusal = str(error)
    output = places("words")[0]
    assert ("2-of-2.zip" in refusal) != (output.exists() and output.read_bytes() == expected)


def test_a_part_is_an_archive_of_its_own_rows(made):
    made(Toy("item"))
    path = extract_one("words", 1, 2)
    with zipfile.ZipFile(path) as archive:
        facts = json.loads(archive.read("part.json"))
    assert facts["ids"] == ["item0", "item1", "item2", "item3"]
