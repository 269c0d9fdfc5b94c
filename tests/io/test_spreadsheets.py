import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.spreadsheets import read_rows

COLUMNS = ("id", "image", "text")


@pytest.fixture
def read(tmp_path):
    """Rows of a CSV with a content, as (number, values)."""

    def read(content):
        path = tmp_path / "items.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return [(row.number, row.values) for row in read_rows(path, COLUMNS)]

    return read


def failure(read, content):
    with pytest.raises(CrossmodalError) as caught:
        read(content)
    return str(caught.value)


def test_fields_are_told_by_column_and_rows_are_numbered_as_in_a_spreadsheet(read):
    content = 'id,text\na,"two\nlines, and ""quotes"""\n,\n\nb, blanks \n'
    assert read(content) == [
        (2, {"id": "a", "text": 'two\nlines, and "quotes"'}),
        (5, {"id": "b", "text": "blanks"}),
    ]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_marks_and_line_ends_of_any_system_are_read(read, mark, end):
    lines = [b"id,text", "a,Möwe".encode(), b"b,dog"]
    expected = [(2, {"id": "a", "text": "Möwe"}), (3, {"id": "b", "text": "dog"})]
    assert read(mark + end.join(lines)) == expected


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        ("", ["is empty"]),
        ("id;text\na;b\n", ["row 1", "separated by ';'", "CSV UTF-8 (comma delimited)"]),
        ("id\ttext\na\tb\n", ["row 1", r"separated by '\t'"]),
        ("id,txt\na,b\n", ["row 1", "column 'txt' is unknown", "allowed: id, image, text"]),
        ("id,text,id\na,b,c\n", ["row 1", "column 'id' is repeated"]),
        ("id,,text\na,b,c\n", ["row 1", "column '' is unknown"]),
        ("id,text\na,b\nb,dogs, cats\n", ["row 3", "3 fields, but 2 columns", "double quotes"]),
        ("id,text\na\n", ["row 2", "1 fields, but 2 columns"]),
        ('id,text\na,"no end\n', ["line 2", "unexpected end"]),
        ("id,text\na,b\nb,Möwe\n".encode("latin-1"), ["line 3", "not UTF-8", "save it as"]),
        ("id,text\na,b\n".encode("utf-16"), ["line 1", "not UTF-8"]),
    ],
)
def test_what_is_wrong_is_named_with_its_row(read, content, fragments):
    found = failure(read, content)
    assert [f for f in ["items.csv: ", *fragments] if f not in found] == []


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CrossmodalError, match=r"none\.csv: No such file.*put your CSV there"):
        read_rows(tmp_path / "none.csv", COLUMNS)
