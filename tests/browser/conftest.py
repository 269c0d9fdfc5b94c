"""A real browser, which reaches nothing but the page."""

import shutil

import pytest

NAMES = ("chromium", "google-chrome")
# a microphone that beeps, and no question whether it may be used
FAKE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--no-sandbox")


@pytest.fixture(scope="module")
def browser():
    """The Chromium of the machine, or else Playwright's own."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=found, args=FAKE)
        yield browser
        browser.close()


@pytest.fixture(params=["wide", "telephone"])
def page(browser, request):
    """A page that fails the test on an error of its script, or a request to another host."""
    sizes = {"wide": (1400, 900), "telephone": (360, 740)}
    width, height = sizes[request.param]
    scheme = {"wide": "light", "telephone": "dark"}[request.param]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
    )
    page = context.new_page()
    page.set_default_timeout(30_000)
    faults, asked = [], set()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.add(request.url.split("?")[0]))
    yield page
    assert not faults
    origin = page.url.split("/")[:3]
    assert {url for url in asked if not url.startswith(("blob:", "data:"))} <= {
        url for url in asked if url.split("/")[:3] == origin
    }
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()
