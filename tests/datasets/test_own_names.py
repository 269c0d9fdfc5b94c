import itertools
import unicodedata
from pathlib import Path

import pytest

from crossmodal.data.writer import is_file_name
from crossmodal.datasets._own_names import belonging, ids, natural, words


def owned(pictures, texts):
    """Texts of each picture that has some."""
    found = belonging([*map(Path, pictures.split())], [*map(Path, texts.split())])
    return {str(owner): " ".join(map(str, mates)) for owner, mates in found.items()}


USUAL = [
    *("a.txt", "a.jpg.txt", "a_1.txt", "a.0.txt", "a-1.txt", "a#2.txt", "a_007.txt"),
    *(
        "a.caption",
        "a.caption.txt",
        "a_caption_3.txt",
        "a.jpg.1.txt",
        "a.TXT",
        "A.txt",
        "A.JPG.TXT",
    ),
    *("a.text.txt", "A_1.Txt"),
]


@pytest.mark.parametrize("text", USUAL)
def test_a_text_of_a_usual_name_belongs_to_the_picture(text):
    assert owned("a.jpg b.jpg", text) == {"a.jpg": text}
    assert owned("photos/a.jpg photos/b.jpg", f"texts/{text}") == {"photos/a.jpg": f"texts/{text}"}


def test_numbers_in_brackets_after_spaces_belong_to_the_picture():
    found = belonging([Path("red ball.jpg")], [Path("red ball (2).txt"), Path("red ball 1.txt")])
    assert [*found.values()] == [[Path("red ball 1.txt"), Path("red ball (2).txt")]]


@pytest.mark.parametrize("text", ["ab.txt", "b.a.txt", "a1.txt", "a_1_b.txt", "1_a.txt", "_1.txt"])
def test_a_text_of_another_name_belongs_to_none(text):
    assert owned("a.jpg", text) == {}


@pytest.mark.parametrize(
    ("pictures", "texts"),
    [
        ("photo.jpg photo_1.jpg", {"photo_1.jpg": "photo_1.txt"}),
        ("photo_1.jpg photo_1_2.jpg photo.jpg", {"photo_1.jpg": "photo_1_3.txt"}),
        ("22.05.png 22.png", {"22.05.png": "22.05.txt"}),
        ("a.jpg A.jpg", {"A.jpg": "A.txt", "a.jpg": "a.txt"}),
        ("a.jpg A.jpg", {"A.jpg": "A_1.txt"}),
        ("a.jpg a.png", {"a.png": "a.png.txt"}),
        ("sea/1.jpg alps/1.jpg", {"sea/1.jpg": "sea/1.txt"}),
        ("photo_1.jpg sub/photo.jpg", {"sub/photo.jpg": "sub/photo_1.txt"}),
    ],
)
def test_the_nearest_name_wins(pictures, texts):
    assert owned(pictures, " ".join(texts.values())) == texts


def test_pictures_that_differ_in_suffix_alone_share_a_text():
    assert owned("a.jpg a.png", "a.txt") == {"a.jpg": "a.txt", "a.png": "a.txt"}


def test_folders_in_common_decide_between_equal_names():
    found = owned("images/sea/1.jpg images/alps/1.jpg", "texts/sea/1.txt texts/alps/1_1.txt")
    assert found == {
        "images/sea/1.jpg": "texts/sea/1.txt",
        "images/alps/1.jpg": "texts/alps/1_1.txt",
    }


@pytest.mark.parametrize("text", ["texts/1.txt", "1.txt", "texts/1_2.txt"])
def test_a_text_that_may_belong_to_two_pictures_belongs_to_none(text):
    assert owned("sea/1.jpg alps/1.jpg", text) == {}


@pytest.mark.parametrize("text", ["Img.txt", "img.txt"])
def test_case_alone_never_gives_a_text_to_two_pictures(text):
    assert owned("IMG.jpg iMG.jpg", text) == {}


@pytest.mark.parametrize("name", ["café", "Zürich – Ä", "한국어", "が", "Å"])
def test_both_unicode_forms_of_a_name_meet(name):
    for one, other in itertools.permutations(["NFC", "NFD"]):
        picture = Path(unicodedata.normalize(one, name) + ".jpg")
        text = Path(unicodedata.normalize(other, name) + "_1.txt")
        assert belonging([picture], [text]) == {picture: [text]}


def test_texts_come_in_natural_order():
    found = owned("a.jpg", "a_10.txt a_9.txt a.jpg.txt a.txt a_2.txt")
    assert found == {"a.jpg": "a.txt a.jpg.txt a_2.txt a_9.txt a_10.txt"}
    assert natural(Path("x2/a.txt")) < natural(Path("x10/a.txt"))


HARD = [
    *("a.jpg", "a.png", "A.jpg", "caf\u00e9.jpg", "cafe\u0301.jpg", " a.jpg", "a .jpg", "-rf.jpg"),
    *("a\nb.jpg", "a\rb.jpg", "a\x1bb.jpg", "a\u2028b.jpg", "a\\b.jpg", "c:a.jpg", "c:.jpg"),
    *(" /a.jpg", " / .jpg", "x/ .jpg", "x/ ..jpg", "--/--.jpg", "a.jpg.jpg", "a.jpg (2).jpg"),
    *(
        "\u202f.jpg",
        "Screenshot 3.07\u202fPM.png",
        "\U0001f468\u200d\U0001f467.png",
        "e" * 251 + ".jpg",
    ),
]


def test_ids_are_unique_and_every_one_is_taken_by_prepare():
    paths = [*map(Path, HARD)]
    found = ids(paths)
    assert [*found] == paths
    assert len({*found.values()}) == len(paths)
    assert all(is_file_name(id) and id == id.strip() for id in found.values())
    assert all(unicodedata.is_normalized("NFC", id) for id in found.values())
    assert found[Path("Screenshot 3.07\u202fPM.png")] == "Screenshot 3.07\u202fPM"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("red_ball-2 on.the 'wall'", "red ball on the wall"),
        ("don't", "don't"),
        ("cafe\u0301 01", "café"),
        ("हिन्दी_1", "हिन्दी"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("sea\u00adside", "seaside"),
        ("红圆", "红圆"),
        ("Screenshot 2024-05-01 at 3.00.12\u202fPM", ""),
        ("Bildschirmfoto 2024-05-01 um 15.00.12", ""),
        ("IMG_2034 (2)", ""),
    ],
)
def test_words_of_a_name(name, said):
    assert words(name) == said
