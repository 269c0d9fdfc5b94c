import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from crossmodal.data.media import LIST, OPEN, PreparedMedia
from crossmodal.data.prepared import FILES, Prepared
from crossmodal.data.shard_writer import END, ENTRY, ShardWriter
from crossmodal.data.word_times import MEMBER, from_bytes
from crossmodal.errors import CrossmodalError
from tests.data.test_prepared import write

COUNT, LIMIT = 60, 1500


def picture(number):
    """The content of a picture: of another size each, some larger than a shard may be."""
    return bytes([number]) * (37 * number)


def fill(out):
    for number in range(1, COUNT + 1):
        out.item(f"ç{number}", "train", image=picture(number), suffix=".png")
        out.caption(f"ç{number}", f"ç{number}", "said", audio=picture(number)[::-1], suffix=".wav")
    out.published("lda", np.arange(4.0).reshape(2, 2))


def write_shards(folder, limit=LIMIT):
    with ShardWriter(folder, limit) as out:
        fill(out)
    return sorted((folder / "media").iterdir())


@pytest.fixture
def folder(tmp_path):
    write_shards(tmp_path / "toy")
    return tmp_path / "toy"


def contents(dataset):
    pictures = [dataset.read(item.image) for item in dataset.items]
    return pictures, [dataset.read(caption.audio) for caption in dataset.captions]


@pytest.mark.parametrize("limit", [1, 300, LIMIT, 10**6])
def test_media_come_back_from_shards_of_any_size(tmp_path, limit):
    write_shards(tmp_path, limit)
    pictures, clips = contents(dataset := PreparedMedia(tmp_path))
    assert pictures == [picture(number) for number in range(1, COUNT + 1)]
    assert clips == [content[::-1] for content in pictures]
    np.testing.assert_array_equal(dataset.published("lda"), [[0, 1], [2, 3]])


def test_times_of_words_are_beside_the_list_of_shards(tmp_path):
    words = [("red", 0.0, 0.5)]
    with ShardWriter(tmp_path, LIMIT) as out:
        out.item("a", "train")
        out.caption("b", "a", "red", audio=b"sound", suffix=".wav", words=words)
    assert from_bytes(PreparedMedia(tmp_path).read(MEMBER)) == {"b": words}


def test_tables_but_names_of_files_are_those_of_one_file(tmp_path, folder):
    write(tmp_path / "one")
    with ShardWriter(tmp_path / "shards", LIMIT) as out:
        out.item("a", "train", "bird", image=b"\xff\xd8 first", suffix=".jpg")
    assert PreparedMedia(tmp_path / "shards").items[0].image == "media-00000.zip/images/a.jpg"
    assert Prepared(tmp_path / "one").items[0].image == "images/a.jpg"
    assert len({*Prepared(folder).splits}) == COUNT


def test_shards_are_as_large_as_the_limit_admits(tmp_path):
    shards = write_shards(tmp_path)
    assert [path.name for path in shards] == [f"media-{n:05d}.zip" for n in range(len(shards))]
    assert 2 * COUNT > len(shards) > COUNT
    members = [zipfile.ZipFile(path).namelist() for path in shards]
    sizes = [path.stat().st_size for path in shards]
    assert all(size <= LIMIT or len(m) == 1 for size, m in zip(sizes, members, strict=True))
    assert max(map(len, members)) > 2
    # no shard would have had room for the next file
    firsts = [zipfile.ZipFile(path).infolist()[0].file_size for path in shards[1:]]
    full = zip(sizes, firsts, strict=False)
    assert all(
        size + ENTRY + first + len("images/ç60.png") * 3 + END > LIMIT for size, first in full
    )


def test_bytes_of_shards_depend_on_no_run(tmp_path, monkeypatch):
    first = write_shards(tmp_path / "first")
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_shards(tmp_path / "second")
    second = write_shards(tmp_path / "second")  # over what is there
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    for name in FILES:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_datasets_in_one_file_are_read_as_before(tmp_path):
    write(tmp_path)
    one, other = Prepared(tmp_path), PreparedMedia(tmp_path)
    for member in ("images/a.jpg", "speech/both.wav"):
        assert one.read(member) == other.read(member)
        assert one.where(member) == other.where(member)
    with pytest.raises(CrossmodalError, match=r"media\.zip: 'images/z\.jpg'"):
        other.read("images/z.jpg")


def test_few_shards_are_open_at_a_time(tmp_path):
    def open_files():
        paths = map(os.path.realpath, Path("/proc/self/fd").iterdir())
        return sum(path.startswith(str(tmp_path)) and path.endswith(".zip") for path in paths)

    most = []

    class Watched(ShardWriter):
        def _store(self, *arguments):
            most.append(open_files())
            return super()._store(*arguments)

    with Watched(tmp_path, 1) as out:
        fill(out)
    assert max(most) == 2  # a shard, and the list of shards
    dataset = PreparedMedia(tmp_path)
    rows = [item.image for item in dataset.items] * 2
    read = [(dataset.read(member), open_files())[1] for member in rows]
    assert max(read) == OPEN + 1


