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


def test_fields_have_columns_and_spreadsheet_row_numbers(read):
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
        (",,\nUnnamed: 0,\n", ["row 2", "names no column"]),
        ("id,txt\na,b\n", ["row 1", "column 'txt' is unknown", "allowed: id, image, text"]),
        ("id,text,id\na,b,c\n", ["row 1", "column 'id' is repeated"]),
        ("id,text,Id\na,b,c\n", ["row 1", "column 'id' is repeated"]),
        ("id,,text\na,,c\nb,x,d\n", ["row 3", "column 2: has no name, but holds 'x'"]),
        (",id,text\n0,a,b\n0,c,d\n", ["row 2", "column 1: has no name, but holds '0'"]),
        ("id,text,\na,b,\nc,d,e\n", ["row 3", "3 fields, but 2 columns, the last of them 'text'"]),
        ("id,text\na,b\nb,dogs, cats\n", ["row 3", "3 fields, but 2 columns", "double quotes"]),
        ("id,text\na\n", ["row 2", "1 fields, but 2 columns"]),
        ('id,text\na,"no end\n', ["row 2, line 2", "begins with a quote runs on; end it with one"]),
        ('id,text\na,b\nb,"c" d\n', ["row 3, line 3", "double those within it"]),
        ("id,text\na,b\nb,Möwe\n".encode("latin-1"), ["line 3", "not UTF-8", "save it as"]),
        ("id,text\na,b\n".encode("utf-16") + b"\0", ["line 3", "not UTF-16"]),
        ("id,text\na,b\n".encode("utf-32"), ["is UTF-32; save it as 'CSV UTF-8"]),
        ("id,text\na,b\n".encode("utf-32-le"), ["is UTF-32; save it as"]),
        ("id,text\na,b\n".encode("utf-32-be"), ["is UTF-32; save it as"]),
        (f"id,text\na,{'b' * 10_000_001}\n", ["row 2", "'text'", "10,000,001 characters, at most"]),
    ],
)
def test_what_is_wrong_is_named_with_its_row(read, content, fragments):
    found = failure(read, content)
    assert [f for f in ["items.csv: ", *fragments] if f not in found] == []


def test_no_name_is_mistyped_of_a_column_that_is_there(read):
    assert read("id,ids,image,text\na,b,c,d\n") == [(2, {"id": "a", "image": "c", "text": "d"})]


def test_further_columns_are_not_read_but_named(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,English,text,,English\na,b,c,,d\n")
    (row,) = read_rows(path, ("id", "image", "text"))
    assert row.values == {"id": "a", "text": "c"}
    assert row.unread == ("english", "english")


ROWS = [
    (2, {"id": "a", "image": "a.png", "text": "Möwe; 5, | 6"}),
    (3, {"id": "b", "image": "", "text": ""}),
]


def table(separator=",", end="\n", hint="", header=("id", "image", "text"), more=0):
    quoted = '"Möwe; 5, | 6"'
    lines = [header, ("a", "a.png", quoted), ("b", "", "")]
    lines += [("", "", "")] * more
    return hint + "".join(separator.join([*line, *[""] * more]) + end for line in lines)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\r\r\n"])
@pytest.mark.parametrize("separator", [*",;\t|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_tables_of_any_program_are_the_same(read, separator, end, encoding):
    assert read(table(separator, end, more=3).encode(encoding)) == ROWS


@pytest.mark.parametrize("hint", ["sep={}\n", '"sep={}"\r\n', "SEP={}\r", "sep={0}{0}{0}\n"])
@pytest.mark.parametrize("separator", [*",;\t|^~"])
def test_the_separator_that_excel_names_is_used(read, separator, hint):
    assert read("\ufeff" + table(separator, hint=hint.format(separator))) == ROWS


@pytest.mark.parametrize("header", [("ID", "Image", "TEXT"), (" Id", '"image "', "text")])
def test_names_of_columns_are_of_any_case(read, header):
    assert read(table(header=header)) == ROWS


def test_empty_rows_are_left_out_and_numbered(read):
    content = "\n,,\nid,text\n\na,b\n , \nc,d\n,\n\n"
    expected = [(5, {"id": "a", "text": "b"}), (7, {"id": "c", "text": "d"})]
    assert read(content) == expected


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "Unnamed: 0.1", '""'])
@pytest.mark.parametrize("values", [("0", "1"), ("7", "3"), ("", "")])
def test_an_index_without_name_is_left_out(read, name, values):
    expected = [(2, {"id": "a", "text": "b"}), (3, {"id": "c", "text": "d"})]
    first, second = values
    assert read(f"{name},id,text\n{first},a,b\n{second},c,d\n") == expected
    assert read(f"id,{name},text\na,{first},b\nc,{second},d\n") == expected


def test_quotes_may_follow_a_space(read):
    assert read('id, text\na, "b, c"\n') == [(2, {"id": "a", "text": "b, c"})]


@pytest.mark.parametrize("count", [131_072, 3_000_000])
def test_a_long_field_is_read_whole(read, count):
    assert read(f"id,text\na,{'b' * count}\n") == [(2, {"id": "a", "text": "b" * count})]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CrossmodalError, match=r"none\.csv: No such file.*put your CSV there"):
        read_rows(tmp_path / "none.csv", COLUMNS)
