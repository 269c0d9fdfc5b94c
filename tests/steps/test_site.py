import json
import re
from pathlib import Path

import pytest

from crossmodal.config.published_numbers import papers
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import write_csv, write_json
from crossmodal.reporting.scorecard_text import COLUMNS as CLAIM_COLUMNS
from crossmodal.reporting.site import read_deviations
from crossmodal.reporting.tables import COLUMNS
from crossmodal.steps.site import site as publish_site
from crossmodal.workflow.carrier import name_of
from crossmodal.workflow.records import STORE, carry
from crossmodal.workflow.report_specs import SiteSpec
from tests.project_params import PARAMS, PATH

HOSTILE = "</script><img src=x onerror=alert(1)>"
DEVIATIONS = """# Deviations

## Everywhere

| What | Decision | Why |
|---|---|---|
| Ties | expected | exact |

## SAM

| What | Decision | Why |
|---|---|---|
| Margin | fixed | the paper \\| says so |

## CCA, PLS

Nothing.
"""
SPEC = {
    "suite": "demo",
    "tables": {
        "one": {"title": "First", "note": "", "papers": ["SAM"]},
        "two": {"title": HOSTILE, "note": "Note.", "papers": []},
    },
    "experiments": {
        "toy_sam": {
            **{"label": "SAM", "dataset": "toy", "method": "sam", "seeds": [0, 1]},
            "views": {"image": "fc7", "text": "bow"},
            "sections": ["Everywhere", "SAM"],
        },
        "toy_cca": {
            **{"label": f"CCA {HOSTILE}", "dataset": "toy", "method": "cca", "seeds": [0]},
            "views": {"image": "fc7", "text": "bow"},
            "sections": ["Everywhere", "CCA, PLS"],
        },
    },
}
SITE = SiteSpec.model_validate(SPEC)
# experiment, row, direction, metric, published, reproduced, spread, error, seeds, difference
NUMBERS = {
    "one": [
        ("toy_sam", "SAM", "image-to-text", "mAP", 0.3, 0.25, 0.01, 0.02, 2, -0.05),
        ("toy_cca", f"CCA {HOSTILE}", "image-to-text", "mAP", "", 0.5, "", "", 1, ""),
        ("", "=cited", "image-to-text", "mAP", 0.9, "", "", "", 0, ""),
    ],
    "two": [
        ("toy_sam", "SAM", "text-to-image", "MedR", "", 3.0, 0.5, "", 2, ""),
        ("toy_cca", f"CCA {HOSTILE}", "text-to-image", "MedR", "", 10.0, "", "", 1, ""),
    ],
}
# paper, place, claim, metric, reported, dataset, experiment, rows, measured, value, low, high,
# verdict, needed, marks
CLAIMS = [
    (
        *("SAM", "Table 1", f"SAM is better than {HOSTILE}", "mAP", "+0.1 Wikipedia", "toy"),
        *("toy_sam", "SAM − CCA", "+0.2 [+0.1, +0.3]", 0.2, 0.1, 0.3, "holds", "", "²"),
    ),
    (
        *("SAM", "Table 2", "SAM is better than JRL", "mAP", "+0.1 Wikipedia", "", "", "", ""),
        *("", "", "", "not run", "", ""),
    ),
]
MADE = {
    "device": "x86_64",
    "code": "0123",
    "versions": {"torch": "2.0"},
    "threads": 1,
    "inputs": {},
}


def write_site(folder):
    """The site of a suite of two tables, with all that it is made of."""
    for table, rows in NUMBERS.items():
        lines = [(table, e, row, "toy", *rest) for e, row, *rest in rows]
        write_csv(folder / f"results/tables/{table}.csv", COLUMNS, lines)
    for name, said in SPEC["experiments"].items():
        for seed in said["seeds"]:
            model = {"plugin": said["method"], "options": {"dims": 3}, "searched": {}, "seed": seed}
            model |= {"validation": 0.5 + seed, "made": MADE, "last_epoch": {}}
            model |= {"fit_seconds": 2.0 + seed, "peak_memory_mb": 100, "relevance": "category"}
            write_json(
                folder / f"results/runs/{name}/seed{seed}.json", {"model": model, "test": {}}
            )
        learning = [[1, 0.2, 1.5, 3], [2, 0.4, "", ""]]
        columns = ["step", "validation", "loss", "seconds"]
        write_csv(folder / f"results/curves/learning/{name}.csv", columns, learning)
        precision = [[10, 0.9], [20, 0.8]]
        write_csv(
            folder / f"results/curves/precision_scope/{name}.csv", ["scope", "precision"], precision
        )
    write_csv(folder / "results/tables/claims.csv", CLAIM_COLUMNS, CLAIMS)
    forest = folder / "results/figures/claims.svg"
    forest.parent.mkdir()
    forest.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 3"></svg>')
    (folder / "deviations.md").write_text(DEVIATIONS)
    publish_site(SITE, folder / "results/site/index.html", folder / "deviations.md")
    return folder / "results/site/index.html"


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_site(tmp_path).read_text()


