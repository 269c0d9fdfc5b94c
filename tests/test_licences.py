"""The page of licences, which a script wrote, has all that the locks pin."""

from tools import list_licences


def test_page_has_pinned_packages_with_version_and_licence():
    page = (list_licences.ROOT / "docs/licences.md").read_text()
    rows = [line[2:-2].split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    pinned = list_licences.pins()
    assert {row[0]: row[1].split(", ") for row in rows} == {n: v for n, (v, _) in pinned.items()}
    assert [row[0] for row in rows] == sorted(pinned)
    assert all(row[2].strip() and row[2].lower() != "unknown" for row in rows)
