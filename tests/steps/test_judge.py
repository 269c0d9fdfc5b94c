import zipfile

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import read_csv
from crossmodal.steps.judge import judge
from crossmodal.workflow.specs import PrepareSpec

SPEC = PrepareSpec(plugin="flickr8k", options={})
LISTS = ("trainImages", "devImages", "testImages")


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "raw").mkdir()
    tokens = "".join(f"{n}.jpg#{k}\tA dog .\n" for n in "abc" for k in range(5))
    with zipfile.ZipFile(tmp_path / "raw/Flickr8k_text.zip", "w") as archive:
        archive.writestr("Flickr8k.token.txt", tokens)
        archive.writestr("ExpertAnnotations.txt", "a.jpg\tb.jpg#2\t3\t4\t4\n")
        for name, file in zip(LISTS, "bca", strict=True):
            archive.writestr(f"Flickr_8k.{name}.txt", f"{file}.jpg\n")
    return tmp_path / "raw"


def test_published_judgements_become_qrels(raw, tmp_path):
    judge(SPEC, raw, tmp_path / "expert.csv")
    rows = read_csv(tmp_path / "expert.csv", ["query", "document", "grade"])
    grades = {(row["query"], row["document"]): row["grade"] for row in rows}
    assert grades["a", "b#2"] == grades["b#2", "a"] == "1.66667"
    assert grades["a", "a#0"] == grades["b#2", "b"] == "2"
    assert len(grades) == 6 + 2


def test_qrels_of_another_name_are_refused(raw, tmp_path):
    with pytest.raises(CrossmodalError, match=r"qrels: 'crowd' is unknown; known: expert"):
        judge(SPEC, raw, tmp_path / "crowd.csv")
    assert not (tmp_path / "crowd.csv").exists()
