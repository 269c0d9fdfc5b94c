"""The site of a suite, in a real browser, as a file."""

import csv
import os

import pytest

from tests.steps.test_site import HOSTILE, write_site

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    before = os.getcwd()
    os.chdir(folder)
    try:
        return write_site(folder).as_uri()
    finally:
        os.chdir(before)


def column(page, number):
    """A column of the numbers that are shown, counted from 1."""
    return page.locator(f"#board tbody td:nth-child({number})").all_inner_texts()


def test_scorecard_is_the_first_thing(page, address):
    page.goto(address)
    first = page.locator("main > section").first
    assert first.get_by_role("heading").first.inner_text() == "Claims of the papers"
    assert first.locator("#tally tbody td").all_inner_texts() == [
        "SAM",
        "2",
        "1 (1²)",
        "0",
        "0",
        "1",
    ]
    assert first.locator("#tally thead th").nth(2).inner_text() == "holds"
    assert "95 % interval" in first.locator("#rule").inner_text()
    assert page.evaluate("document.getElementById('forest').naturalWidth") > 0


def test_scorecard_lists_each_claim_with_its_verdict(page, address):
    page.goto(address)
    table = page.locator("#scorecard")
    assert not table.is_visible()
    page.get_by_text("Each claim", exact=True).focus()
    page.keyboard.press("Enter")
    rows = table.locator("tbody tr")
    texts = rows.first.locator("td").all_inner_texts()
    assert texts[0:2] == ["SAM", f"SAM is better than {HOSTILE} (Table 1)"]
    assert texts[5:] == ["SAM − CCA", "+0.2 [+0.1, +0.3]", "holds²"]
    assert rows.nth(1).locator("td").last.inner_text() == "not run"
    assert "values per query" in page.locator("#legend").inner_text()


def test_numbers_are_sorted_what_is_missing_last(page, address):
    page.goto(address)
    assert [text.split(" ")[0] for text in column(page, 6)] == ["10", "3", "0.5", "0.25", ""]
    header = page.get_by_role("button", name="reproduced")
    header.focus()
    page.keyboard.press("Enter")
    assert [text.split(" ")[0] for text in column(page, 6)] == ["0.25", "0.5", "3", "10", ""]
    assert page.locator("th[data-key=reproduced]").get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [("paper", "SAM", 3), ("metric", "MedR", 2), ("modality", "text", 5), ("dataset", "toy", 5)],
)
def test_numbers_are_filtered(page, address, name, value, count):
    page.goto(address)
    page.locator(f"select[name={name}]").first.select_option(value)
    assert len(column(page, 1)) == count
    assert page.locator("#status").inner_text() == f"{count} of 5 numbers"


def test_a_method_is_looked_for_by_keyboard(page, address):
    page.goto(address)
    for _ in ("verdicts", "each claim", "search"):
        page.keyboard.press("Tab")
    page.keyboard.type("sam")
    assert column(page, 1) == ["SAM", "SAM"]


def test_a_number_says_where_it_comes_from_and_why_it_differs(page, address):
    page.goto(address)
    page.locator("#board").get_by_role("button", name="SAM").first.click()
    facts = page.get_by_role("dialog")
    for text in ("training time (s): 2.5", "image: fc7", "x86_64", "Everywhere"):
        assert text in facts.inner_text()
    facts.get_by_text("SAM", exact=True).last.click()
    assert "Margin" in facts.inner_text()
    assert facts.get_by_role("link").get_attribute("href") == "../examples/toy_sam.html"
    page.keyboard.press("Escape")
    assert not facts.is_visible()


def test_hostile_names_stay_text(page, address):
    page.goto(address)
    assert f"CCA {HOSTILE}" in column(page, 1)
    assert page.locator('img[src="x"]').count() == 0


def test_curves_are_hovered(page, address):
    page.goto(address)
    svg = page.locator("#chart svg")
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.97, box["y"] + 5)
    assert "validation score 0.4 at step 2" in page.locator("#readout").inner_text()
    page.locator("select[name=kind]").select_option("precision_scope")
    assert page.locator("#chart polyline").count() == 2


def test_what_is_shown_is_downloaded(page, address, tmp_path):
    page.goto(address)
    page.locator("select[name=metric]").select_option("mAP")
    with page.expect_download() as found:
        page.click("#csv")
    found.value.save_as(tmp_path / "numbers.csv")
    with (tmp_path / "numbers.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["reproduced"] for row in rows] == ["0.5", "0.25", ""]
    assert rows[0]["row"] == f"CCA {HOSTILE}"
    assert rows[2]["row"] == "'=cited"
