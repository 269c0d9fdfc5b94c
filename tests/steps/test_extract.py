import os
import random
import resource
from pathlib import Path

import numpy as np
import pytest

from crossmodal.config.fit import non_defaults
from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import write_features
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.io.checkpoints import FOLDER
from crossmodal.models.extractor import Extractor
from crossmodal.steps.extract import extract
from crossmodal.workflow.specs import ExtractSpec
from tests.test_fuzz import mutate

ITEMS, CAPTIONS = 7, 3
SPEC = ExtractSpec(plugin="toy", options={"size": 4}, code="0123")


class Toy(Feature):
    """Random numbers that depend on the row's id alone; remembers what it was asked for."""

    modality = "text"
    reads = ("items.csv", "captions.csv")
    chunk = 4

    def __init__(self, unit="caption", ragged=False, stop_at=None, dtype=np.float32):
        self.unit, self.ragged, self.stop_at, self.dtype = unit, ragged, stop_at, dtype
        self.shape = "sequence" if ragged else "vector"
        self.asked = []

    def extract(self, dataset, rows, sources):
        if len(self.asked) == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append([row.id for row in rows])
        values = [self.values(row.id) for row in rows]
        return values if self.ragged else np.stack(values)

    def values(self, id):
        rng = np.random.default_rng(list(id.encode()))
        # every other sequence is empty
        shape = (rng.integers(0, 3) * rng.integers(0, 2), 3) if self.ragged else (3,)
        return (100 * rng.standard_normal(shape)).astype(self.dtype)

    def learnt(self):
        return {"vocabulary": ["a"]}


@pytest.fixture
def folder(tmp_path):
    with Writer(tmp_path / "data" / "toy") as out:
        for item in range(ITEMS):
            out.item(f"item{item}", "train")
            for caption in range(CAPTIONS):
                out.caption(f"item{item}#{caption}", f"item{item}", "words")
    return tmp_path / "data" / "toy"


@pytest.fixture
def run(monkeypatch, folder, tmp_path):
    """Extract with a toy feature; the path of the feature file."""

    def run(feature, spec=SPEC, name="words"):
        monkeypatch.setattr("crossmodal.config.plugins.make", lambda *_: feature)
        features = tmp_path / "features" / "toy"
        output = Path("features/toy") / f"{name}.h5"
        extract(spec, output, folder, features, tmp_path / "weights")
        return output

    return run


def test_new_texts_are_read_in_the_language_of_the_dataset(tmp_path):
    with Writer(tmp_path / "toy") as out:
        out.item("a", "train")
        out.caption("a#0", "a", "was an der Wand")
    options = {"size": 5, "weighting": "counts", "unit": "item", "stop_words": True}
    found = []
    for language in ("en", "de"):
        spec = ExtractSpec(plugin="bow", options=options, language=language)
        output = tmp_path / "bow.h5"
        extract(spec, output, tmp_path / "toy", tmp_path, tmp_path / "weights")
        found.append(Extractor(read_features(output).meta, tmp_path).words("an der"))
    assert found == [{"der": True}, {"an": True, "der": True}]


def interrupt(run, feature, **how):
    with pytest.raises(KeyboardInterrupt):
        run(feature, **how)


def asked_by(unit):
    """Chunks of row ids in the order of the dataset."""
    ids = [f"item{item}" for item in range(ITEMS)]
    if unit == "caption":
        ids = [f"{id}#{caption}" for id in ids for caption in range(CAPTIONS)]
    return [ids[start : start + Toy.chunk] for start in range(0, len(ids), Toy.chunk)]


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32])
@pytest.mark.parametrize("unit", ["item", "caption"])
@pytest.mark.parametrize("ragged", [False, True])
def test_every_row_is_extracted_once_in_order(run, unit, ragged, dtype):
    feature = Toy(unit, ragged, dtype=dtype)
    found = read_features(run(feature))
    assert feature.asked == asked_by(unit)
    assert found.ids == [id for chunk in feature.asked for id in chunk]
    assert found.items == [id.split("#")[0] for id in found.ids]
    for row, id in enumerate(found.ids):
        np.testing.assert_array_equal(found.features[row], feature.values(id))
        assert found.features[row].dtype == dtype


