"""The audit finds each fault that it looks for, and none on a page without any."""

import pytest

from tests.browser import audit as checks
from tests.browser.audit import WINDOWS, audit, opened

pytestmark = pytest.mark.browser

HEAD = "<title>A page</title><meta name='viewport' content='width=device-width'>"
STYLE = "body { background: #fff; color: #000; } :focus-visible { outline: 3px solid blue; }"
BODY = "<header><h1>A page</h1></header><main><h2>Part</h2><button>Go</button></main>"


def write(folder, head=HEAD, style=STYLE, body=BODY, lang=" lang='en'"):
    """A page, and its address."""
    path = folder / "page.html"
    path.write_text(
        f"<!doctype html><html{lang}><head>{head}<style>{style}</style></head><body>{body}</body>"
    )
    return path.as_uri()


def faults_of(browser, address, window=("telephone", "light")):
    with opened(browser, address, window) as (page, faults, _):
        return faults + audit(page)


@pytest.mark.parametrize("window", WINDOWS)
def test_a_page_without_faults_has_none(browser, tmp_path, window):
    assert faults_of(browser, write(tmp_path), window) == []


def body(part):
    """The page with one more part in it."""
    return {"body": BODY.replace("</main>", f"{part}</main>")}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"lang": ""}, "no lang"),
        ({"head": HEAD.replace("A page", "")}, "no title"),
        ({"head": "<title>A page</title>"}, "no meta viewport"),
        ({"head": HEAD.replace("width'", "width, user-scalable=no'")}, "cannot be magnified"),
        (body("<div style='width: 900px'>wide</div>"), "px wide, the window"),
        (body("<p id='a'>a</p><p id='a'>b</p>"), "id a twice"),
        ({"body": BODY.replace("main", "div")}, "0 × <main>"),
        ({"body": BODY + "<p>lost</p>"}, "outside of landmarks: <p> lost"),
        (body("<h1>Again</h1>"), "not one h1"),
        (body("<h4>Deep</h4>"), "h4 after h2"),
        (body("<p style='color: #999'>pale</p>"), "contrast 2.85: <p> pale"),
        (body("<p style='color: #fff; background: #0008'>on grey</p>"), "contrast 4.47"),
        (body("<a href='a' style='display:block'>a</a>" * 2), "target of"),
        (body("<img src='data:,' width=9 height=9>"), "no alt"),
        (body("<button style='width: 40px; height: 40px'></button>"), "a button without a name"),
        (body("<section aria-label='a'>a</section>" * 2), "two regions 'a'"),
        ({"style": STYLE + "button { outline: none !important; }"}, "focus cannot be seen"),
        (body("<button tabindex='1'>First</button>"), "focus goes to ["),
        (body("<script>console.error('broken')</script>"), "broken"),
        (body("<img alt='far' src='https://example.invalid/a.png'>"), "asks for https://example"),
    ],
)
def test_a_fault_is_found(browser, tmp_path, change, fault):
    faults = faults_of(browser, write(tmp_path, **change))
    assert any(fault in each for each in faults), faults


def test_a_slow_page_is_found(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "BUSY", 0.0)
    assert any("of the processor" in each for each in faults_of(browser, write(tmp_path)))
