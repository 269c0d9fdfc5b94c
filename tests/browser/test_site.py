"""The site of a suite, in a real browser, as a file."""

import csv
import os
import re

import pytest
from playwright.sync_api import expect

from tests.browser.audit import WINDOWS, audit, opened
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


@pytest.fixture
def numbers(page, address):
    """The page, with all numbers opened."""
    page.goto(address)
    page.get_by_text("Filter, sort, download").click()
    page.locator("#board tbody tr").first.wait_for()
    return page


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


def test_numbers_have_the_digits_of_the_tables(page, address):
    page.goto(address)
    values = [1.25, 82.75, 0.0625, 2.675, 166.5, 1234.5, 99.95, -1.25, -0.04, 0.0]
    for decimals in (0, 1, 3):
        shown = page.evaluate(f"{values}.map((value) => show(value, {decimals}))")
        assert shown == [f"{value:.{decimals}f}".replace("-", "\u2212") for value in values]


def matrix(page, name="one"):
    """The cells of a table, row by row, its first cell the method."""
    rows = page.locator(f"[data-table={name}] tbody tr")
    return [rows.nth(n).locator("th, td").all_inner_texts() for n in range(rows.count())]


def test_a_table_has_methods_by_metrics(page, address):
    page.goto(address)
    page.locator("[data-table=one] table").wait_for()
    head = page.locator("[data-table=one] thead")
    assert head.locator("th").all_inner_texts() == ["image-to-text", "method", "mAP"]
    assert matrix(page) == [
        ["SAM", "0.250 ± 0.010 (0.020)\npublished 0.300, \u22120.050"],
        [f"CCA {HOSTILE}", "0.500"],
        ["=cited", "\npublished 0.900"],
    ]
    assert not page.locator("[data-table=two] table").is_visible()


def test_a_table_is_sorted_by_a_metric_and_stays_so(page, address):
    page.goto(address)
    page.locator("[data-table=two] summary").click()
    page.locator("[data-table=two] thead").get_by_role("button", name="MedR").click()
    assert [row[0] for row in matrix(page, "two")] == ["SAM", f"CCA {HOSTILE}"]
    page.locator("[data-table=one] thead").get_by_role("button", name="mAP").click()
    names = [f"CCA {HOSTILE}", "SAM", "=cited"]
    assert [row[0] for row in matrix(page)] == names
    assert page.locator("[aria-sort=descending]").count() == 1
    page.locator("[data-table=one]").get_by_role("button", name="SAM").click()
    page.reload()
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    # the dialog tells of its closing later than the key
    expect(page).not_to_have_url(re.compile("row="))


def test_filters_survive_a_reload(numbers):
    numbers.locator("select[name='only metric']").select_option("MedR")
    numbers.reload()
    assert numbers.locator("#status").inner_text() == "2 of 5 numbers"
    assert numbers.locator("select[name='only metric']").input_value() == "MedR"


def test_numbers_are_sorted_what_is_missing_last(numbers):
    header = numbers.get_by_role("button", name="reproduced")
    for _ in range(2):
        header.focus()
        numbers.keyboard.press("Enter")
    texts = [text.split(" ")[0] for text in column(numbers, 6)]
    assert texts == ["0.250", "0.500", "3.0", "10.0", ""]
    assert numbers.locator("th[data-key=reproduced]").get_attribute("aria-sort") == "ascending"
    header.click()
    assert column(numbers, 6)[0] == "10.0"


def test_many_numbers_are_listed_in_part(numbers):
    numbers.evaluate("numbers.push(...Array.from({ length: 300 }, () => ({ ...numbers[0] })))")
    numbers.evaluate("list()")
    assert len(column(numbers, 1)) == 50
    assert numbers.locator("#status").inner_text() == "305 of 305 numbers"
    numbers.get_by_role("button", name="Show all").click()
    assert len(column(numbers, 1)) == 305
    assert not numbers.locator("#rest").is_visible()


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [("paper", "SAM", 3), ("metric", "MedR", 2), ("modality", "text", 5), ("dataset", "toy", 5)],
)
def test_numbers_are_filtered(numbers, name, value, count):
    numbers.locator(f"select[name='only {name}']").first.select_option(value)
    assert len(column(numbers, 1)) == count
    assert numbers.locator("#status").inner_text() == f"{count} of 5 numbers"


def test_a_method_is_looked_for_by_keyboard(numbers):
    numbers.locator("#all summary").focus()
    numbers.keyboard.press("Tab")
    numbers.keyboard.type("sam")
    assert column(numbers, 1) == ["SAM", "SAM"]


def test_a_number_says_where_it_comes_from_and_why_it_differs(page, address):
    page.goto(address)
    page.locator("#tables").get_by_role("button", name="SAM").first.click()
    facts = page.get_by_role("dialog")
    for text in ("training time (s): 2.5", "image: fc7", "dims: 3", "x86_64", "Everywhere"):
        assert text in facts.inner_text()
    facts.get_by_text("SAM", exact=True).last.click()
    assert "Margin" in facts.inner_text()
    assert facts.get_by_role("link").get_attribute("href") == "../examples/toy_sam.html"
    page.keyboard.press("Escape")
    assert not facts.is_visible()


def test_hostile_names_stay_text(numbers):
    assert f"CCA {HOSTILE}" in column(numbers, 1)
    assert numbers.locator('img[src="x"]').count() == 0


def test_curves_are_hovered(page, address):
    page.goto(address)
    svg = page.locator("#chart svg")
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.97, box["y"] + 5)
    assert "validation score 0.4 at step 2" in page.locator("#readout").inner_text()
    page.locator("select[name=kind]").select_option("precision_scope")
    assert page.locator("#chart polyline").count() == 2


def test_what_is_shown_is_downloaded(numbers, tmp_path):
    numbers.locator("select[name='only metric']").select_option("mAP")
    with numbers.expect_download() as found:
        numbers.click("#csv")
    found.value.save_as(tmp_path / "numbers.csv")
    with (tmp_path / "numbers.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["reproduced"] for row in rows] == ["0.25", "0.5", ""]
    assert rows[1]["row"] == f"CCA {HOSTILE}"
    assert rows[2]["row"] == "'=cited"


@pytest.mark.parametrize("window", WINDOWS)
def test_site_passes_the_audit(browser, address, window):
    with opened(browser, address, window) as (page, faults, sizes):
        page.locator("[data-table=one] table").wait_for()
        assert not audit(page)
        page.locator("[data-table=two] summary").click()
        page.get_by_text("Each claim", exact=True).click()
        page.get_by_text("Filter, sort, download").click()
        page.locator("#board tbody tr").first.wait_for()
        assert not audit(page)
        page.locator("#tables").get_by_role("button", name="SAM").first.click()
        assert not audit(page)
        assert not faults
        assert sum(sizes) < 100_000
