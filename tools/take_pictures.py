"""Pictures of the pages that the documentation shows, after `make tables`: `make pictures`."""

import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from tutorial import run_all

DOCS = Path(__file__).parents[1] / "docs"
MODELS = [f"models/scenes_{name}/seed0" for name in ("sam", "fne_z_sh")]
SITE = Path("results/site/index.html")
WINDOW = {"width": 1120, "height": 680}
COLOURS = 128


def take_pictures() -> None:
    """Write search.png, site.png and those of the tutorial."""
    installed = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        with served() as address:
            _search(browser, address)
        _site(browser)
        run_all(Path(folder))
        tutorial(browser, Path(folder))
        browser.close()


def tutorial(browser: Browser, folder: Path) -> None:
    """Write the pictures of the tutorial, whose commands were run in a folder."""
    page = browser.new_page(viewport=WINDOW)
    page.goto((folder / "results/examples/toys_cca.html").resolve().as_uri())
    _save(page, "tutorial.png")
    page.locator("h3", has_text="Failures").first.evaluate("heading => heading.scrollIntoView()")
    _save(page, "tutorial_failures.png")


@contextmanager
def served() -> Iterator[str]:
    """The address of the page that searches, while it is served."""
    command = ["crossmodal", "serve", "--port", "0", *MODELS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield next(filter(None, (re.search(r"http\S+", line) for line in server.stdout)))[0]
        finally:
            server.terminate()


def _search(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport=WINDOW)
    page.goto(address)
    page.get_by_label("A sentence").fill("a tree in the snow")
    page.get_by_role("button", name="Search").click()
    page.get_by_text("Searched with").wait_for()
    page.wait_for_load_state("networkidle")  # pictures of the results
    _save(page, "search.png")


def _site(browser: Browser) -> None:
    page = browser.new_page(viewport=WINDOW)
    page.goto(SITE.resolve().as_uri())
    page.locator("#matrices").evaluate("heading => heading.scrollIntoView()")
    _save(page, "site.png")


def _save(page: Page, name: str) -> None:
    """Save what the window shows, with few colours, since git keeps every version."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)


if __name__ == "__main__":
    take_pictures()
