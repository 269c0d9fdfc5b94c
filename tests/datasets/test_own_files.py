import re
from pathlib import Path

import pytest

from crossmodal.datasets._own_files import OUTSIDE, UNREADABLE, files_of, items_of
from crossmodal.errors import CrossmodalError


@pytest.fixture
def look(tmp_path):
    """The items of a folder with the given files, by id; a text is its content."""

    def look(*names, **texts):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts.get(name.replace("/", "_").replace(".", "_"), ""))
        found = files_of(tmp_path)
        return {item.id: item for item in items_of(found)}

    return look


def test_file_names_are_captions_and_sub_folders_labels(look):
    items = look("sea/red_ball.JPG", "sea/child-on-the-shore.png", "alps/snow.webp")
    assert list(items) == ["alps/snow", "sea/child-on-the-shore", "sea/red_ball"]
    assert items["sea/red_ball"].text == ["red ball"]
    assert items["sea/child-on-the-shore"].text == ["child on the shore"]
    assert [item.label for item in items.values()] == ["alps", "sea", "sea"]


@pytest.mark.parametrize("name", ["IMG_2034", "DSC01234", "20240102_101112", "IMG-WA0001", "p1"])
def test_the_number_of_a_camera_is_no_caption(look, name):
    assert look(f"{name}.jpg")[name].text == []


def test_a_sub_folder_is_a_caption_where_the_name_says_nothing(look):
    items = look("sea/IMG_1.jpg", "alps/IMG_2.jpg")
    assert items["sea/IMG_1"].text == ["sea"]


def test_lines_of_a_text_of_the_same_name_are_captions(look):
    items = look("a.jpg", "a.txt", a_txt="Waves and  sand.\n\nA ball.\nA ball.\n")
    assert items["a"].text == ["Waves and sand.", "A ball."]


def test_one_folder_has_no_labels(look):
    assert {item.label for item in look("photos/a.jpg", "photos/b.jpg").values()} == {""}


def test_sounds_elsewhere_belong_to_the_picture_of_their_name(look):
    items = look("photos/a.jpg", "photos/b.jpg", "voice/a.wav", "voice/c.wav")
    assert items["photos/a"].speech == ["voice/a.wav"]
    assert items["photos/b"].speech == []
    assert items["photos/a"].label == ""


def test_ambiguous_names_belong_to_no_picture(look):
    items = look("sea/1.jpg", "alps/1.jpg", "sea/1.wav")
    assert items["sea/1"].speech == ["sea/1.wav"]
    assert items["alps/1"].speech == []


def test_without_pictures_sounds_are_the_items(look):
    items = look("seven/george.wav", "one/lucas.flac", "one/lucas.txt", one_lucas_txt="uno")
    assert items["seven/george"].has() == {"text", "speech"}
    assert items["one/lucas"].text == ["uno"]


def test_two_pictures_of_one_name_keep_their_suffixes(look):
    assert set(look("a.jpg", "a.png")) == {"a.jpg", "a.png"}


def test_first_caption_row_describes_the_item(look):
    items = look("x/a.jpg", "x/a.txt", "x/a.wav", "y/b.jpg", x_a_txt="one\ntwo\n")
    columns = ("id", "image", "text", "speech", "labels", "split")
    assert [tuple(row[c] for c in columns) for row in items["x/a"].rows()] == [
        ("x/a", "x/a.jpg", "one", "x/a.wav", "x", ""),
        ("x/a", "", "two", "", "", ""),
    ]


def test_a_folder_without_media_says_what_it_has(look):
    with pytest.raises(CrossmodalError, match=r"neither pictures .*nor sound files") as caught:
        look("a.pdf", "b.pdf", "c.m4a", "README", ".thumbnails/a.jpg")
    for line in (
        r"2 \.pdf, not read, such as 'a\.pdf', 'b\.pdf'; convert them: .*pdftotext",
        r"1 \.m4a, not read, such as 'c\.m4a'; convert them: .*ffmpeg",
        r"1 files of other kinds, not read, such as 'README'",
        r"1 hidden, or of the system, such as '\.thumbnails'",
    ):
        assert re.search(line, str(caught.value))


def test_an_empty_folder_says_so(look):
    with pytest.raises(CrossmodalError, match=r"neither pictures.*, but\n  nothing"):
        look()


def test_texts_of_which_none_belongs_to_a_picture_are_refused(look):
    with pytest.raises(CrossmodalError, match=r"2 texts that belong .*'x\.txt', 'y\.txt'; call"):
        look("red ball.jpg", "x.txt", "y.txt")


def test_sounds_of_which_none_belongs_to_a_picture_are_refused(look):
    with pytest.raises(CrossmodalError, match=r"1 sound files that belong to none of the pictures"):
        look("red ball.jpg", "a.wav")


def test_what_a_readme_says_is_no_caption_that_is_lost(look):
    assert [*look("red ball.jpg", "README.txt", "Licence.TXT")] == ["red ball"]


