import pytest

from crossmodal.datasets._own_files import files_of, items_of
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
        return {item.id: item for item in items_of(tmp_path, found)}

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


def test_sounds_in_another_folder_belong_to_the_picture_of_their_name(look):
    items = look("photos/a.jpg", "photos/b.jpg", "voice/a.wav", "voice/c.wav")
    assert items["photos/a"].speech == ["voice/a.wav"]
    assert items["photos/b"].speech == []
    assert items["photos/a"].label == ""


def test_a_name_in_two_folders_belongs_to_neither_picture_of_another(look):
    items = look("sea/1.jpg", "alps/1.jpg", "sea/1.wav")
    assert items["sea/1"].speech == ["sea/1.wav"]
    assert items["alps/1"].speech == []


def test_without_pictures_sounds_are_the_items(look):
    items = look("seven/george.wav", "one/lucas.flac", "one/lucas.txt", one_lucas_txt="uno")
    assert items["seven/george"].has() == {"text", "speech"}
    assert items["one/lucas"].text == ["uno"]


def test_two_pictures_of_one_name_keep_their_suffixes(look):
    assert set(look("a.jpg", "a.png")) == {"a.jpg", "a.png"}


def test_rows_are_captions_and_the_first_one_has_what_belongs_to_the_item(look):
    items = look("x/a.jpg", "x/a.txt", "x/a.wav", "y/b.jpg", x_a_txt="one\ntwo\n")
    assert list(items["x/a"].rows()) == [
        ("x/a", "x/a.jpg", "one", "x/a.wav", "x"),
        ("x/a", "", "two", "", ""),
    ]


def test_hidden_files_are_not_looked_at_and_a_folder_without_media_says_what_it_has(look):
    with pytest.raises(CrossmodalError, match=r"neither pictures.*but 2 \.pdf, 1 no suffix"):
        look("a.pdf", "b.pdf", "README", ".thumbnails/a.jpg")


def test_a_text_in_another_encoding_is_named(look, tmp_path):
    look("a.jpg")
    (tmp_path / "a.txt").write_bytes("Käse".encode("latin-1"))
    with pytest.raises(CrossmodalError, match=r"a\.txt: is not UTF-8"):
        look()
