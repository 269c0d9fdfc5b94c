import pytest

from crossmodal.io.text_table import print_table, shorten


def test_long_cells_go_on_below_in_their_own_column(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    meaning = "a word " * 20
    print_table("title", ("option", "value", "meaning"), [("dims", "5", meaning)])
    title, header, *lines = capsys.readouterr().out.splitlines()
    assert title == "title"
    assert len(lines) > 2
    assert all(len(line) <= 60 for line in lines)
    assert " ".join(line[header.index("meaning") :] for line in lines).split() == meaning.split()
    assert [line[: header.index("meaning")].split() for line in lines[:2]] == [["dims", "5"], []]


@pytest.mark.parametrize("word", ["a dog ", "红色圆形", "🔴"])
def test_long_texts_of_any_script_keep_their_beginning(word):
    text = word * 40
    short = shorten(text, 30)
    assert len(short) in (29, 30)
    assert text.startswith(short.removesuffix(" ..."))
    assert shorten(f" {word}\n", 30) == word.strip()