@pytest.mark.parametrize(("shape", "ragged"), [("maps", False), ("vector", True)])
def test_rows_of_another_shape_than_declared_are_refused(run, shape, ragged):
    feature = Toy(ragged=ragged)
    feature.shape = shape
    with pytest.raises(CrossmodalError, match=f"extract returned .*, but its `shape` is '{shape}'"):
        run(feature)


def test_the_file_says_how_it_was_made(run):
    meta = read_features(run(Toy())).meta
    assert meta["extractor"] == non_defaults(SPEC)
    assert meta["vocabulary"] == ["a"]
    assert meta["made"]["code"] == SPEC.code
    assert meta["made"]["versions"]["numpy"] == np.__version__


@pytest.mark.parametrize("unit", ["item", "caption"])
@pytest.mark.parametrize("ragged", [False, True])
def test_stopped_extraction_resumes_to_equal_bytes(run, unit, ragged):
    chunks = asked_by(unit)
    undisturbed = run(Toy(unit, ragged)).read_bytes()
    for stop in range(len(chunks)):
        first, second = Toy(unit, ragged, stop_at=stop), Toy(unit, ragged)
        interrupt(run, first)
        assert run(second).read_bytes() == undisturbed
        assert first.asked + second.asked == chunks


@pytest.mark.parametrize("case", range(12))
def test_a_damaged_chunk_is_named_and_extracted_again(run, tmp_path, capsys, case):
    undisturbed = run(Toy(ragged=True)).read_bytes()
    interrupt(run, Toy(ragged=True, stop_at=2))
    draw = random.Random(case)
    path = draw.choice([p for p in sorted((tmp_path / FOLDER).rglob("0*")) if p.is_file()])
    changed = mutate(path.read_bytes(), draw) if case else b""
    damaged = changed != path.read_bytes()
    path.write_bytes(changed)
    again = Toy(ragged=True)
    assert run(again).read_bytes() == undisturbed
    assert len(again.asked) == len(asked_by("caption")) - 2 + damaged
    assert ("damaged, and set aside" in capsys.readouterr().err) == damaged


def test_a_run_may_be_stopped_again_and_again(run):
    asked = []
    for _ in asked_by("caption"):
        feature = Toy(stop_at=1)
        interrupt(run, feature) if len(asked) + 1 < len(asked_by("caption")) else run(feature)
        asked += feature.asked
    assert asked == asked_by("caption")


def test_a_stopped_run_leaves_no_output(run, tmp_path):
    interrupt(run, Toy(stop_at=2))
    assert not list((tmp_path / "features").rglob("*.h5"))


def test_a_finished_run_leaves_no_checkpoint(run):
    interrupt(run, Toy(stop_at=2))
    assert list(FOLDER.rglob("*.npy"))
    run(Toy())
    assert not list(FOLDER.rglob("*.npy"))


def test_half_written_chunk_is_extracted_again(run, monkeypatch):
    """Killed between the two files of the second chunk."""
    undisturbed = run(Toy(ragged=True)).read_bytes()
    saved = []

    def save(stream, array, **how):
        if len(saved) == 3:
            raise KeyboardInterrupt
        write(stream, array, **how)
        saved.append(array)

    write = np.save
    monkeypatch.setattr(np, "save", save)
    interrupt(run, Toy(ragged=True))
    monkeypatch.setattr(np, "save", write)
    feature = Toy(ragged=True)
    assert run(feature).read_bytes() == undisturbed
    assert feature.asked == asked_by("caption")[1:]


@pytest.mark.parametrize("changes", [{"options": {"size": 5}}, {"code": "4567"}])
def test_other_options_or_other_code_start_afresh(run, changes):
    interrupt(run, Toy(stop_at=3))
    feature = Toy()
    run(feature, SPEC.model_copy(update=changes))
    assert feature.asked == asked_by("caption")


def test_a_changed_dataset_starts_afresh(run, folder):
    interrupt(run, Toy(stop_at=3))
    captions = folder / "captions.csv"
    captions.write_text(captions.read_text().replace("words", "other words", 1))
    feature = Toy()
    run(feature)
    assert feature.asked == asked_by("caption")


def test_copies_of_the_inputs_with_new_times_resume(run, folder):
    first = Toy(stop_at=3)
    interrupt(run, first)
    for path in folder.iterdir():
        os.utime(path, ns=(0, 0))
    resumed = Toy()
    run(resumed)
    assert first.asked + resumed.asked == asked_by("caption")


