import pytest

from crossmodal.data.word_times import SpokenWord, from_bytes, is_ordered, read_file, to_bytes
from crossmodal.errors import CrossmodalError

TIMES = {
    "a#0": [SpokenWord("two", 0.0, 0.25), SpokenWord("dogs, big", 0.3, 0.8)],
    'b"1': [SpokenWord("große", 0.125, 0.5)],
}


def test_words_of_a_dataset_come_back():
    assert from_bytes(to_bytes(TIMES)) == TIMES


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "unpack"),
        (b"a,b,c\n", "columns"),
        (b"caption,word,start\n", "columns"),
        (b"caption,word,start,end\na,b\n", "unpack"),
        (b"caption,word,start,end\na,b,c,d\n", "float"),
        (b"\xff", "decode"),
    ],
)
def test_other_bytes_are_no_words(content, message):
    with pytest.raises(ValueError, match=message):
        from_bytes(content)


def test_a_file_of_a_spreadsheet_is_read(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("Caption;Word;Start;End;speaker\na#0;Two;0;0.25;x\na#0;dogs;0.25;0.5;x\n")
    words = [SpokenWord("two", 0.0, 0.25), SpokenWord("dogs", 0.25, 0.5)]
    assert read_file(path) == {"a#0": words}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,,0,1", "column 'word': is empty"),
        ("a,two,early,1", "column 'start': 'early' is no number of seconds"),
        ("a,two,0,nan", "column 'end': 'nan' is no number"),
        ("a,two,-1,1", "column 'start': '-1' is no number"),
        ("a,two,2,2", "column 'end': 2 is not after the start, 2"),
        ("a,two,0.5,3", "column 'start': 0.5 is before 1, where the last word starts"),
    ],
)
def test_a_row_without_a_word_in_time_is_named(tmp_path, row, message):
    path = tmp_path / "words.csv"
    path.write_text(f"caption,word,start,end\na,one,1,1.5\n{row}\n")
    with pytest.raises(CrossmodalError, match="row 3") as error:
        read_file(path)
    assert message in str(error.value)


def test_a_file_without_words_is_refused(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("caption,word,start,end\n")
    with pytest.raises(CrossmodalError, match=r"words\.csv: has no word"):
        read_file(path)


def test_order_is_that_of_the_starts():
    two, dogs = TIMES["a#0"]
    assert is_ordered([two, dogs])
    assert not is_ordered([dogs, two])
    assert not is_ordered([SpokenWord("two", 0.5, 0.5)])