@pytest.fixture
def content(site):
    """What the page's script reads."""
    return json.loads(re.search(r'type="application/json" id="data">(.*?)</script>', site)[1])


def test_numbers_are_those_of_the_tables(content):
    first, second, cited, *_ = content["numbers"]
    assert first == {
        **{"experiment": "toy_sam", "row": "SAM", "dataset": "toy", "direction": "image-to-text"},
        **{
            "metric": "mAP",
            "published": 0.3,
            "reproduced": 0.25,
            "spread": 0.01,
            "error": 0.02,
            "seeds": 2,
        },
        **{"difference": -0.05, "table": "one", "lower": False, "decimals": 3},
    }
    assert second["published"] is None
    assert cited["reproduced"] is None
    assert content["numbers"][-1]["lower"]


def test_claims_are_counted_by_paper_and_verdict(content):
    counted = content["claims"]["tally"]
    assert counted[1:] == [["SAM", "2", "1 (1²)", "0", "0", "1"]]
    assert [row["verdict"] for row in content["claims"]["rows"]] == ["holds", "not run"]
    assert "**" not in content["claims"]["rule"]


def test_experiments_say_where_they_come_from_and_what_they_cost(content):
    facts = content["experiments"]["toy_sam"]
    assert facts["plugin"] == "sam"
    assert facts["validation"] == 1.0
    assert facts["costs"] == {"training time (s)": 2.5, "peak memory (MB)": 100}
    assert facts["curves"]["learning"] == [[1, 0.2, 1.5, 3], [2, 0.4, None, None]]
    assert facts["examples"] == "../examples/toy_sam.html"


def test_reasons_are_the_decisions_on_method_and_dataset(content):
    assert content["deviations"]["SAM"] == [["Margin", "fixed", "the paper \\| says so"]]
    assert content["deviations"]["CCA, PLS"] == []


def test_papers_are_those_whose_suites_show_the_table(content):
    assert content["tables"]["one"]["papers"] == ["SAM"]
    assert content["tables"]["two"]["papers"] == []


def test_the_page_stands_alone_and_no_text_of_it_is_markup(site):
    assert HOSTILE not in site
    assert len(site) < 5 * 2**20
    for name in ("src=", "@import", "url("):
        assert name not in site.replace(json.dumps(HOSTILE)[1:-1].replace("<", "\\u003c"), "")
    assert "{script}" not in site


def test_an_infinite_number_is_text_in_json(tmp_path, monkeypatch):
    """As the mean rank where a query was judged to have no answer."""
    monkeypatch.chdir(tmp_path)
    row = ("toy_sam", "SAM", "image-to-text", "MeanR, judged", "", float("inf"), "", "", 2, "")
    monkeypatch.setitem(NUMBERS, "two", [row])
    assert '"reproduced":"inf"' in write_site(tmp_path).read_text()


def test_numbers_that_are_none_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(
        NUMBERS, "two", [("", "a", "both", "rsum", float("nan"), "", "", "", 0, "")]
    )
    with pytest.raises(CrossmodalError, match="number that is none"):
        write_site(tmp_path)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("tables/claims.csv", b"+0.2", b"+0.9"),
        ("figures/claims.svg", b"0 0 9", b"0 0 8"),
        ("tables/one.csv", b"0.25", b"0.35"),
        ("curves/learning/toy_sam.csv", b"0.2", b"0s2"),
        ("curves/precision_scope/toy_cca.csv", b"0.9", b"0.8"),
        ("runs/toy_sam/seed1.json", b"100", b"900"),
    ],
)
def test_a_flipped_byte_of_what_it_shows_is_named(site, tmp_path, name, before, after):
    path = Path("results") / name
    record = STORE / name_of(path)
    record.parent.mkdir(parents=True)
    write_json(record, {"endtime": path.stat().st_mtime})
    carry()
    path.write_bytes(path.read_bytes().replace(before, after, 1))
    with pytest.raises(CrossmodalError, match=rf"^{path}: changed since it was made"):
        publish_site(SITE, Path("results/site/index.html"), tmp_path / "deviations.md")


def test_the_projects_own_suites_and_deviations_are_understood():
    assert {p for table in PARAMS.tables for p in PARAMS.papers_of(table)} == {*papers()}
    decisions = read_deviations((PATH.parent / "docs/deviations.md").read_text())
    assert all(len(row) == 3 for rows in decisions.values() for row in rows)