def test_a_changed_file_that_is_not_read_does_not_matter(run, folder):
    interrupt(run, Toy(stop_at=3))
    os.utime(folder / "media.zip", ns=(0, 0))
    feature = Toy()
    run(feature)
    assert feature.asked == asked_by("caption")[3:]


def test_two_features_do_not_share_their_chunks(run):
    interrupt(run, Toy(stop_at=3))
    feature = Toy()
    run(feature, name="other")
    assert feature.asked == asked_by("caption")


class Wrong(Toy):
    """Gives a row too few."""

    def extract(self, dataset, rows, sources):
        return super().extract(dataset, rows, sources)[:-1]


def test_a_wrong_number_of_rows_is_refused(run, tmp_path):
    with pytest.raises(CrossmodalError, match=r"line \d+: extract returned 3 rows for 4"):
        run(Wrong())
    assert not list((tmp_path / "features").rglob("*.h5"))


def test_a_dataset_without_captions_has_no_caption_features(run, folder):
    with Writer(folder) as out:
        out.item("a", "train")
    with pytest.raises(CrossmodalError, match="0 feature rows for 0 ids"):
        run(Toy())


class Doubled(Toy):
    """Twice another feature."""

    of = ("words",)

    def fit(self, dataset, sources):
        self.size = sources["words"].meta["size"]

    def extract(self, dataset, rows, sources):
        super().extract(dataset, rows, sources)
        assert sources["words"].ids == self.asked[-1]
        return 2 * sources["words"].features

    def learnt(self):
        return {"size": self.size}


def write_words(tmp_path, dataset, unit, factor=1):
    rows = dataset.items if unit == "item" else dataset.captions
    ids = [row.id for row in rows]
    values = factor * np.arange(len(ids), dtype=np.float32)[:, None]
    path = tmp_path / "features" / "toy" / "words.h5"
    write_features(path, ids, [id.split("#")[0] for id in ids], [values], {"size": 1})
    return values


def test_a_feature_of_a_feature_sees_the_rows_of_its_chunk(run, folder, tmp_path):
    values = write_words(tmp_path, Prepared(folder), "caption")
    found = read_features(run(Doubled(), name="doubled"))
    np.testing.assert_array_equal(found.features, 2 * values)
    assert found.meta["size"] == 1
    assert found.meta["sources"] == {"words": {"size": 1}}


def test_a_feature_of_a_feature_with_other_rows_is_refused(run, folder, tmp_path):
    write_words(tmp_path, Prepared(folder), "item")
    with pytest.raises(CrossmodalError, match=r"words\.h5"):
        run(Doubled(), name="doubled")


def test_a_changed_source_starts_afresh(run, folder, tmp_path):
    write_words(tmp_path, Prepared(folder), "caption")
    interrupt(run, Doubled(stop_at=2), name="doubled")
    values = write_words(tmp_path, Prepared(folder), "caption", factor=3)
    feature = Doubled()
    found = read_features(run(feature, name="doubled"))
    assert feature.asked == asked_by("caption")
    np.testing.assert_array_equal(found.features, 2 * values)


@pytest.mark.parametrize("missing", ["items.csv", "words.h5", "network.safetensors"])
def test_a_missing_input_is_named(run, folder, tmp_path, missing):
    write_words(tmp_path, Prepared(folder), "caption")
    feature = Doubled()
    if missing == "network.safetensors":
        feature.weights = missing
    else:
        next(tmp_path.rglob(missing)).unlink()
    with pytest.raises(CrossmodalError, match=missing):
        run(feature, name="doubled")


def test_more_chunks_than_files_may_be_open_are_joined(run, folder):
    with Writer(folder) as out:
        for item in range(150):
            out.item(f"item{item}", "train")
    feature = Toy("item")
    feature.chunk = 1
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = max(map(int, os.listdir("/dev/fd")))  # by whatever ran before
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 50, hard))
    try:
        found = read_features(run(feature))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    np.testing.assert_array_equal(found.features, [feature.values(id) for id in found.ids])


def test_sequences_of_a_chunk_may_all_be_empty(run):
    feature = Toy(ragged=True)
    feature.chunk = 1
    found = read_features(run(feature))
    lengths = [len(feature.values(id)) for id in found.ids]
    assert 0 in lengths
    np.testing.assert_array_equal(found.features.lengths, lengths)