def test_stamps_tell_contents_apart(tmp_path, folder):
    write(tmp_path / "one")
    one, shards = PreparedMedia(tmp_path / "one"), PreparedMedia(folder)
    assert one.stamp("images/a.jpg") != one.stamp("images/ç.png")
    assert len({shards.stamp(item.image) for item in shards.items}) == COUNT
    with pytest.raises(CrossmodalError, match=r"media\.zip: 'images/z\.jpg': is missing"):
        one.stamp("images/z.jpg")


def cut(path):
    path.write_bytes(path.read_bytes()[:-30])


def flip(path):
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)


def exchange(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("images/ç1.png", "another")


DAMAGES = {
    "missing": (Path.unlink, "missing, one of 1"),
    "cut": (cut, "File is not a zip file"),
    "flipped": (flip, "'images/ç1.png': Bad CRC-32"),
    "exchanged": (exchange, "has not the members that media.zip lists"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_shard_is_named(folder, kind):
    damage, reason = DAMAGES[kind]
    damage(folder / "media/media-00000.zip")
    dataset = PreparedMedia(folder)
    with pytest.raises(CrossmodalError) as caught:
        dataset.read(dataset.items[0].image)
    assert str(caught.value).startswith(f"{folder}/media/media-00000.zip: {reason}")
    assert f"delete {folder}/media" in str(caught.value)


def test_a_shard_too_many_is_named(folder):
    (folder / "media/media-99999.zip").touch()
    dataset = PreparedMedia(folder)
    with pytest.raises(CrossmodalError, match=r"media-99999\.zip: none of the \d+ shards"):
        dataset.read(dataset.items[0].image)
    (folder / "media/media-99999.zip").unlink()
    with pytest.raises(CrossmodalError, match=r"media-99999\.zip: none of the \d+ shards"):
        PreparedMedia(folder).read("media-99999.zip/images/a.png")


def test_a_lost_list_of_shards_is_named(folder):
    with zipfile.ZipFile(folder / "media.zip", "w") as archive:
        archive.writestr("other.json", "{}")
    dataset = PreparedMedia(folder)
    with pytest.raises(CrossmodalError, match=r"media\.zip: has no list of shards .*; prepare"):
        dataset.read(dataset.items[0].image)
    with zipfile.ZipFile(folder / "media.zip", "w") as archive:
        archive.writestr(LIST, "[]")
    with pytest.raises(CrossmodalError, match=r"media\.zip: has no list of shards"):
        PreparedMedia(folder).read(dataset.items[0].image)


def test_names_of_shards_lead_to_no_other_folder(folder):
    (folder / "media-00000.zip").touch()
    for member in ("../media-00000.zip/images/a.png", "media/../media-00000.zip/a"):
        with pytest.raises(CrossmodalError, match=r"toy/media\.zip: '"):
            PreparedMedia(folder).read(member)


def test_shards_of_a_failed_preparation_are_removed(tmp_path):
    def fail():
        with ShardWriter(tmp_path, LIMIT) as out:
            fill(out)
            out.item("ç1", "train")

    with pytest.raises(CrossmodalError, match="occurs twice"):
        fail()
    assert list(tmp_path.iterdir()) == []
    write_shards(tmp_path)
    before = sorted(path for path in tmp_path.rglob("*"))
    with pytest.raises(CrossmodalError, match="occurs twice"):
        fail()
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_a_dataset_without_media_has_an_empty_folder(tmp_path):
    with ShardWriter(tmp_path, LIMIT) as out:
        out.item("a", "train")
    assert list((tmp_path / "media").iterdir()) == []
    assert PreparedMedia(tmp_path).items[0].image == ""


def rewrite(path, compression):
    """Write an archive again with another compression."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_compressed_members_of_shards_are_not_inflated(folder):
    for shard in (folder / "media").iterdir():
        rewrite(shard, zipfile.ZIP_DEFLATED)
    dataset = PreparedMedia(folder)
    with pytest.raises(CrossmodalError, match=r"media-00000\.zip: .* is compressed"):
        dataset.read(dataset.items[0].image)


def test_compressed_members_of_media_are_not_inflated(folder):
    rewrite(folder / "media.zip", zipfile.ZIP_DEFLATED)
    with pytest.raises(CrossmodalError, match=r"media\.zip: .* is compressed, .*prepare again"):
        PreparedMedia(folder).published("lda")


def test_members_larger_than_their_archive_are_refused(folder):
    path = folder / "media.zip"
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")  # of the first member in the directory
    content[entry + 20 : entry + 28] = b"\xf0\xff\xff\xff" * 2  # its sizes
    path.write_bytes(content)
    with pytest.raises(CrossmodalError, match=r"media\.zip: .* larger than the archive"):
        PreparedMedia(folder).published("lda")
