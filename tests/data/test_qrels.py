import itertools

import numpy as np
import pytest

from crossmodal.data.prepared import Caption, Item, Items
from crossmodal.data.qrels import Judgement, Side, grades_of, read_qrels, write_qrels
from crossmodal.errors import CrossmodalError

PER_ITEM = 2


class Pictures(Items):
    """Four items with two captions each."""

    name = "pictures"
    items = tuple(Item(f"p{n}", "", (), "") for n in range(4))
    captions = tuple(Caption(f"{i.id}#{k}", i.id, "", "") for i in items for k in range(PER_ITEM))

    def read(self, member):
        raise AssertionError

    def where(self, member):
        raise AssertionError


DATASET = Pictures()
ITEMS = [item.id for item in DATASET.items]
CAPTIONS = [caption.id for caption in DATASET.captions]


def read(tmp_path, text):
    path = tmp_path / "qrels.csv"
    path.write_text(text, encoding="utf-8")
    return read_qrels(path, DATASET)


def test_what_is_written_is_read(tmp_path):
    judgements = [Judgement("p0", "p1#0", 1.5), Judgement("p1#0", "p0", 0.0)]
    write_qrels(tmp_path / "own.csv", judgements)
    assert read_qrels(tmp_path / "own.csv", DATASET) == judgements


def test_without_grades_each_line_is_an_answer(tmp_path):
    assert read(tmp_path, "query,document\np0,p1#0\n") == [Judgement("p0", "p1#0", 1.0)]


def test_spreadsheets_write_them_with_semicolons(tmp_path):
    text = "sep=;\nQuery;Document;Grade\np0;p1#0;2\n"
    assert read(tmp_path, text) == [Judgement("p0", "p1#0", 2.0)]


def test_all_wrong_rows_are_named_at_once(tmp_path):
    lines = ["p9,p0,1", "p0,p1#7,1", "p0,p1,good", "p0,p1,-1", "p0,p1,nan", "p0,p2,1", "p0,p2,0"]
    with pytest.raises(CrossmodalError) as error:
        read(tmp_path, "\n".join(["query,document,grade", *lines, ""]))
    found = str(error.value).splitlines()
    assert len(found) == 6
    for line, words in zip(
        found,
        [
            "row 2, column 'query': 'p9' is no id of an item or a caption",
            "row 3, column 'document': 'p1#7' is no id",
            "row 4, column 'grade': 'good' is no number of 0 or above",
            "row 5, column 'grade': '-1'",
            "row 6, column 'grade': 'nan'",
            "row 8, column 'document': 'p2' was judged for 'p0' before",
        ],
        strict=True,
    ):
        assert words in line


@pytest.mark.parametrize("column", ["query", "document"])
def test_a_file_without_a_column_names_it(tmp_path, column):
    with pytest.raises(CrossmodalError, match=column):
        read(tmp_path, "query,document".replace(column, "topic") + "\np0,p1\n")


def test_a_file_without_judgements_is_refused(tmp_path):
    with pytest.raises(CrossmodalError, match="judges no pair"):
        read(tmp_path, "query,document,grade\n")


def meant(side, id, row):
    """Whether an id means a row, by the words of the module."""
    item = id.partition("#")[0]
    if id == row:
        return True
    if id == item:  # an item: also each of its captions
        return row.partition("#")[0] == item
    return side.modality != "image" and row == item  # a caption: also its item's row


@pytest.mark.parametrize(
    ("queries", "documents"),
    [
        *itertools.permutations(
            [Side("image", ITEMS[1:]), Side("text", CAPTIONS[2:]), Side("speech", ITEMS[:3])], 2
        )
    ],
)
def test_grades_are_those_of_plain_loops(rng, queries, documents):
    names = [*ITEMS, *CAPTIONS]
    pairs = [(a, b) for a in names for b in names if rng.random() < 0.2]
    judgements = [Judgement(a, b, float(rng.integers(0, 4))) for a, b in pairs]
    found = grades_of(judgements, queries, documents, DATASET)
    expected = np.zeros((len(queries.ids), len(documents.ids)))
    asked = set()
    for row, query in enumerate(queries.ids):
        for column, document in enumerate(documents.ids):
            for a, b, grade in judgements:
                if meant(queries, a, query) and meant(documents, b, document):
                    expected[row, column] = max(expected[row, column], grade)
                    asked.add(row)
    np.testing.assert_array_equal(found.matrix.toarray(), expected)
    assert found.asked.tolist() == sorted(asked)


def test_captions_are_no_queries_among_images():
    sides = Side("image", ITEMS), Side("text", CAPTIONS)
    one_way, other_way = [Judgement("p0", "p1#0")], [Judgement("p1#0", "p0")]
    for judgements, queries in ((one_way, sides), (other_way, sides[::-1])):
        assert grades_of(judgements, *queries, DATASET).asked.size == 1
        assert grades_of(judgements, *queries[::-1], DATASET).asked.size == 0


def test_a_query_with_wrong_documents_alone_is_asked():
    sides = Side("image", ITEMS), Side("text", CAPTIONS)
    found = grades_of([Judgement("p2", "p1#0", 0.0)], *sides, DATASET)
    assert found.asked.tolist() == [2]
    assert found.matrix.toarray().sum() == 0