def test_texts_and_sounds_that_belong_to_no_picture_are_left_out(tmp_path):
    for name in ("a.jpg", "a.txt", "b.txt", "c.txt", "a.wav", "d.wav"):
        (tmp_path / name).write_text("of it")
    files = files_of(tmp_path)
    (item,) = items_of(files)
    assert (item.text, item.speech, item.described) == (["of it"], ["a.wav"], True)
    assert [[*map(str, paths)] for paths in files.left_out.values()] == [
        ["b.txt", "c.txt"],
        ["d.wav"],
    ]


def test_all_texts_of_an_item_are_captions_in_natural_order(look, tmp_path):
    for number in (10, 2, 1):
        (tmp_path / f"a_{number}.txt").write_text(f"text {number}\nsame\n")
        (tmp_path / f"a_{number}.wav").touch()
    item = look("a.jpg")["a"]
    assert item.text == ["text 1", "same", "text 2", "text 10"]
    assert item.speech == ["a_1.wav", "a_2.wav", "a_10.wav"]


def test_a_sound_goes_with_the_text_of_its_name(look):
    takes = ("a_0.wav", "a_1.wav", "a_2.wav", "a_0.txt", "a_2.txt")
    item = look("a.jpg", *takes, a_0_txt="Waves.\nSand.", a_2_txt="Waves.")["a"]
    expected = [("Waves.", "a_0.wav"), ("Sand.", ""), ("Waves.", "a_2.wav"), ("", "a_1.wav")]
    assert item.captions == expected


def test_sounds_of_other_names_go_with_lines_in_their_order(look):
    item = look("a.jpg", "a_0.wav", "a_1.wav", "a.txt", a_txt="Waves.\nSand.")["a"]
    assert item.captions == [("Waves.", "a_0.wav"), ("Sand.", "a_1.wav")]


def test_items_outside_of_the_folders_of_splits_are_left_out(tmp_path):
    for name in ("train/a b.jpg", "test/b c.jpg", "misc/c d.jpg"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    files = files_of(tmp_path)
    items = items_of(files)
    assert [(item.id, item.split) for item in items] == [
        ("test/b c", "test"),
        ("train/a b", "train"),
    ]
    assert files.left_out == {f"pictures {OUTSIDE}": [Path("misc/c d.jpg")]}


def test_a_path_is_written_so_that_a_csv_keeps_it(look):
    items = look(" a.jpg", "data:b.jpg", "c.jpg")
    assert [item.image for item in items.values()] == ["./ a.jpg", "c.jpg", "./data:b.jpg"]


def test_a_picture_of_a_format_that_is_not_installed_is_named(look, monkeypatch):
    monkeypatch.setattr("crossmodal.datasets._own_files.formats", lambda: ("JPEG",))
    with pytest.raises(
        CrossmodalError, match=r"1 \.heic, not read yet.*crossmodal-retrieval\[heic\]"
    ):
        look("a.HEIC")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_texts_may_be_marked_as_unicode(look, tmp_path, encoding):
    (tmp_path / "a.txt").write_text("Käse\r\n", encoding=encoding)
    assert look("a.jpg")["a"].text == ["Käse"]


def test_a_text_in_another_encoding_is_named(look, tmp_path):
    look("a.jpg")
    (tmp_path / "a.txt").write_bytes("Käse".encode("latin-1"))
    with pytest.raises(CrossmodalError, match=r"a\.txt: is not UTF-8"):
        look()


def with_unreadable_texts(folder):
    """Write four pictures with texts, of which those of the second and one of the third fail."""
    for name in "abcd":
        (folder / f"dog {name}.jpg").touch()
        (folder / f"dog {name}.txt").write_bytes(b"a dog" if name in "ac" else b"K\xe4se")
    (folder / "dog c_1.txt").write_bytes(b"\0")
    (folder / "dog d.txt").write_bytes(b"")


def test_all_texts_that_cannot_be_read_are_named(look, tmp_path):
    with_unreadable_texts(tmp_path)
    with pytest.raises(CrossmodalError) as caught:
        look()
    assert str(caught.value).splitlines() == [
        f"{tmp_path}/dog b.txt: is not UTF-8; save it so",
        f"{tmp_path}/dog c_1.txt: is no text, but has NUL characters; save it as UTF-8",
    ]


def test_texts_that_cannot_be_read_are_left_out_where_asked(tmp_path):
    with_unreadable_texts(tmp_path)
    files = files_of(tmp_path)
    items = items_of(files, skip_bad=True)
    assert {item.id: item.text for item in items} == {
        "dog a": ["a dog"],
        "dog b": [],  # the words of its name are not what its text says
        "dog c": ["a dog"],
        "dog d": ["dog d"],
    }
    assert files.left_out == {UNREADABLE: [Path("dog b.txt"), Path("dog c_1.txt")]}
